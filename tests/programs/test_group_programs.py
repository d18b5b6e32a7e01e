"""Consumers in groups, whole runs: what is lost, what is done twice, who gets which partition, whom KIP-447 stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.client.exceptions import FencedInstanceIdError
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.programs.groups import two_members, zombie_member
from kafkalab.protocol.rules import GENERATION_CHECK
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"
ALL = ["in-0", "in-1", "in-2", "in-3"]


def ran(scenario: Scenario) -> Cluster:
    cluster = Cluster(scenario)
    cluster.run()
    return cluster


def workers(name: str, *faults: Any) -> Scenario:
    """A worker that processes two records, and one that takes over when the first one's session is over."""
    return Scenario(
        topics={"in": 1, "out": 1},
        records={"in-0": ("a", "b")},
        programs=(Program("w1", name), Program("w2", name, {"start_after_ms": 20_000})),
        faults=faults,
    )


def output_after_each_crash(name: str) -> set[tuple[str, ...]]:
    """Return what is in "out" at the end, for a crash of the first worker after each of its own steps."""
    whole = Cluster(workers(name))
    whole.run()
    steps = [e.step for e in whole.trace.events if e.node == "w1" and e.at_ms < 20_000]
    found = set()
    for step in steps[8::3]:
        cluster = ran(workers(name, Crash("w1", at_step=step)))
        found.add(cluster.outcome().committed["out-0"])
    return found


def test_committing_first_loses_records_and_never_doubles_them() -> None:
    found = output_after_each_crash("at_most_once")
    assert {("a", "b"), ("b",), ()} & found >= {("a", "b"), ()}
    assert all(len(set(values)) == len(values) for values in found)


def test_processing_first_doubles_records_and_never_loses_them() -> None:
    found = output_after_each_crash("at_least_once")
    assert ("a", "b") in found
    assert any(len(values) > 2 for values in found)
    assert all(set(values) == {"a", "b"} for values in found)


def test_in_one_transaction_nothing_is_lost_or_doubled() -> None:
    base = Scenario(
        topics={"in": 1, "out": 1},
        records={"in-0": ("a", "b")},
        programs=tuple(
            Program(f"w{i}", "exactly_once_worker", {"transactional_id": f"t{i}", "start_after_ms": 20_000 * (i - 1)})
            for i in (1, 2)
        ),
    )
    whole = ran(base)
    steps = [e.step for e in whole.trace.events if e.node == "w1" and e.at_ms < 20_000]
    for step in steps[8::4]:
        cluster = ran(base.with_faults(Crash("w1", at_step=step)))
        assert cluster.outcome().committed["out-0"] == ("a", "b"), step


def test_two_members_share_the_partitions_and_the_last_one_gets_all() -> None:
    one, two = (ran(two_members()).results[m] for m in ("m1", "m2"))
    assert one["rebalances"] == [
        [ASSIGNED, ALL], [REVOKED, ALL], [ASSIGNED, ALL[:2]], [REVOKED, ALL[:2]]
    ]  # fmt: skip
    assert two["rebalances"] == [
        [ASSIGNED, ALL[2:]], [REVOKED, ALL[2:]], [ASSIGNED, ALL], [REVOKED, ALL]
    ]  # fmt: skip
    assert sorted(one["values"]) == ["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"]
    assert two["values"] == []  # the first one's positions were committed automatically before the rebalance


def test_without_automatic_commits_the_second_member_reads_again() -> None:
    scenario = two_members()
    programs = tuple(
        Program(p.node, p.run, {**p.args, "settings": {"enable_auto_commit": False}}) for p in scenario.programs
    )
    results = ran(replace(scenario, programs=programs)).results
    assert sorted(results["m2"]["values"])[:2] == ["0a", "0b"]
    assert len(results["m2"]["values"]) == 12  # its own half, and later everything


def test_a_crashed_member_is_missed_when_its_session_ends() -> None:
    cluster = ran(two_members().with_faults(Crash("m1", at_ms=5_500)))
    assert cluster.results["m2"]["rebalances"] == []  # it waits to join for as long as the first one's session lasts
    longer = two_members()
    first, second = longer.programs
    longer = replace(longer, programs=(first, Program("m2", second.run, {**second.args, "for_ms": 60_000})))
    cluster = ran(longer.with_faults(Crash("m1", at_ms=5_500)))
    assert cluster.results["m2"]["rebalances"] == [[ASSIGNED, ALL], [REVOKED, ALL]]
    joined = [e for e in cluster.trace.of("state", "member") if e.node == "m2"]
    assert 45_000 < joined[0].at_ms < 52_000


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_a_zombie_s_offsets_are_refused(profile: str) -> None:
    cluster = ran(zombie_member(profile))
    assert cluster.outcome().committed["out-0"] == ("a", "b")
    assert cluster.results["m1"]["refused"] == "UNKNOWN_MEMBER_ID"
    assert cluster.results["m1"]["rebalances"][:2] == [[ASSIGNED, ["in-0"]], [LOST, ["in-0"]]]


def test_two_processes_that_are_one_static_member_fence_each_other() -> None:
    cluster = ran(zombie_member(settings={"group_instance_id": "i1"}))
    assert cluster.outcome().committed["out-0"] == ("a", "b")
    assert isinstance(cluster.results["m1"], FencedInstanceIdError)
    refused = [f for f in cluster.trace.frames.values() if f.name == "TxnOffsetCommitResponse" and f.receiver == "m1"]
    assert [f.error for f in refused] == ["FENCED_INSTANCE_ID"]
    joined = next(e.at_ms for e in cluster.trace.of("state", "member") if e.node == "m2")
    assert joined < 10_500  # no rebalance, no waiting for a session to end


def test_offsets_of_an_earlier_generation_are_refused() -> None:
    """The member is paused for less than its session, but a rebalance has gone by; as a static one it is still in."""
    scenario = zombie_member()
    one, two = scenario.programs
    static = {"group_instance_id": "i1", "max_poll_interval_ms": 6_000}
    programs = (
        Program("m1", one.run, {**one.args, "work_ms": 10_000, "settings": static}),
        Program("m2", two.run, {**two.args, "settings": {"max_poll_interval_ms": 6_000}}),
    )
    cluster = ran(replace(scenario, programs=programs, faults=(Pause("m1", at_ms=4_000), Resume("m1", at_ms=18_000))))
    refused = [f for f in cluster.trace.frames.values() if f.name == "TxnOffsetCommitResponse" and f.receiver == "m1"]
    assert refused[0].error == "ILLEGAL_GENERATION"
    assert cluster.outcome().committed["out-0"] == ("a", "b")


@pytest.mark.parametrize(
    "scenario",
    [
        zombie_member(fenced_by_group=False),
        zombie_member("1.0"),
        replace(zombie_member(), rules_off=(GENERATION_CHECK.name,)),
    ],
    ids=["only the group's name", "1.0", "rule off"],
)
def test_before_kip_447_a_zombie_doubles_the_output(scenario: Scenario) -> None:
    assert ran(scenario).outcome().committed["out-0"] == ("a", "b", "a", "b")


def test_the_coordinator_of_a_group_may_die() -> None:
    scenario = two_members()
    whole = ran(scenario)
    coordinator = next(e.node for e in whole.trace.of("state", "group"))
    for at_ms in (3_500, 8_000, 12_100):
        cluster = ran(scenario.with_faults(Crash(coordinator, at_ms=at_ms)))
        values = cluster.results["m1"]["values"] + cluster.results["m2"]["values"]
        assert {"0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"} <= set(values), at_ms


def test_the_same_scenario_gives_the_same_run() -> None:
    assert ran(zombie_member()).trace.digest() == ran(zombie_member()).trace.digest()


@pytest.mark.parametrize("scenario", [two_members(), zombie_member()], ids=["two members", "zombie"])
def test_group_scenarios_can_be_saved(scenario: Scenario, tmp_path: Any) -> None:
    scenario.save(tmp_path / "s.klab")
    assert Scenario.load(tmp_path / "s.klab").to_json() == scenario.to_json()


APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "TxnOffsetCommit")


@pytest.mark.campaign
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", [Drop, Duplicate, Delay])
def test_no_lost_late_or_doubled_frame_of_a_group_loses_or_doubles_anything(api: str, kind: Any) -> None:
    for scenario in (two_members(), zombie_member()):
        frames = [f.id for f in ran(scenario).trace.frames.values() if f.name in (api, f"{api}Response")]
        for frame in frames[:6]:
            fault = Delay(frame, 7_000) if kind is Delay else kind(frame)
            cluster = ran(scenario.with_faults(fault))
            if "out" in scenario.topics:
                assert cluster.outcome().committed["out-0"] == ("a", "b"), fault
            else:
                values = cluster.results["m1"]["values"] + cluster.results["m2"]["values"]
                assert len(set(values)) == 8, fault
