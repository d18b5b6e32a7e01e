"""A campaign of random scenarios: what is found, how many a second, and what it has covered.

    python -m tests.benchmarks.campaign --runs 3000 --jobs 2 --save FOLDER

Run `seed` has the scenario `scenario_of(seed)`; a scenario with a finding is saved as FOLDER/seed-SEED.klab.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

from kafkalab.checks.all import check_all
from kafkalab.history.export import history_of
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.profiles import RULE_NAMES
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import ElectLeader
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from tests.benchmarks.coverage import Coverage, rules_noted
from tests.benchmarks.coverage_table import tables
from tests.cells import WATCHED, describe, watching

SCHEDULES, CHUNK = 150, 50
PROFILES = ("4.x/TV2", "4.x/TV1")
UNCLEAN_IN = 10
COUNTERPART_IN, COUNTERPARTS = 5, 4
"""One run in five is made again without a rule that it asked for; four times in a chunk for one rule, until it has
decided once."""


@dataclass(slots=True)
class Part:
    """What a chunk of a campaign found: seed to finding, and its seconds of drawing, simulating and checking."""

    coverage: Coverage = field(default_factory=Coverage)
    found: dict[int, str] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)
    drawing: float = 0.0
    simulating: float = 0.0
    checking: float = 0.0

    @property
    def pace(self) -> float:
        """Scenarios a second and process, drawn, run and checked."""
        return self.coverage.runs / (self.drawing + self.simulating + self.checking)

    def add(self, other: Part) -> None:
        """Add another chunk."""
        self.coverage.add(other.coverage)
        self.found.update(other.found)
        self.expected.update(other.expected)
        self.drawing += other.drawing
        self.simulating += other.simulating
        self.checking += other.checking


def scenario_of(seed: int) -> Scenario:
    """Return the campaign's scenario of a seed: both 4.x profiles in turn, one in ten with unclean elections."""
    return random_scenario(Seeded(seed), PROFILES[seed % 2], unclean=seed % UNCLEAN_IN == 0)


def loses_by_election(scenario: Scenario) -> bool:
    """Whether an unclean election is among the faults: it loses records, so no anomaly is forbidden."""
    return any(isinstance(fault, ElectLeader) and fault.unclean for fault in scenario.faults)


def run_one(seed: int, part: Part) -> Cluster | None:
    """Draw, run, read to the end and check one scenario; note an anomaly or an exception under its seed."""
    began = time.perf_counter()
    scenario = scenario_of(seed)
    drawn = time.perf_counter()
    cluster = Cluster(scenario)
    try:
        cluster.run()
        part.coverage.note(cluster)
        part.simulating += time.perf_counter() - drawn
        ran = time.perf_counter()
        read_to_the_end(cluster)
        violated = ", ".join(check_all(history_of(cluster)).violated)
        part.checking += time.perf_counter() - ran
        if violated and loses_by_election(scenario):
            part.expected[seed] = violated
        elif violated:
            part.found[seed] = violated
    except Exception as error:  # whatever goes wrong is what the campaign looks for
        endless = isinstance(error, RunawayError | StuckError)  # a coordinator that has lost its log may wait for ever
        found = part.expected if endless and loses_by_election(scenario) else part.found
        found[seed] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        cluster.discard()
        return None
    part.drawing += drawn - began
    return cluster


def run_chunk(seeds: range, decided: tuple[str, ...] = ()) -> Part:
    """Run these seeds; look for runs in which a rule decides that is not among `decided`."""
    gc.set_threshold(50_000)
    part = Part()
    wanted = {name: COUNTERPARTS for name in RULE_NAMES if name not in decided}
    with ExitStack() as stack:
        seen = {name: stack.enter_context(watching(table)) for name, table in WATCHED.items()}
        for seed in seeds:
            with rules_noted(asked := type(part.coverage.asked)()):
                cluster = run_one(seed, part)
            part.coverage.asked.update(dict.fromkeys(asked, 1))
            if cluster is not None and wanted and seed % COUNTERPART_IN == 0:
                look_for_a_decider(cluster, list(asked), wanted, seed, part.coverage.decided)
            if cluster is not None:
                cluster.discard()
        for table, cells in seen.items():
            part.coverage.cells.update({(table, describe(cell)): count for cell, count in cells.items()})
    return part


def look_for_a_decider(
    cluster: Cluster, asked: list[str], wanted: dict[str, int], seed: int, decided: dict[str, int]
) -> None:
    """Run once more without one of the rules that were asked for: if the run is another one, the rule has decided."""
    open_ones = [rule for rule in asked if wanted.get(rule) and rule not in cluster.scenario.rules_off]
    if not open_ones:
        return
    rule = open_ones[seed // COUNTERPART_IN % len(open_ones)]
    wanted[rule] -= 1
    other = Cluster(replace(cluster.scenario, rules_off=(*cluster.scenario.rules_off, rule)))
    try:
        other.run()
        read_to_the_end(other)
    except Exception:
        other.close()
    if _steps(other) != _steps(cluster):
        decided[rule] = seed
        wanted[rule] = 0
    other.discard()


def _steps(cluster: Cluster) -> list[tuple[object, ...]]:
    return [(e.at_ms, e.node, e.kind, e.name, e.frame) for e in cluster.trace.events]


def campaign(runs: int = SCHEDULES, jobs: int = 1, first: int = 0) -> Iterator[Part]:
    """Yield the chunks of a campaign of `runs` seeds from `first` on, in `jobs` processes."""
    chunks = [range(at, min(at + CHUNK, first + runs)) for at in range(first, first + runs, CHUNK)]
    decided: dict[str, int] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[Part]] = set()
        while chunks or waiting:
            while chunks and len(waiting) < 2 * jobs:
                waiting.add(pool.submit(run_chunk, chunks.pop(0), tuple(decided)))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                decided.update(part.coverage.decided)
                yield part


def main() -> None:
    """Run a campaign as the command line says; print progress, findings and coverage."""
    parser = argparse.ArgumentParser(description="Run random scenarios with all checks and print what was covered.")
    parser.add_argument("--runs", type=int, default=3_000, help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--save", type=Path, help="a folder for scenarios with findings, and the counts so far")
    options = parser.parse_args()
    whole, began = Part(), time.perf_counter()
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
    for part in campaign(options.runs, options.jobs, options.first):
        whole.add(part)
        done, seconds = whole.coverage.runs, time.perf_counter() - began
        for seed, what in part.found.items():
            print(f"seed {seed}: {what}", flush=True)
            if options.save:
                scenario_of(seed).save(options.save / f"seed-{seed}.klab")
        if done % 500 < CHUNK:
            print(f"{done} runs, {done / seconds:.1f} a second, {len(whole.found)} findings", flush=True)
            if options.save:
                (options.save / "coverage.txt").write_text(tables(whole.coverage) + "\n", encoding="utf-8")
                rows = {"found": whole.found, "after unclean elections": whole.expected}
                (options.save / "found.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(tables(whole.coverage))
    print(f"\nafter unclean elections, as expected: {len(whole.expected)} runs with anomalies")
    print(f"findings: {len(whole.found) or 'none'}")


if __name__ == "__main__":
    main()
