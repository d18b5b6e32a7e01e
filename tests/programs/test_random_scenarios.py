"""Scenarios by chance: with all rules on no forbidden anomaly appears; a failure shrinks to one that can be pasted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, find, given, note, settings
from hypothesis import strategies as st

from kafkalab.checks.all import Report, check_all
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.frame import Reorder
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.registry import TYPES
from kafkalab.faults.storage import DeleteSegment
from kafkalab.history.export import history_of
from kafkalab.programs.moments import DECIDED, OPEN, REBALANCE, dry_run, moments_of
from kafkalab.programs.random_cluster import SETTINGS
from kafkalab.programs.random_faults import lets_a_batch_be_overtaken, outlives_its_retry
from kafkalab.programs.random_scenarios import Seeded, random_scenario, random_survivable_fault, random_work
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.rules import ABORTED_FILTER
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

CAMPAIGN = int(os.environ.get("KAFKALAB_SCENARIOS", "300"))
"""The size of the long campaign; `python -m tests.benchmarks.campaign` is for thousands, in several processes."""
T = TypeVar("T")
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
COMMON: dict[str, Any] = {"database": None, "derandomize": True, "deadline": None, "suppress_health_check": QUIET}


class Drawn:
    """Chance from hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def one_of(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))


@st.composite
def scenarios(draw: st.DrawFn, /, **given: Any) -> Scenario:
    return random_scenario(Drawn(draw), **given)


def report_of(scenario: Scenario) -> Report:
    """Run it to its end, read every topic to its end, and check."""
    cluster = Cluster(scenario)
    cluster.run()
    read_to_the_end(cluster)
    report = check_all(history_of(cluster))
    cluster.discard()
    return report


def no_anomaly_in(scenario: Scenario) -> None:
    report = report_of(scenario)
    note(f"paste this:\n{scenario!r}\n{report}")
    assert report.violated == ()


@settings(max_examples=60, **COMMON)
@given(scenarios())
def test_no_anomaly_with_all_rules_on(scenario: Scenario) -> None:
    no_anomaly_in(scenario)


@pytest.mark.campaign
@settings(max_examples=CAMPAIGN, **COMMON)
@given(scenarios())
def test_no_anomaly_in_a_long_campaign(scenario: Scenario) -> None:
    no_anomaly_in(scenario)


@pytest.mark.campaign
def test_a_missing_rule_is_found_and_shrinks_to_a_scenario_that_can_be_pasted() -> None:
    search = settings(max_examples=400, phases=(Phase.generate, Phase.shrink), **COMMON)
    lacking = scenarios(profile="4.x/TV1", rules_off=(ABORTED_FILTER.name,))
    found = find(lacking, lambda s: "G1a" in report_of(s).violated, settings=search)
    assert len(found.faults) + len(found.programs) <= 4  # of up to 5 faults, or pairs of them, and 6 programs
    pasted = eval(repr(found), {"Scenario": Scenario, "Program": Program, **TYPES})
    assert pasted == found
    assert report_of(pasted).violated == ("G1a",)


def drawn_from(work: Scenario, times: int, unclean: bool = False) -> list[Fault]:
    """The faults that so many seeds draw from a run of this work."""
    run = dry_run(work)
    return [fault for seed in range(times) for fault in random_survivable_fault(Seeded(seed), run, unclean)]


def work(profile: str = "4.x/TV2", **more: Any) -> Scenario:
    """Two writers, of which the first is slow, and a worker of a group."""
    programs = (
        writer("w1", [["commit", 0, 1], ["abort", 1]], 60_000),
        writer("w2", [["commit", 0]], 1_000),
        Program("m1", "exactly_once_worker", {"transactional_id": "m1", "work_ms": 50}),
    )
    topics = {"in": 1, "out": 2}
    return Scenario(profile=profile, topics=topics, records={"in-0": ("a", "b")}, programs=programs, **more)


def test_every_kind_of_fault_is_drawn_and_elections_are_clean_unless_asked_for_otherwise() -> None:
    lower = work(config={"transaction_version": 1})
    drawn = drawn_from(lower, 600)
    usual = {name for name, kind in TYPES.items() if not kind.kind or kind.kind in KINDS}
    assert {type(fault).__name__ for fault in drawn} == usual
    assert not any(fault.unclean for fault in drawn if isinstance(fault, ElectLeader))
    assert any(fault.unclean for fault in drawn_from(lower, 20, True) if isinstance(fault, ElectLeader))


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_an_end_that_outlives_its_retry_is_drawn_for_version_2_alone(profile: str) -> None:
    late = [fault for fault in drawn_from(work(profile), 1_000) if outlives_its_retry(fault)]
    names = {fault.frame.partition("#")[0] for fault in late}  # type: ignore[union-attr]
    assert names == ({"EndTxn", "WriteTxnMarkers", "TxnOffsetCommit"} if profile == "4.x/TV2" else set())


def test_most_moments_are_in_a_transaction_or_a_rebalance_and_rare_frames_are_struck_as_often_as_fetches() -> None:
    run = dry_run(work())
    moments = moments_of(run.cluster.trace)
    drawn = (getattr(fault, "at_step", -1) for fault in drawn_from(work(), 1_000))
    steps = [step for step in drawn if step >= 0]
    inside = [step for step in steps if set(moments[step]) & {OPEN, DECIDED, REBALANCE}]
    assert len(inside) > len(steps) / 2 > 50
    names = Counter(f.frame.partition("#")[0] for f in drawn_from(work(), 1_000) if isinstance(f, FrameFault))
    assert set(names) == set(run.frames)
    assert names["TxnOffsetCommit"] > names["ReplicaFetch"]


def test_an_unclean_election_comes_when_the_replica_has_fallen_behind() -> None:
    found = [random_survivable_fault(Seeded(seed), dry_run(work()), unclean=True) for seed in range(12)]
    elections = [drawn for drawn in found if isinstance(drawn[-1], ElectLeader) and drawn[-1].unclean]
    for cut, heal, election in elections:
        assert cut.at_ms < heal.at_ms < election.at_ms  # type: ignore[union-attr]
    assert elections


def test_work_of_every_kind_is_drawn() -> None:
    drawn = [random_work(Seeded(seed)) for seed in range(600)]
    assert {w.brokers for w in drawn} == {1, 2, 3, 4, 5}
    assert {name for w in drawn for name in w.config} == {*SETTINGS, "transaction_version"}
    assert all(any(getattr(w, name) for w in drawn) for name in ("fresh", "producer_epochs", "acls"))
    programs = {str(p.run) for w in drawn for p in w.programs}
    assert programs == {
        *("writer", "idempotent_writer", "reader", "group_reader", "raw_requests"),
        *("exactly_once_worker", "exactly_once_processor", "at_least_once", "at_most_once"),
    }
    args = [{**p.args, **(p.args.get("settings") or {})} for w in drawn for p in w.programs]
    assert {"group_instance_id", "session_timeout_ms", "auto_commit_interval_ms"} <= {name for a in args for name in a}
    assert any(a.get("linger_ms") for a in args)
    plans = [one for w in drawn for p in w.programs for one in p.args.get("plan", ())]
    wide = [one for one in plans if len(set(one[1:])) >= 3]
    assert len(wide) > 0.15 * len(plans)


def writer(node: str, plan: list[list[object]], timeout_ms: int) -> Program:
    arguments = {"transactional_id": "t1", "topic": "out", "plan": plan, "transaction_timeout_ms": timeout_ms}
    return Program(node, "writer", arguments)


def test_a_leader_that_has_not_heard_yet_that_it_leads_deletes_nothing() -> None:
    """Found by chance, and kept as it was drawn."""
    cluster = Cluster(
        Scenario(
            profile="4.x/TV1",
            topics={"out": 1},
            programs=(
                writer("w1", [["abort", 0], ["commit", 0, 0], ["commit", 0, 0], ["commit", 0, 0]], 60_000),
                writer("w2", [["abort", 0], ["commit", 0]], 1_000),
                writer("w3", [["abort", 0, 0, 0], ["commit", 0, 0], ["commit", 0]], 60_000),
                Program("r0", "reader", {"partitions": ["out-0"], "isolation_level": "read_committed"}),
            ),
            faults=(
                DeleteSegment("out-0", at_ms=17_961),
                Reorder("Produce#9", "InitProducerIdResponse#11"),
                Cut("b3", "b2", at_ms=6_886),
                Heal("b3", "b2", at_ms=8_886),
                AdvanceClock(31_000, at_ms=2_598),
                Crash("b3", at_ms=1_038),
                Restart("b3", at_ms=3_038),
            ),
            seed=13,
        )
    )
    cluster.run()
    assert not any(event.name == "DeleteSegment" for event in cluster.trace.events)


def test_the_same_seed_draws_the_same_scenario() -> None:
    assert random_scenario(Seeded(7)) == random_scenario(Seeded(7))
    assert random_scenario(Seeded(7)) != random_scenario(Seeded(8))


@pytest.mark.parametrize("others", [(), (Program("idle", "idempotent_writer", {"topic": "out", "partitions": [0]}),)])
def test_no_batch_of_an_idempotent_producer_is_overtaken_on_its_connection(others: tuple[Program, ...]) -> None:
    scenario = work()
    drawn = drawn_from(replace(scenario, programs=(*scenario.programs, *others)), 1_000)
    assert any(lets_a_batch_be_overtaken(fault) for fault in drawn) is not bool(others)
