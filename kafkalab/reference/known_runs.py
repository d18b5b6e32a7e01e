"""The runs of the reference: each bug, rule and error has one that shows it, at the step that decides.

That is where the promise breaks, where the run first differs from the one with the cure, or where the client is
answered with the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.reference import bug, rule_matrix
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING, entry_of
from kafkalab.reference.found_scenarios import found_scenario, slug
from kafkalab.reference.rule_matrix import EXPECTED
from kafkalab.run.again import agreement
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import forbidden
from kafkalab.widgets.model.journey import Journey

Place = Callable[[Journey], int]


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run of the reference: its kind, which names its document, its file, the heading of its entry, its place."""

    kind: str
    file: str
    heading: str
    scenario: Scenario
    place: Place


def known_runs(root: Path) -> Iterator[KnownRun]:
    """Yield the runs of the project in the folder `root`: of bugs, then of rules, then of errors."""
    for one in BUGS:
        good = bug.scenario_of(one, root)
        bad = bug.without_the_cure(one, good)
        yield KnownRun("bugs", Path(one.file).stem, one.heading, bad, find_decision(good))
    for rule in REGISTRY:
        if scenario := _scenario_of(rule, root):
            bad = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
            yield KnownRun("rules", slug(rule), rule.name, bad, find_decision(scenario))
    for error in MEANING:
        entry = entry_of(error, root)
        name = f"{error.name} ({error.code})"
        yield KnownRun("errors", error.name.lower(), name, entry.scenario, find_sending(entry.answer))


def _scenario_of(rule: Rule, root: Path) -> Scenario | None:
    """Return the rule's scenario: made by hand, or else found by a search, or else None."""
    return rule_matrix.scenario_of(rule, root) if rule in EXPECTED else found_scenario(rule, root)


def find_decision(good: Scenario) -> Place:
    """Return what finds the step at which a promise is broken, or else the first that is not as in the run `good`."""

    def place(journey: Journey) -> int:
        broken = find_break(journey)
        return agreement(ran(good).trace, journey.run.trace) if broken is None else broken

    return place


def find_break(journey: Journey) -> int | None:
    """Return the step at which a promise is broken first, None if none is."""
    return min((int(found["step"]) for found in forbidden(journey.report()["results"])), default=None)


def find_sending(frame: str) -> Place:
    """Return what finds the step at which the frame is sent."""
    return lambda journey: int(journey.payload["frames"][frame]["sent"])


def open_known(shown: KnownRun) -> Journey:
    """Return the run, at the first stop from its place on."""
    journey = Journey(shown.scenario)
    go_to(journey, shown.place(journey))
    return journey


def go_to(journey: Journey, place: int) -> None:
    """Move the cursor to the first stop from this step on, or to the last stop."""
    stops = journey.stops()
    journey.step = next((stop for stop in stops if stop >= place), stops[-1])
