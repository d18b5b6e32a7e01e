"""Histories that the simulator makes for the tests of the audits: every stored scenario, and seeds by chance."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kafkalab import lab06
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.protocol.profiles import PROFILES
from kafkalab.reference.rule_matrix import EXPECTED, scenario_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from tests.checks import test_checks_of_logs as of_logs
from tests.checks import test_checks_of_reads as of_reads
from tests.checks import test_checks_of_sessions as of_sessions
from tests.checks import test_exactly_once as once
from tests.checks.test_declared_inputs import (
    another_value_the_second_time,
    for_two_groups,
    refused_and_sent_again,
    stored_twice,
    two_outputs_of_one_value,
    with_an_onlooker,
)
from tests.checks.verdicts import build_history

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("", "bugs", "errors", "rules")
RULES_OFF = tuple(rule.name for rule in EXPECTED)


def simulate_stored() -> list[History]:
    """A run of every .klab file, of new producer ids whose appends time out, of zombies that wake up, and of every
    scenario of a rule once more with the rule off."""
    found = [run(Scenario.load(path)) for folder in FOLDERS for path in sorted((ROOT / "data" / folder).glob("*.klab"))]
    found.append(run(Scenario.load(Path(__file__).parent / "rotations_timed_out.klab")))
    found += [run(lab06(paused_ms=ms, profile=profile)) for ms in (80, 150, 200) for profile in ("4.x/TV1", "4.x/TV2")]
    for rule in EXPECTED:
        scenario = scenario_of(rule, ROOT)
        found.append(run(replace(scenario, rules_off=(*scenario.rules_off, rule.name))))
    return found


def by_hand() -> list[History]:
    """The histories of which tests/checks says, check by check, what is right."""
    builders = [build for module in (of_logs, of_reads, of_sessions, once) for _, build, _ in module.CASES]
    builders += [two_outputs_of_one_value, another_value_the_second_time, refused_and_sent_again, stored_twice]
    builders += [for_two_groups, with_an_onlooker]
    return [build_history(build) for build in builders]


def run(scenario: Scenario) -> History:
    """Return what happened, also where the run could not go on."""
    cluster = Cluster(scenario)
    with suppress(RunawayError, StuckError):
        cluster.run()
    return history_of(cluster)


def by_chance(count: int, first: int = 0) -> list[History]:
    """Seeds with every profile in turn; of each three two with a rule or two off."""
    profiles, found = list(PROFILES), []
    for seed in range(first, first + count):
        rules = [RULES_OFF[seed % len(RULES_OFF)], RULES_OFF[seed * 7 % len(RULES_OFF)]][: seed % 3]
        profile = PROFILES[profiles[seed % len(profiles)]]
        off = tuple(dict.fromkeys(rule for rule in rules if rule not in [r.name for r in profile.lacks]))
        runs = Runs(first=seed, last=seed, profile=profiles[seed % len(profiles)], rules_off=off)
        found.append(history_of_seed(runs, seed))
    return found
