"""Scenarios by chance: with all rules on no forbidden anomaly appears; a failure shrinks to one that can be pasted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, find, given, note, settings
from hypothesis import strategies as st

from kafkalab.checks.all import Report, check_all
from kafkalab.history.export import history_of
from kafkalab.programs.random_faults import outlives_its_retry
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.rules import ABORTED_FILTER
from kafkalab.sim import faults
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

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
def scenarios(draw: st.DrawFn, **given: Any) -> Scenario:
    return random_scenario(Drawn(draw), **given)


def report_of(scenario: Scenario) -> Report:
    """Run it to its end, read every topic to its end, and check."""
    cluster = Cluster(scenario)
    cluster.run()
    read_to_the_end(cluster)
    return check_all(history_of(cluster))


def no_anomaly_in(scenario: Scenario) -> None:
    report = report_of(scenario)
    note(f"paste this:\n{scenario!r}\n{report}")
    assert report.violated == ()


@settings(max_examples=60, **COMMON)
@given(scenarios())
def test_no_anomaly_with_all_rules_on(scenario: Scenario) -> None:
    no_anomaly_in(scenario)


@pytest.mark.campaign
@settings(max_examples=1500, **COMMON)
@given(scenarios())
def test_no_anomaly_in_a_long_campaign(scenario: Scenario) -> None:
    no_anomaly_in(scenario)


@pytest.mark.campaign
def test_a_missing_rule_is_found_and_shrinks_to_a_scenario_that_can_be_pasted() -> None:
    search = settings(max_examples=400, phases=(Phase.generate, Phase.shrink), **COMMON)
    lacking = scenarios(profile="4.x/TV1", rules_off=(ABORTED_FILTER.name,))
    found = find(lacking, lambda s: "G1a" in report_of(s).violated, settings=search)
    assert len(found.faults) + len(found.programs) <= 4  # of up to 5 faults, or pairs of them, and 6 programs
    pasted = eval(repr(found), {"Scenario": Scenario, "Program": Program, **vars(faults)})
    assert pasted == found
    assert report_of(pasted).violated == ("G1a",)


def test_every_kind_of_fault_is_drawn_and_elections_are_clean() -> None:
    drawn = [fault for seed in range(400) for fault in random_scenario(Seeded(seed)).faults]
    assert {type(fault).__name__ for fault in drawn} == set(faults.TYPES)
    assert not any(fault.unclean for fault in drawn if isinstance(fault, faults.ElectLeader))


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_an_end_that_outlives_its_retry_is_drawn_for_version_2_alone(profile: str) -> None:
    drawn = [fault for seed in range(400) for fault in random_scenario(Seeded(seed), profile).faults]
    late = [fault for fault in drawn if outlives_its_retry(fault)]
    assert bool(late) == (profile == "4.x/TV2")


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
                faults.DeleteSegment("out-0", at_ms=17_961),
                faults.Reorder("Produce#9", "InitProducerIdResponse#11"),
                faults.Cut("b3", "b2", at_ms=6_886),
                faults.Heal("b3", "b2", at_ms=8_886),
                faults.AdvanceClock(31_000, at_ms=2_598),
                faults.Crash("b3", at_ms=1_038),
                faults.Restart("b3", at_ms=3_038),
            ),
            seed=13,
        )
    )
    cluster.run()
    assert not any(event.name == "DeleteSegment" for event in cluster.trace.events)


def test_the_same_seed_draws_the_same_scenario() -> None:
    assert random_scenario(Seeded(7)) == random_scenario(Seeded(7))
    assert random_scenario(Seeded(7)) != random_scenario(Seeded(8))
