"""Scenarios by chance: with all rules on no forbidden anomaly appears; a failure shrinks to one that can be pasted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, find, given, note, settings
from hypothesis import strategies as st

from kafkalab.checks.all import Report, check_all
from kafkalab.history import history_of
from kafkalab.rules import ABORTED_FILTER
from kafkalab.sim import faults
from kafkalab.sim.chance import Seeded, scenario_by_chance
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.programs import read_to_the_end
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
    return scenario_by_chance(Drawn(draw), **given)


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


def test_the_same_seed_draws_the_same_scenario() -> None:
    assert scenario_by_chance(Seeded(7)) == scenario_by_chance(Seeded(7))
    assert scenario_by_chance(Seeded(7)) != scenario_by_chance(Seeded(8))
