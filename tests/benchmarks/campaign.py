"""A campaign of random scenarios: what is found, how many a second, and what it has covered.

    python -m tests.benchmarks.campaign --runs 3000 --jobs 2 --save FOLDER

Run `seed` has the scenario `scenario_of(seed)`; a scenario with a finding is saved as FOLDER/seed-SEED.klab. With
`--variants 3` each scenario runs three times, with other delays of the network: drawing takes half of a run's time.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

from kafkalab.checks.all import check_all
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop, Late, Reorder
from kafkalab.faults.link import Cut, Throttle
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.request import DECIDING, CrashAt, RespondWith, api_of
from kafkalab.faults.window import Stall
from kafkalab.history.export import history_of
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.profiles import RULE_NAMES
from kafkalab.protocol.windows import WINDOWS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from tests.benchmarks.coverage import Coverage, rules_noted
from tests.benchmarks.coverage_table import tables
from tests.cells import WATCHED, describe, watching

SCHEDULES, CHUNK = 150, 50
PROFILES = ("4.x/TV2", "4.x/TV1")
UNCLEAN_IN = 10
DOWN_MS = 3_000
"""How long a broker is away that crashes at a request."""
STALLED_MS = 300
"""The time for which a thread of a broker stands still in a window."""
COUNTERPART_IN, COUNTERPARTS = 5, 4
"""One scenario in five is run again without a rule that it asked for; four times in a chunk for one rule, until it has
decided once."""
MOST_COUNTERPARTS = 1_000
"""In a long campaign fewer scenarios than one in five are run again: about so many in all."""
VARIANT = 1_000
"""The number that a variant adds to the seed of the network's delays, which is drawn from 1 to 1,000."""


@dataclass(slots=True)
class Part:
    """The findings of a chunk of a campaign: run to finding, and its seconds of drawing, simulating and checking."""

    coverage: Coverage = field(default_factory=Coverage)
    found: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)
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


def crash_instead(fault: Fault) -> Fault:
    """Return a crash of the broker at the request that would be dropped; any other fault as it is."""
    if not isinstance(fault, Drop) or not CrashAt.fits(fault.frame):
        return fault
    return CrashAt(fault.frame, down_ms=DOWN_MS)


def respond_instead(fault: Fault) -> Fault:
    """Return a retriable error for the request that would be dropped; any other fault as it is."""
    if not isinstance(fault, Drop) or api_of(fault.frame) not in DECIDING or not RespondWith.fits(fault.frame):
        return fault
    error = "NOT_LEADER_OR_FOLLOWER" if fault.frame.startswith("Produce") else "COORDINATOR_NOT_AVAILABLE"
    return RespondWith(fault.frame, error)


def stall_instead(fault: Fault) -> Fault:
    """Return a stall in a window, in the request with the number of the frame that would be lost; any other as it is.

    Random scenarios strike a Fetch, which the window is in, three times in a thousand.
    """
    if not isinstance(fault, Drop):
        return fault
    number = fault.frame.rpartition("#")[2]
    window = list(WINDOWS.values())[int(number) % len(WINDOWS)]
    return Stall(f"{window.api}#{number}", window.name, STALLED_MS)


INSTEAD: dict[int, Callable[[Fault], Fault]] = {
    2: lambda fault: Late(fault.frame, fault.after) if isinstance(fault, Reorder) else fault,
    5: lambda fault: Throttle(fault.a, fault.b, at_ms=fault.at_ms) if isinstance(fault, Cut) else fault,
    6: crash_instead,
    8: respond_instead,
    9: stall_instead,
}
"""By the last digit of a seed, which fault takes the place of one that random scenarios draw. They draw no others,
since what a seed means there must not change."""


def scenario_of(seed: int) -> Scenario:
    """Return the campaign's scenario of a seed: both 4.x profiles in turn, one in ten with unclean elections."""
    scenario = random_scenario(Seeded(seed), PROFILES[seed % 2], unclean=seed % UNCLEAN_IN == 0)
    instead = INSTEAD.get(seed % 10)
    return replace(scenario, faults=tuple(map(instead, scenario.faults))) if instead else scenario


def name_of(seed: int, variant: int) -> str:
    """Return the name of a run: its seed, and from the second variant on the variant's number."""
    return f"{seed}-{variant}" if variant else str(seed)


def loses_by_election(scenario: Scenario) -> bool:
    """Return True if an unclean election is among the faults: it loses records, so no anomaly is forbidden."""
    return any(isinstance(fault, ElectLeader) and fault.unclean for fault in scenario.faults)


def run_one(scenario: Scenario, name: str, part: Part) -> Cluster | None:
    """Run, read to the end and check one scenario; note an anomaly or an exception under its name."""
    began = time.perf_counter()
    cluster = Cluster(scenario)
    try:
        cluster.run()
        part.coverage.note(cluster)
        ran = time.perf_counter()
        part.simulating += ran - began
        read_to_the_end(cluster)
        violated = ", ".join(check_all(history_of(cluster)).violated)
        part.checking += time.perf_counter() - ran
        if violated and loses_by_election(scenario):
            part.expected[name] = violated
        elif violated:
            part.found[name] = violated
    except Exception as error:  # whatever goes wrong is what the campaign looks for
        endless = isinstance(error, RunawayError | StuckError)  # a coordinator that has lost its log may wait for ever
        found = part.expected if endless and loses_by_election(scenario) else part.found
        found[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        cluster.discard()
        return None
    return cluster


def run_chunk(
    seeds: range, decided: tuple[str, ...] = (), variants: int = 1, counterpart_in: int = COUNTERPART_IN
) -> Part:
    """Run these seeds; look for runs in which a rule decides that is not among `decided`."""
    gc.set_threshold(50_000)
    part = Part()
    wanted = {name: COUNTERPARTS for name in RULE_NAMES if name not in decided}
    with ExitStack() as stack:
        seen = {name: stack.enter_context(watching(table)) for name, table in WATCHED.items()}
        for seed in seeds:
            began = time.perf_counter()
            scenario = scenario_of(seed)
            part.drawing += time.perf_counter() - began
            for variant in range(variants):
                other = replace(scenario, seed=scenario.seed + variant * VARIANT)
                with rules_noted(asked := type(part.coverage.asked)()):
                    cluster = run_one(other, name_of(seed, variant), part)
                part.coverage.asked.update(dict.fromkeys(asked, 1))
                if cluster is None:
                    continue
                if wanted and variant == 0 and seed % counterpart_in == 0:
                    look_for_a_decider(cluster, list(asked), wanted, seed, part.coverage.decided)
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


def campaign(runs: int = SCHEDULES, jobs: int = 1, first: int = 0, variants: int = 1) -> Iterator[Part]:
    """Yield the chunks of a campaign of at least `runs` runs, of seeds from `first` on, in `jobs` processes."""
    seeds = -(-runs // variants)
    counterpart_in = max(COUNTERPART_IN, seeds // MOST_COUNTERPARTS)
    chunks = [range(at, min(at + CHUNK, first + seeds)) for at in range(first, first + seeds, CHUNK)]
    decided: dict[str, int] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[Part]] = set()
        while chunks or waiting:
            while chunks and len(waiting) < 2 * jobs:
                waiting.add(pool.submit(run_chunk, chunks.pop(0), tuple(decided), variants, counterpart_in))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                decided.update(part.coverage.decided)
                yield part


def main() -> None:
    """Run a campaign as the command line says; print progress, findings and coverage."""
    parser = argparse.ArgumentParser(description="Run random scenarios with all checks and print what was covered.")
    parser.add_argument("--runs", type=int, default=3_000, help="how many runs")
    parser.add_argument("--variants", type=int, default=1, help="how many runs of each scenario, with other delays")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--save", type=Path, help="a folder for scenarios with findings, and the counts so far")
    options = parser.parse_args()
    whole, began, told = Part(), time.perf_counter(), 0
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
    for part in campaign(options.runs, options.jobs, options.first, options.variants):
        whole.add(part)
        done, seconds = whole.coverage.runs, time.perf_counter() - began
        for name, what in part.found.items():
            print(f"seed {name}: {what}", flush=True)
            if options.save:
                seed, _, variant = name.partition("-")
                scenario = scenario_of(int(seed))
                other = replace(scenario, seed=scenario.seed + int(variant or 0) * VARIANT)
                other.save(options.save / f"seed-{name}.klab")
        if done // 500 > told:
            told = done // 500
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
