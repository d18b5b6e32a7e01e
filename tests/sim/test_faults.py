"""Every fault of the network, the clock, leaders and storage: what it does, seen in the trace and in the outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault, TimedFault
from kafkalab.faults.frame import Hold, Release, Reorder
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.registry import TYPES, fault_from_json, fault_to_json
from kafkalab.faults.storage import Compact, DeleteSegment, Roll
from kafkalab.protocol.cluster_metadata import PartitionInfo
from kafkalab.protocol.rules import CLEAN_ELECTION
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.widgets.payload.payload import payload_of


@program
async def keyed_writes(app: App, values: list[list[Any]], pause_ms: int = 0, acks: int = -1) -> list[int]:
    """Write [key, value] pairs to out-0, one after the other; the offsets that were acknowledged, -1 for a failure."""
    producer = app.producer(acks=acks, linger_ms=0, enable_idempotence=False)
    offsets = []
    for key, value in values:
        try:
            offsets.append((await (await producer.send("out", value, key=key, partition=0))).offset)
        except KafkaError:
            offsets.append(-1)
        if pause_ms:
            await app.sleep(pause_ms)
    return offsets


def writing(count: int = 4, pause_ms: int = 0, acks: int = -1, **more: Any) -> Scenario:
    """`count` writes of the values "v0", "v1", ... by `app`, of two keys in turn."""
    values = [[f"k{i % 2}", f"v{i}"] for i in range(count)]
    args = {"values": values, "pause_ms": pause_ms, "acks": acks}
    return Scenario(topics={"out": 1}, programs=(Program("app", "keyed_writes", args),), **more)


def run(scenario: Scenario, *faults: Fault) -> Cluster:
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    return cluster


def leader_of(scenario: Scenario, partition: str = "out-0") -> str:
    return Cluster(replace(scenario, programs=())).controller.metadata.leader(partition)


# data: repr, JSON, names

TIMED: list[TimedFault] = [
    Cut("b1", "b2", at_step=3),
    Cut("b1", ("b2", "controller"), at_ms=3),
    Heal(("app", "b1"), "b2", at_ms=9),
    AdvanceClock(1_000, at_step=7),
    ElectLeader("transfers-0", "b2", at_ms=4),
    ElectLeader("transfers-0", "b2", unclean=True, at_ms=4),
    Compact("accounts-1", at_ms=7),
    DeleteSegment("__transaction_state-45", at_ms=7),
    Roll("accounts-0", at_step=0),
    Release("EndTxn#1", at_ms=70),
]
FRAMES: list[Fault] = [Hold("EndTxn#1"), Reorder("Produce#1", "Produce#2")]
ALL: list[Fault] = [*TIMED, *FRAMES]


@pytest.mark.parametrize("fault", ALL, ids=repr)
def test_a_fault_can_be_pasted_saved_and_loaded(fault: Fault, tmp_path: Path) -> None:
    assert eval(repr(fault), dict(TYPES)) == fault
    assert "-1)" not in repr(fault)
    assert fault_from_json(fault_to_json(fault)) == fault
    scenario = lab03().with_faults(fault)
    scenario.save(tmp_path / "a.klab")
    assert Scenario.load(tmp_path / "a.klab") == scenario


def test_the_repr_says_no_more_than_was_given() -> None:
    assert repr(TIMED[5]) == "ElectLeader('transfers-0', 'b2', unclean=True, at_ms=4)"
    assert repr(TIMED[3]) == "AdvanceClock(1000, at_step=7)"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Cut("b1", "b7", at_ms=1), "no node 'b7' in this scenario; there are app, b1, b2, b3, controller"),
        (Cut("b1", "contoller", at_ms=1), "did you mean controller?"),
        (Cut("b1", "b1", at_ms=1), "each side names other nodes, at least one"),
        (Heal((), "b1", at_ms=1), "each side names other nodes, at least one"),
        (Cut("b1", "b2"), "needs either at_step or at_ms"),
        (AdvanceClock(0, at_ms=1), "ms is a number of milliseconds from 1 on, not 0"),
        (ElectLeader("account-1", "b1", at_ms=1), r"no partition 'account-1'.* did you mean accounts-1\?"),
        (ElectLeader("accounts-2", "b1", at_ms=1), "accounts-0 to accounts-1"),
        (ElectLeader("accounts-1", "app", at_ms=1), "no node 'app' in this scenario; there are b1, b2, b3"),
        (Compact("transfers-1", at_ms=1), r"did you mean transfers-0\?"),
        (DeleteSegment("__transaction_state-50", at_ms=1), "no partition"),
        (Release("EndTx#1", at_ms=1), r"did you mean EndTxn#1\?"),
        (Hold("EndTx#1"), r"did you mean EndTxn#1\?"),
        (Reorder("Produce#1", "Product#2"), r"did you mean Produce#2\?"),
        (Reorder("Produce#1", "Produce#1"), "cannot arrive after itself"),
    ],
    ids=repr,
)
def test_what_makes_no_sense_is_refused_with_what_would(fault: Fault, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lab03().with_faults(fault)


def test_an_unknown_kind_of_fault_is_refused() -> None:
    with pytest.raises(ValueError, match=r"did you mean Compact\?"):
        fault_from_json({"fault": "Compakt", "partition": "out-0", "at_ms": 1})


@pytest.mark.parametrize(
    "fault",
    [
        Heal("b1", "b2", at_ms=5),
        ElectLeader("accounts-0", "b9", at_ms=5),
        Compact("accounts-0", at_ms=1),
        DeleteSegment("accounts-0", at_ms=1),
        Roll("accounts-0", at_ms=1),
        Release("EndTxn#1", at_ms=5),
        Hold("EndTxn#9"),
        Reorder("EndTxn#9", "EndTxn#1"),
        Reorder("Produce#2", "Produce#1"),
    ],
    ids=repr,
)
def test_a_fault_that_changes_nothing_is_reported(fault: Fault) -> None:
    if isinstance(fault, ElectLeader):
        fault = replace(fault, broker=leader_of(lab03(), "accounts-0"))
    cluster = run(lab03(), fault)
    assert cluster.unused_faults == (fault,)
    assert cluster.results == {"app": "committed"}


@pytest.mark.parametrize("fault", ALL, ids=repr)
def test_a_fork_is_the_same_run_up_to_the_fault_and_twice_the_same(fault: Fault) -> None:
    base = run(lab03())
    step = 60
    if isinstance(fault, (Heal, Release, Compact, DeleteSegment)):
        return  # they need something to undo or to clean: below
    if isinstance(fault, TimedFault):
        fault = replace(fault, at_step=-1, at_ms=-1)
    if isinstance(fault, ElectLeader):
        fault = replace(fault, broker="b2" if leader_of(lab03(), "transfers-0") != "b2" else "b3")
    if isinstance(fault, Roll):
        step = 160
    forked = base.fork(step, fault)
    struck = next(e.step for e in forked.trace.of("fault"))
    assert struck > step
    same = [e.as_json() for e in base.trace.events[:step]] == [e.as_json() for e in forked.trace.events[:step]]
    assert same
    assert base.fork(step, fault).trace.digest() == forked.trace.digest()


def test_what_undoes_or_cleans_can_be_forked_too(tmp_path: Path) -> None:
    held = run(writing(6, 20), Hold("Produce#3"))
    released = held.fork(held.trace.frames["Produce#3"].sent_step + 5, Release("Produce#3"))
    assert released.trace.frames["Produce#3"].fate == "delivered"
    cut = run(writing(6, 20), Cut("app", leader_of(writing()), at_ms=50))
    assert cut.fork(cut.trace.of("fault")[0].step + 10, Heal("app", leader_of(writing()))).unused_faults == ()
    whole = run(writing(6, 20))
    end = whole.trace.steps - 1
    assert whole.fork(end, Compact("out-0")).trace.of("state", "compacted")
    assert whole.fork(end, DeleteSegment("out-0")).trace.of("state", "log start")
    with pytest.raises(ValueError, match="would change nothing"):
        whole.fork(2, Compact("out-0"))


def test_a_log_is_not_compacted_again_before_there_is_something_new() -> None:
    """A tombstone could go by the time of the second compaction; Kafka's cleaner leaves a log without dirty records."""
    values = [["k", "v"], ["k", None]]
    wait = [["k", None]] * 3
    for more, count in (([], 1), (wait, 2)):
        args = {"values": [*values, *more], "pause_ms": 600}
        scenario = Scenario(
            topics={"out": 1}, programs=(Program("app", "keyed_writes", args),), config={"delete_retention_ms": 100}
        )
        cluster = run(scenario, Compact("out-0", at_ms=1_250), Compact("out-0", at_ms=3_500))
        assert len({e.at_ms for e in cluster.trace.of("state", "compacted")}) == count


def test_the_picture_has_a_sentence_for_each() -> None:
    leader = leader_of(writing())
    other = "b1" if leader != "b1" else "b2"
    faults: list[Fault] = [Cut(other, "controller", at_ms=20), Heal(other, "controller", at_ms=40)]
    faults += [AdvanceClock(5, at_ms=50), Roll("out-0", at_ms=150), DeleteSegment("out-0", at_ms=200)]
    faults += [Compact("out-0", at_ms=900), ElectLeader("out-0", other, at_ms=1_500)]
    faults += [Hold("Produce#3"), Release("Produce#3", at_ms=400), Reorder("Produce#6", "Produce#5")]
    cluster = run(writing(12, 100), *faults)
    assert cluster.unused_faults == (faults[-1],)
    texts = [e["text"] for e in payload_of(cluster)["events"] if e["kind"] == "fault"]
    assert len(texts) == len(faults) - 1
    assert not [t for t in texts if "resumes" in t]
    assert any(t.startswith("All clocks jump forward by 5 ms") for t in texts)


# the network


def test_a_broker_cut_off_from_the_controller_is_fenced_after_nine_seconds_and_let_in_when_it_is_healed() -> None:
    scenario = writing(40, 1_000)
    cluster = run(scenario, Cut("b2", "controller", at_ms=1_000), Heal("b2", "controller", at_ms=15_000))
    images = [(e.at_ms, e.data["alive"]) for e in cluster.trace.of("state", "metadata")]
    assert (10_000, ("b1", "b3")) in images
    back = [at for at, alive in images if alive == ("b1", "b2", "b3") and at > 10_000]
    assert 15_000 < back[0] < 15_010
    assert cluster.unused_faults == ()
    assert cluster.results["app"] == list(range(40))


def test_a_cut_shorter_than_the_session_timeout_fences_nobody() -> None:
    cluster = run(writing(20, 1_000), Cut("b2", "controller", at_ms=1_000), Heal("b2", "controller", at_ms=9_999))
    assert all(e.data["alive"] == ("b1", "b2", "b3") for e in cluster.trace.of("state", "metadata"))


def test_a_new_cut_begins_a_new_session_timeout() -> None:
    cuts: list[Fault] = [Cut("b2", "controller", at_ms=1_000), Heal("b2", "controller", at_ms=8_000)]
    cluster = run(writing(25, 1_000), *cuts, Cut("b2", "controller", at_ms=9_000))
    fenced = [e.at_ms for e in cluster.trace.of("state", "metadata") if "b2" not in e.data["alive"]]
    assert fenced[0] == 18_000


def test_a_request_over_a_cut_connection_is_lost_without_a_word() -> None:
    leader = leader_of(writing())
    cluster = run(writing(4, 20), Cut("app", leader, at_ms=40))
    lost = next(f for f in cluster.trace.frames.values() if f.fate == "dropped")
    assert {lost.sender, lost.receiver} == {"app", leader}
    given_up = next(e for e in cluster.trace.of("timer", "request timeout") if e.node == "app")
    assert given_up.at_ms == lost.sent_ms + 30_000


def test_a_leader_cut_off_from_everybody_is_replaced_and_truncates_what_only_it_has() -> None:
    scenario = writing(6, 2_000, acks=1)
    old = leader_of(scenario)
    others = tuple(n for n in ("b1", "b2", "b3", "controller") if n != old)
    cut, heal = Cut(old, others, at_ms=3_000), Heal(old, others, at_ms=40_000)
    late = replace(scenario, programs=(*scenario.programs, Program("later", "wait", {"ms": 80_000})))
    cluster = run(late, cut, heal)
    truncated = [e for e in cluster.trace.of("truncate", "out-0") if e.node == old]
    assert truncated
    assert cluster.results["app"] == [0, 1, 2, 3, 4, 5]
    assert cluster.outcome().committed["out-0"] == ("v0", "v1")
    assert cluster.brokers[old].state.logs["out-0"].log_end_offset == 2


def test_a_leader_that_starts_again_behind_a_cut_leads_nothing_before_it_is_let_in_when_it_is_healed() -> None:
    scenario = writing(6, 100, acks=1)
    old = leader_of(scenario)
    others = tuple(n for n in ("b1", "b2", "b3", "controller") if n != old)
    nodes = Crash(old, at_ms=120), Restart(old, at_ms=160)
    cluster = run(scenario, Cut(old, others, at_ms=60), *nodes, Heal(old, others, at_ms=220))
    back = cluster.trace.of("recover", old)[0].step
    registered = [e for e in cluster.trace.of("send", "BrokerRegistration") if e.node == old]
    assert [e.at_ms for e in registered] == [160, 220], "at once, and when the controller can be reached"
    led = [e.data for e in cluster.trace.of("state", "leader") if e.node == old and e.step > back]
    assert not [data for data in led if data["partition"] == "out-0" and data["leader_epoch"] == 0]
    assert cluster.controller.metadata.partitions["out-0"].leader != old


@program
async def wait(app: App, ms: int) -> str:
    await app.sleep(ms)
    return "waited"


def test_a_held_frame_arrives_when_it_is_released() -> None:
    whole = run(lab03())
    sent_ms = whole.trace.frames["WriteTxnMarkers#1"].sent_ms
    cluster = run(lab03(), Hold("WriteTxnMarkers#1"), Release("WriteTxnMarkers#1", at_ms=sent_ms + 5_000))
    frame = cluster.trace.frames["WriteTxnMarkers#1"]
    assert (frame.fate, frame.received_ms) == ("delivered", sent_ms + 5_000)
    assert cluster.unused_faults == ()
    assert cluster.outcome().verdict == "committed"


def test_a_frame_that_is_held_for_ever_is_as_good_as_lost() -> None:
    cluster = run(lab03(), Hold("EndTxn#1"))
    assert cluster.trace.frames["EndTxn#1"].fate == "in flight"
    assert cluster.trace.frames["EndTxn#2"].attempt == 2
    assert cluster.results == {"app": "committed"}


def test_a_frame_arrives_right_after_one_that_was_sent_later() -> None:
    cluster = run(lab03(), Reorder("WriteTxnMarkers#1", "WriteTxnMarkers#2"))
    first, second = (cluster.trace.frames[f"WriteTxnMarkers#{i}"] for i in (1, 2))
    assert (first.sent_step < second.sent_step, first.received_ms) == (True, second.received_ms)
    assert first.received_step > second.received_step
    assert cluster.unused_faults == ()
    assert cluster.outcome().verdict == "committed"


# the clock


@program
async def open_transaction(app: App) -> str:
    producer = app.producer(transactional_id="t", linger_ms=0)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("out", "never", partition=0)
    await producer.flush()
    await app.sleep(1_000)
    return "left open"


def test_a_jump_of_the_clock_makes_an_open_transaction_time_out() -> None:
    scenario = Scenario(topics={"out": 1}, programs=(Program("app", "open_transaction"),))
    cluster = run(scenario, AdvanceClock(70_000, at_ms=500))
    timeout = cluster.trace.of("state", "timeout")[0]
    assert 70_500 <= timeout.at_ms < 81_000
    assert cluster.outcome().verdict == "aborted"
    times = [e.at_ms for e in cluster.trace.events]
    assert times == sorted(times)


# leaders


def test_another_leader_in_sync_goes_on_without_loss() -> None:
    scenario = writing(20, 100)
    old = leader_of(scenario)
    other = next(b for b in ("b1", "b2", "b3") if b != old)
    cluster = run(scenario, ElectLeader("out-0", other, at_ms=500), ElectLeader("out-0", old, at_ms=1_200))
    leaders = [e.node for e in cluster.trace.of("state", "leader") if e.data["partition"] == "out-0"]
    assert leaders == [other, old]
    assert cluster.controller.metadata.partitions["out-0"].leader_epoch == 2
    acknowledged = [f"v{i}" for i, offset in enumerate(cluster.results["app"]) if offset >= 0]
    assert set(acknowledged) <= set(cluster.outcome().committed["out-0"])
    assert cluster.unused_faults == ()


def lagging(scenario: Scenario) -> tuple[str, str, tuple[Fault, ...]]:
    """The leader, another broker, and the faults that let that one lag behind and leave the in-sync set."""
    leader = leader_of(scenario)
    other = next(b for b in ("b1", "b2", "b3") if b != leader)
    return leader, other, (Cut(other, leader, at_ms=5_000),)


def test_an_unclean_leader_loses_what_was_acknowledged() -> None:
    scenario = writing(60, 1_500)
    leader, other, cut = lagging(scenario)
    clean = run(scenario, *cut, ElectLeader("out-0", other, at_ms=80_000))
    assert clean.unused_faults == (ElectLeader("out-0", other, at_ms=80_000),)
    assert set(clean.outcome().committed["out-0"]) == {f"v{i}" for i in range(60)}
    heal = Heal(other, leader, at_ms=80_001)
    cluster = run(scenario, *cut, ElectLeader("out-0", other, unclean=True, at_ms=80_000), heal)
    assert cluster.unused_faults == ()
    visible = cluster.outcome().committed["out-0"]
    acknowledged = [f"v{i}" for i, offset in enumerate(cluster.results["app"]) if offset >= 0]
    assert len(set(acknowledged) - set(visible)) > 20
    assert cluster.trace.of("truncate", "out-0")[0].node == leader
    after = [e for e in cluster.trace.of("state", "metadata") if e.data["leaders"].get("out-0") == other]
    assert after[0].at_ms == 80_000


@pytest.mark.parametrize("off", [(), (CLEAN_ELECTION.name,)], ids=["clean", "unclean"])
def test_when_the_last_replica_in_sync_dies_only_an_unclean_election_goes_on(off: tuple[str, ...]) -> None:
    scenario = writing(80, 1_500, rules_off=off)
    leader = leader_of(scenario)
    others = tuple(b for b in ("b1", "b2", "b3") if b != leader)
    stops, starts = (Cut(leader, others, at_ms=5_000), Crash(leader, at_ms=80_000)), Restart(leader, at_ms=100_000)
    cluster = run(scenario, *stops, starts, Heal(leader, others, at_ms=100_000))
    info = cluster.controller.metadata.partitions["out-0"]
    acknowledged = {f"v{i}" for i, offset in enumerate(cluster.results["app"]) if offset >= 0}
    lost = acknowledged - set(cluster.outcome().committed["out-0"])
    assert (info.leader == leader, bool(lost)) == ((True, False) if not off else (False, True))


@pytest.mark.parametrize(("partition", "leader"), [("out-0", "b2"), ("__transaction_state-45", "")])
def test_the_transaction_log_is_never_led_uncleanly(partition: str, leader: str) -> None:
    controller = Cluster(Scenario(topics={"out": 1}, rules_off=(CLEAN_ELECTION.name,))).controller
    info = PartitionInfo(leader="b1", leader_epoch=4, replicas=("b1", "b2", "b3"), isr=("b1",))
    controller.metadata = controller.metadata.with_partitions({partition: info}, ("b1", "b2", "b3"))
    controller.fence_broker("b1", -1)
    after = controller.metadata.partitions[partition]
    assert (after.leader, after.leader_epoch, after.isr) == (leader, 5, (leader or "b1",))
    assert controller.can_lead(partition, "b3") == (partition == "out-0")
    assert controller.can_lead(partition, "b3", unclean=True)


# storage


def test_compaction_drops_older_values_on_every_replica() -> None:
    scenario = writing(6, 20)
    end = run(scenario).now
    cluster = run(scenario, Compact("out-0", at_ms=end))
    assert cluster.outcome().committed["out-0"] == ("v4", "v5")
    cleaned = cluster.trace.of("state", "compacted")
    assert sorted(e.node for e in cleaned) == ["b1", "b2", "b3"]
    assert {e.data["records_removed"] for e in cleaned} <= {3, 4}  # a follower hears of the last mark later


def test_compaction_stops_before_an_open_transaction() -> None:
    scenario = Scenario(
        topics={"out": 1},
        programs=(
            Program("open", "open_transaction"),
            Program("app", "keyed_writes", {"values": [["k", "a"], ["k", "b"]], "pause_ms": 200}),
        ),
    )
    cluster = run(scenario, Compact("out-0", at_ms=600))
    assert all(e.data["end"] <= 1 for e in cluster.trace.of("state", "compacted"))
    assert cluster.outcome().committed["out-0"] == ("a", "b")


def test_a_deleted_segment_moves_the_log_start_of_every_replica() -> None:
    scenario = writing(8, 20)
    whole = run(scenario)
    half = next(e.at_ms for e in whole.trace.of("append", "out-0") if e.data.base_offset == 4)
    cluster = run(scenario, Roll("out-0", at_ms=half), DeleteSegment("out-0", at_ms=half + 60))
    starts = {name: b.state.logs["out-0"].log_start_offset for name, b in cluster.brokers.items()}
    assert len(set(starts.values())) == 1
    start = starts["b1"]
    assert 4 <= start <= 5
    assert cluster.outcome().committed["out-0"] == tuple(f"v{i}" for i in range(start, 8))
    reading = cluster.spawn("reader", first_record)
    cluster.run()
    assert reading.result() == [start, f"v{start}"]


async def first_record(app: App) -> list[Any]:
    consumer = app.consumer(auto_offset_reset="earliest")
    consumer.assign(["out-0"])
    consumer.seek("out-0", 0)
    records: list[Any] = []
    while not records:
        records = await consumer.poll()
    return [records[0].offset, records[0].value]


async def reset_by_policy(app: App, policy: str) -> Any:
    """Read on at offset 0, which is gone by then: what the consumer gets, or the name of its exception."""
    consumer = app.consumer(auto_offset_reset=policy)
    consumer.assign(["out-0"])
    consumer.seek("out-0", 0)
    try:
        return [[r.offset, r.value] for r in await consumer.poll(600)], await consumer.position("out-0")
    except KafkaError as error:
        return type(error).__name__


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ("earliest", ([[6, "v6"], [7, "v7"]], 8)),
        ("latest", ([], 8)),
        ("none", "OffsetOutOfRangeError"),
    ],
)
def test_a_position_that_was_deleted_is_reset_as_the_consumer_was_told(policy: str, found: Any) -> None:
    scenario = writing(8, 20)
    times = {e.data.base_offset: e.at_ms for e in run(scenario).trace.of("append", "out-0")}
    cluster = run(scenario, Roll("out-0", at_ms=times[6] - 10), DeleteSegment("out-0", at_ms=times[7] + 20))
    assert cluster.log_of("out-0").log_start_offset == 6
    asked = cluster.spawn("reader", reset_by_policy, policy=policy)
    cluster.run()
    assert asked.result() == found


def test_coordinators_read_back_what_compaction_left() -> None:
    whole = run(lab03())
    partitions = tuple(p for p in whole.brokers["b1"].state.logs if p.startswith("__"))
    late = replace(lab03(), programs=(*lab03().programs, Program("later", "wait", {"ms": 40_000})))
    leader = leader_of(lab03(), partitions[0])
    faults = [Compact(p, at_ms=10_000) for p in partitions] + [Crash(leader, at_ms=11_000)]
    cluster = run(late, *faults)
    assert set(cluster.unused_faults) <= set(faults[:-1])
    assert cluster.trace.of("state", "compacted")
    assert cluster.outcome().offsets == whole.outcome().offsets
    assert cluster.outcome().verdict == "committed"
    again = cluster.spawn("again", open_transaction_of_lab03)
    cluster.run()
    entries = [r.value for p in partitions for b in whole.log_of(p).batches for r in b.records]
    assert again.result() > max(e.producer_epoch for e in entries if isinstance(e, Txn))


async def open_transaction_of_lab03(app: App) -> int:
    producer = app.producer(transactional_id="payments-0")
    await producer.init_transactions()
    return producer.transaction_manager.producer_epoch


def test_a_follower_that_lags_behind_the_log_start_begins_anew_there() -> None:
    scenario = writing(40, 1_500)
    leader, other, cut = lagging(scenario)
    faults = [
        *cut,
        Roll("out-0", at_ms=50_000),
        DeleteSegment("out-0", at_ms=55_000),
        Heal(other, leader, at_ms=56_000),
    ]
    cluster = run(replace(scenario, programs=(*scenario.programs, Program("later", "wait", {"ms": 120_000}))), *faults)
    assert cluster.unused_faults == ()
    logs = {name: b.state.logs["out-0"] for name, b in cluster.brokers.items()}
    starts = {log.log_start_offset for log in logs.values()}
    assert len(starts) == 1
    assert starts.pop() > 5
    assert logs[other].batches == logs[leader].batches
    assert logs[other].segments[0] == logs[leader].log_start_offset
    assert [e.node for e in cluster.trace.of("truncate", "out-0")] == [other]


def test_what_is_under_way_when_the_connection_is_cut_never_arrives() -> None:
    whole = run(writing(4, 20))
    frame = whole.trace.frames["Produce#2"]
    cluster = whole.fork(frame.sent_step, Cut("app", frame.receiver))
    assert (cluster.trace.frames["Produce#2"].fate, cluster.trace.frames["Produce#2"].received_step) == ("dropped", -1)


@pytest.mark.parametrize("cut", [False, True])
def test_nobody_notices_a_crash_behind_a_cut_connection(cut: bool) -> None:
    scenario, leader = writing(4, 20), leader_of(writing())
    frame = run(scenario).trace.frames["Produce#2"]
    faults: list[Fault] = [Cut("app", leader, at_step=frame.sent_step)] if cut else []
    cluster = run(scenario, *faults, Crash(leader, at_ms=frame.sent_ms))
    given_up = [e for e in cluster.trace.of("timer", "request timeout") if e.node == "app"]
    assert bool(given_up) == cut


def test_a_segment_that_is_not_wholly_replicated_is_not_deleted() -> None:
    scenario, leader = writing(2), leader_of(writing())
    others = tuple(b for b in ("b1", "b2", "b3") if b != leader)
    delete = DeleteSegment("out-0", at_ms=5_000)
    cluster = run(scenario, Cut(leader, others, at_ms=1), Roll("out-0", at_ms=4_000), delete)
    assert cluster.unused_faults == (delete,)
