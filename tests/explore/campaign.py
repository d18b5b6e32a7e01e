"""Searches that are long: all rules on in the generic programs, and how many runs each engine needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from statistics import median

from kafkalab.course.lab03.scenario import lab03
from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.experiment import Job, attempt
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.programs import GENERIC
from kafkalab.explore.search import ENGINES, explore
from kafkalab.explore.what_if import what_if
from kafkalab.reference.found_scenarios import found_scenario, slug
from kafkalab.reference.rule_matrix import EXPECTED
from tests.explore.sweep import Sweep
from tests.explore.table import ROOT, SECONDS

CURRENT = ("4.x/TV2", "4.x/TV1")
PACE_RUNS = 100
RANDOM_FACTOR, SEEDS = 20, (1, 2, 3)


def all_rules_on(each: int, seconds: float, threes: int, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Search for any forbidden anomaly with all rules on, in each program and profile: see `tests.explore.sweep`.

    `names` are those of the programs and profiles that are wanted, all by default. Control-C ends a program's sweep;
    what it covered is told.
    """
    profiles = [profile for profile in CURRENT if profile in names] or CURRENT
    programs = [make for make in GENERIC if make.__name__ in names] or GENERIC
    for profile in profiles:
        for make in programs:
            begun = time.process_time()
            sweep = Sweep.of(make(profile), each, seconds)
            with suppress(KeyboardInterrupt):
                sweep.run(threes)
            took = time.process_time() - begun
            yield f"{make.__name__}, {profile}: {took:.0f} s of CPU, {sweep.runs / took:.0f} runs a second"
            yield from sweep.report()


def pace() -> Iterator[tuple[str, str, str]]:
    """Measure what, with which figures, and the goal: a run of lab 3 with all checks, and what if it broke there."""
    job = Job(scenario=lab03(), find=parse_names(()))
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
    """Take each rule that is off for a seeded defect: how many runs each engine needs; the medians at the end.

    The programs are those of the found scenarios, without their faults, and the most faults is what lineage needs. Who
    draws may use 20 times the runs of lineage, but at most `most_runs`; where it finds nothing, that many are counted.
    """
    ratios: dict[tuple[int, str], list[float]] = {}
    for rule, anomaly in EXPECTED.items():
        scenario = found_scenario(rule, ROOT)
        if scenario is None or not scenario.faults or (names and slug(rule) not in names):
            continue
        bare = replace(scenario, faults=())
        begun = time.process_time()

        def stop(covered: object, begun: float = begun) -> str:
            return "time" if time.process_time() - begun > SECONDS else ""

        off = [rule.name]
        lineage = explore(bare, (), off, 2, runs=most_runs, stop=stop)
        if lineage.found is None or lineage.size < 1:
            continue
        used = lineage.covered.runs
        budget = min(RANDOM_FACTOR * used, most_runs)
        text = f"{slug(rule):26} {anomaly:24} faults {lineage.size}  lineage {used:5}"
        for engine in ENGINES[1:]:
            drawn = median(explore(bare, (), off, lineage.size, engine, budget, n).covered.runs for n in SEEDS)
            ratios.setdefault((lineage.size, engine), []).append(used / drawn)
            text += f"  {engine} {drawn:6.0f}"
        yield text
    for (size, engine), found in sorted(ratios.items()):
        yield f"{len(found)} rules, {size} faults: median of lineage's runs to those of {engine} {median(found):.2f}"
