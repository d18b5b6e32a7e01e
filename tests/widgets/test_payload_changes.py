"""What the patches say of storage, replicas, cuts, groups and producers is what the cluster holds at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Hold, Release
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.faults.storage import Compact, DeleteSegment
from kafkalab.programs.groups import two_members
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import ViewState, offsets_of, replay

DATA = Path(__file__).parents[2] / "data"
FILES = sorted(p.relative_to(DATA).as_posix() for p in DATA.rglob("*.klab"))
WORLDS: dict[str, tuple[Fault, ...]] = {
    "compacted": (Compact("__transaction_state-22", at_step=260),),
    "deleted": (DeleteSegment("transfers-0", at_step=120),),
    "cut": (Cut("b1", ("b2", "controller"), at_step=100), AdvanceClock(40_000, at_step=150)),
    "healed": (Cut("b1", "controller", at_step=100), Heal("b1", "controller", at_step=160)),
    "held": (Hold("EndTxn#1"),),
    "released": (Hold("EndTxn#1"), Release("EndTxn#1", at_ms=900)),
    "crashed": (Crash("b1", at_step=120),),
}


def run(scenario: Scenario) -> tuple[Cluster, ViewState]:
    cluster = Cluster(scenario)
    cluster.run()
    return cluster, replay(payload_of(cluster), len(cluster.trace) - 1)


def check(cluster: Cluster, shown: ViewState) -> None:
    """The fold's last picture is the brokers' and the controller's last state."""
    for name, broker in cluster.brokers.items():
        for partition, log in broker.state.logs.items():
            held = [b for b in log.batches if b.last_offset >= log.log_start_offset]
            drawn = shown.logs.get((name, partition), [])
            if shown.marks.get(("start", name, partition), 0) == log.log_start_offset:
                assert [(o, r[0]) for b in drawn for o, r in zip(offsets_of(b), b["records"], strict=True)] == [
                    (o, r.key or "") for b in held for o, r in zip(b.offsets, b.records, strict=True)
                ]
    for partition, in_sync in shown.in_sync.items():
        info = cluster.controller.metadata.partitions[partition]
        assert (shown.replicas[partition], in_sync) == (list(info.replicas), list(info.isr))
    assert {pair for pair, yes in shown.cuts.items() if yes} == {
        (a, b) for a, b in cluster.network.links.cuts if a < b
    }


@pytest.mark.parametrize("world", WORLDS)
def test_after_faults_of_the_world_the_picture_is_what_the_cluster_holds(world: str) -> None:
    cluster, shown = run(lab03().with_faults(*WORLDS[world]))
    check(cluster, shown)
    reasons = {b["why"] for gone in shown.gone.values() for b in gone}
    assert reasons == ({world} if world in ("compacted", "deleted") else set())
    if world in ("held", "released"):
        assert shown.held == {"EndTxn#1": world == "held"}


def test_a_replica_of_an_empty_log_is_in_sync_as_soon_as_the_controller_counts_it() -> None:
    faults = (Pause("p0", at_ms=0), Crash("b2", at_ms=5), Restart("b2", at_ms=2000), Resume("p0", at_ms=30_000))
    programs = (Program("p0", "transactions", {"transactional_id": "t0", "count": 1}),)
    cluster, shown = run(Scenario(topics={"out": 1}, programs=programs, faults=faults))
    check(cluster, shown)
    told = [
        (e["kind"], e["at"], op[3])
        for e in payload_of(cluster)["events"]
        for op in e["patch"]
        if op[:2] == ["isr", "out-0"]
    ]
    kinds, times, in_sync = zip(*told, strict=True)
    assert (kinds, [len(one) for one in in_sync]) == (("state", "state", "receive"), [3, 2, 3])
    assert times[-1] < 30_000


@pytest.mark.parametrize("file", FILES)
def test_each_saved_scenario_ends_as_its_picture_says(file: str) -> None:
    check(*run(Scenario.load(DATA / file)))


def test_a_groups_last_state_is_its_coordinators() -> None:
    cluster, shown = run(two_members())
    payload = payload_of(cluster)
    for group, known in shown.groups.items():
        leader = cluster.controller.metadata.leader(payload["homes"]["groups"][group])
        held = cluster.brokers[leader].state.groups[group]
        assert (known["state"], known["generation"], known["leader"]) == (
            held.state.value,
            held.generation,
            held.leader,
        )
        assert known["members"] == {m.member_id: list(m.assignment) for m in held.members.values()}
    assert shown.groups


def test_a_producers_last_state_is_kept_by_client_and_transactional_id() -> None:
    _, shown = run(lab03())
    assert shown.producers["app", "payments-0"] == {
        "state": "READY",
        "producer_id": 2000,
        "epoch": 1,
        "tid": "payments-0",
    }


def test_an_internal_entry_is_told_field_by_field() -> None:
    payload = payload_of(run(lab03())[0])
    patches = [op for e in payload["events"] for op in e["patch"]]
    told = [op[3]["fields"] for op in patches if op[0] == "batch" and op[2].startswith("__t")]
    assert ["state", "Empty"] in told[0][0]
    assert ["transactional_id", "payments-0"] in told[0][0]
    assert all("last_producer_epoch" not in [name for name, _ in entry] for batch in told for entry in batch)


def test_a_truncated_batch_stays_known_until_another_takes_its_place() -> None:
    shown, batch = ViewState(), {"base": 3, "last": 4, "kind": "data", "records": [], "decoded": ""}
    shown.apply(["hw", "b1", "p", 4])
    shown.apply(["batch", "b1", "p", batch])
    shown.apply(["truncate", "b1", "p", 3])
    assert shown.logs["b1", "p"] == []
    assert shown.gone["b1", "p"] == [{**batch, "why": "truncated"}]
    assert shown.marks["hw", "b1", "p"] == 3
    shown.apply(["batch", "b1", "p", {**batch, "last": 3}])
    assert shown.gone["b1", "p"] == []


def test_with_all_of_this_500_events_stay_below_300_kb() -> None:
    for scenario in (lab03("4.x/TV1"), lab03(), two_members()):
        payload = payload_of(run(scenario)[0])
        size = len(pack(payload)) / len(payload["events"])
        assert size * 500 < 300_000, scenario.title
