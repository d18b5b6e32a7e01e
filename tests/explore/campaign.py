"""Searches that are long: all rules on in the generic programs, and how many runs each engine needs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median

from kafkalab.course.lab03.scenario import lab03
from kafkalab.explore.anomalies import named
from kafkalab.explore.mishap import KINDS, Mishap, faults_of
from kafkalab.explore.programs import GENERIC
from kafkalab.explore.result import NONE, Coverage
from kafkalab.explore.search import Mishaps, explore
from kafkalab.explore.trial import Job, Trial, attempt
from kafkalab.explore.what_if import what_if
from kafkalab.reference.found_scenarios import found_scenario, slug
from kafkalab.reference.rule_matrix import EXPECTED
from tests.explore.table import ROOT, SECONDS

CURRENT = ("4.x/TV2", "4.x/TV1")
ALL = 20_000
"""More runs than a search of one fault makes."""
PACE_RUNS = 100
RANDOM_FACTOR, SEEDS = 20, (1, 2, 3)


class Noted:
    """Makes the runs of a search, and takes note of every find, so that the search goes on behind it."""

    def __init__(self) -> None:
        self.finds: dict[tuple[str, ...], list[Mishaps]] = {}

    def __call__(self, function: Callable[[Job], Trial], jobs: list[Job]) -> Iterator[Trial]:
        """Make the runs one after the other."""
        for job in jobs:
            trial = function(job)
            if trial.findings:
                names = dict.fromkeys(f.anomaly for f in trial.findings)
                self.finds.setdefault((*names, *map(_struck, job.mishaps)), []).append(job.mishaps)
            yield replace(trial, findings=(), follow=() if trial.findings else trial.follow)


    def told(self) -> Iterator[str]:
        """Return a line for each kind of find; one that has another's mishaps, and more, is not told."""
        for kind, sets in self.finds.items():
            if not any(other != kind and not Counter(other) - Counter(kind) for other in self.finds):
                first = ", ".join(map(repr, faults_of(sets[0])))
                yield f"  {' + '.join(kind)}: {len(sets)} of these sets, first {first}"


def _struck(mishap: Mishap) -> str:
    """Return what a mishap strikes, without numbers: "late Produce", "crash", "clock"."""
    return f"{mishap.kind} {getattr(mishap.faults[0], 'frame', '').partition('#')[0]}".strip()


def all_rules_on(runs: int, most_faults: int) -> Iterator[str]:
    """Search for any forbidden anomaly with all rules on, and go on behind each find; for each program and profile.

    Sets of one fault are tried to the last, larger ones until `runs` are used up.
    """
    for profile in CURRENT:
        for make in GENERIC:
            noted, begun = Noted(), time.process_time()

            def stop(covered: Coverage) -> str:
                larger = sum(tried for size, tried in covered.tried.items() if size > 1)
                return f"the budget of {runs:,} sets of several faults was used up" if larger >= runs else ""

            result = explore(make(profile), most_faults=most_faults, runs=ALL, stop=stop, mapper=noted)
            took = time.process_time() - begun
            verdict = "every set was tried" if result.verdict == NONE else result.stopped
            yield f"{make.__name__}, {profile}: {verdict}\n  {result.covered}"
            yield f"  {took:.1f} s of CPU, {result.covered.runs / took:.0f} runs a second"
            yield from noted.told()


def pace() -> Iterator[tuple[str, str, str]]:
    """Measure what, with which figures, and the goal: a run of lab 3 with all checks, and what if it broke there."""
    job = Job(scenario=lab03(), find=named(()))
    for kinds, what in (((), "lab 03's run with all checks"), (KINDS, "the same, and what could go wrong next")):
        begun = time.process_time()
        for _ in range(PACE_RUNS):
            attempt(replace(job, kinds=kinds))
        took = time.process_time() - begun
        yield what, f"{PACE_RUNS / took:6.1f} runs/s and core", "" if kinds else "150 runs/s"
    begun = time.process_time()
    strips = what_if(lab03())
    runs = len({one.faults for strip in strips.values() for one in strip})
    yield "what if it broke here, lab 03", f"{time.process_time() - begun:6.1f} s of CPU, {runs} runs", "below 2 s"


def engines(names: list[str], most_runs: int) -> Iterator[str]:
    """Take each rule that is off for a seeded defect: how many runs lineage and random need; the medians at the end.

    The programs are those of the found scenarios, without their faults. `random` may use 20 times the runs of
    lineage, but at most `most_runs`; where it finds nothing, that many are counted.
    """
    ratios = []
    for rule, anomaly in EXPECTED.items():
        scenario = found_scenario(rule, ROOT)
        if scenario is None or not scenario.faults or (names and slug(rule) not in names):
            continue
        bare = replace(scenario, faults=())
        begun = time.process_time()

        def stop(covered: object, begun: float = begun) -> str:
            return "time" if time.process_time() - begun > SECONDS else ""

        lineage = explore(bare, (), [rule.name], 2, runs=most_runs, stop=stop)
        if lineage.found is None or lineage.size < 1:
            continue
        used = lineage.covered.runs
        budget = min(RANDOM_FACTOR * used, most_runs)
        drawn = [explore(bare, (), [rule.name], 2, "random", budget, seed).covered.runs for seed in SEEDS]
        ratios.append(used / median(drawn))
        yield f"{slug(rule):26} {anomaly:24} lineage {used:5}  random {median(drawn):7.0f}  ratio {ratios[-1]:.2f}"
    if ratios:
        yield f"{len(ratios)} rules: median ratio {median(ratios):.2f}"
