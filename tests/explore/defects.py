"""Seeded defects: mutants of handlers, chosen by a hash, that only a fault brings to light; lineage against random.

`python -m tests.explore defects --count 20` makes the mutants with mutmut, takes them in the order of the hash of their
names, and searches the generic programs with each, in a forked process in which the mutant's code replaces the
function's. Passed over are mutants of lines that no run executes, that break a program without any fault, or that no
engine finds within the budget.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from inspect import getblock
from itertools import zip_longest
from pathlib import Path
from statistics import median
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeAlias

from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.experiment import Job, Trial, attempt
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.programs import two_partition_transactions, two_workers
from kafkalab.explore.search import explore
from kafkalab.explore.small_programs import (
    idempotent_produce_in_small,
    next_transaction_in_small,
    processors_in_small,
    two_brokers_in_small,
)
from kafkalab.sim.scenario import Scenario

Futures: TypeAlias = list[str]
"""The futures of a search's runs, in their order: see `kafkalab.explore.lineage.future_of`."""

Lines: TypeAlias = dict[tuple[str, int], None]
"""Files and lines of code."""

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "defects"
HANDLERS = (
    "kafkalab/broker/handlers/*.py", "kafkalab/broker/transaction_coordinator/*.py",
    "kafkalab/broker/group_coordinator/*.py", "kafkalab/broker/*.py", "kafkalab/log/*.py",
    "kafkalab/log/producer_state/*.py", "kafkalab/client/transaction_manager/*.py", "kafkalab/client/producer/*.py",
    "kafkalab/client/consumer/*.py",
)  # fmt: skip
"""The modules that are mutated: all that brokers and clients do, and the state that they change."""
PROGRAMS = (
    two_partition_transactions, two_workers, two_brokers_in_small, processors_in_small, next_transaction_in_small,
    idempotent_produce_in_small,
)  # fmt: skip
"""At version 2: before it one late marker tears a transaction with every rule on, as in Kafka (KAFKA-17754)."""
KNOWN = (
    "broker.handlers.init_producer_id.x_handle__mutmut_55", "broker.handlers.init_producer_id.x_handle__mutmut_69",
    "broker.transaction_coordinator.loading.x_load_transactions__mutmut_5",
    "broker.transaction_coordinator.decision.x_abort_fenced__mutmut_45",
    "broker.transaction_coordinator.guards.x__end_v2__mutmut_2",
    "broker.transaction_coordinator.guards.x_end_version__mutmut_6",
    "log.producer_state.append.x__marker_epoch_fits__mutmut_15",
    "log.producer_state.state.xǁProducerStatesǁ_end_transaction__mutmut_7",
    "broker.controller.xǁControllerǁ_alter__mutmut_21", "broker.in_sync_sets.xǁInSyncSetsǁ_alter__mutmut_46",
    "broker.effects.x_all_of__mutmut_1", "broker.state.xǁBrokerStateǁunpark__mutmut_5",
    "broker.in_sync_sets.xǁInSyncSetsǁmaybe_expand__mutmut_35",
    "broker.transaction_coordinator.markers.x__entry__mutmut_7",
    "broker.handlers.produce.x__append_one__mutmut_11", "log.producer_state.append.x__leader_error__mutmut_9",
    "log.producer_state.append.x_marker_error__mutmut_6",
    "log.producer_state.entry.xǁProducerEntryǁremember__mutmut_11",
    "log.producer_state.snapshot.x__unpack__mutmut_14", "log.producer_state.snapshot.x_encode__mutmut_13",
    "log.producer_state.state.xǁProducerStatesǁanalyze__mutmut_11",
)  # fmt: skip
"""Mutants that earlier campaigns found, in the numbering of mutmut: one a function, but for two of `handle`."""
USED = KNOWN[:3] + KNOWN[4:9]
"""Those that the order of trying was chosen with."""
RUNS, RANDOM_FACTOR, SEEDS = 150, 20, (1, 2, 3)
DRAWING = ("random", "informed")
TRACED = 40
"""The number of runs of a program that tell which lines are run."""
PACKAGE = "/kafkalab/"
MOST_SECONDS = 120
"""Of CPU for one mutant: one that never comes to an end is passed over."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function of the package, and the code that takes the place of its own."""

    name: str
    module: str
    qualname: str
    code: CodeType
    line: int
    """The line of the real module that it changes; 0 if that is not known."""

    def is_run(self, lines: Lines) -> bool:
        """Return True if the line that it changes, or one right before, is among those."""
        file = str(ROOT / self.module.replace(".", "/")) + ".py"
        return not self.line or any((file, self.line - back) in lines for back in range(3))


def mutants() -> list[Mutant]:
    """Return all mutants: one of each file in turn, those of a file in the order of the hashes of their names."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "pyproject.toml").write_text('[tool.mutmut]\nsource_paths = ["kafkalab"]\n', "utf-8")
    found: dict[str, list[Mutant]] = {}
    for path in sorted(file for pattern in HANDLERS for file in ROOT.glob(pattern)):
        source = path.read_text("utf-8")
        kept = FOLDER / f"{sha256(source.encode()).hexdigest()[:16]}.txt"
        if not kept.exists():
            with chdir(FOLDER):  # mutmut reads its configuration there
                kept.write_text(mutate_file_contents(str(path.relative_to(ROOT)), source).code, "utf-8")
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[module] = sorted(_mutants_of(module, kept.read_text("utf-8")), key=lambda mutant: _hash(mutant.name))
    turns = zip_longest(*(found[module] for module in sorted(found, key=_hash)))
    return [mutant for turn in turns for mutant in turn if mutant is not None]


def _hash(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _mutants_of(module: str, code: str) -> list[Mutant]:
    """Run a mutated module beside the real one, and take the code of its mutants."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(code, module, "exec"), names)
    found, lines = [], code.splitlines(keepends=True)
    for table, functions in names.items():
        if not table.startswith("mutants_x"):
            continue
        mangled = table.removeprefix("mutants_").removesuffix("__mutmut")
        qualname = ".".join(mangled[1:].removeprefix("_").split("ǁ")).strip(".")
        real, was = _function(module, qualname), functions["_mutmut_orig"]
        for name, function in functions.items():
            if name != "_mutmut_orig" and isinstance(function, FunctionType):
                line = _changed_line(lines, was.__code__, function.__code__, getattr(real, "__code__", None))
                found.append(Mutant(f"{module}.{name}", module, qualname, function.__code__, line))
    return found


def _changed_line(lines: list[str], was: CodeType, now: CodeType, real: CodeType | None) -> int:
    """Return the line of the real function that the mutant changes first, 0 for one that cannot be said."""
    if real is None:
        return 0
    one, two = (getblock(lines[code.co_firstlineno - 1 :]) for code in (was, now))
    first = next((number for number, (a, b) in enumerate(zip(one[1:], two[1:], strict=False), 1) if a != b), 0)
    return real.co_firstlineno + first if first else 0


def lines_run(scenarios: list[Scenario]) -> Lines:
    """Return the file and line of all code of kafkalab that runs without a fault and some with one execute."""
    found: Lines = {}
    for scenario in scenarios:
        base = Job(scenario=scenario, find=parse_names(()), kinds=KINDS)
        follow = attempt(base).follow
        struck = [replace(base, sequences=(one,), kinds=()) for one in follow[:: max(len(follow) // TRACED, 1)]]
        _trace([replace(base, kinds=()), *struck], found)
    return found


def _trace(jobs: list[Job], found: Lines) -> None:
    """Make the runs, and note which lines they execute."""

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if PACKAGE not in frame.f_code.co_filename:
            return None
        found[frame.f_code.co_filename, frame.f_lineno] = None
        return line

    sys.settrace(line)
    for job in jobs:
        attempt(job)
    sys.settrace(None)


def switch_on(mutant: Mutant) -> bool:
    """Give the function its mutant's code, in this process; False for one that cannot have it."""
    function = _function(mutant.module, mutant.qualname)
    if not isinstance(function, FunctionType) or function.__code__.co_freevars != mutant.code.co_freevars:
        return False
    function.__code__ = mutant.code
    return True


def _function(module: str, qualname: str) -> Any:
    found: Any = import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def search_known() -> Iterator[str]:
    """Search with each known mutant; a line for each, "used" if the order was chosen with it, and the medians."""
    rows: list[dict[str, Any]] = []
    usual = [_futures(make()) for make in PROGRAMS]
    for mutant in mutants():
        name = mutant.name.removeprefix("kafkalab.")
        if name in KNOWN:
            row = _in_a_process(mutant, usual)
            rows += [row] if "lineage" in row else []
            yield _line(mutant, row) + (", used" if name in USED else "") if "lineage" in row else f"{name}: {row}"
    yield from _medians(rows)


def compare(count: int, seconds: float = 3_600) -> Iterator[str]:
    """Search with one mutant after the other until `count` were found, or `seconds` are over; a line for each of them,
    what became of the others, and the medians. Functions of known ones are passed over.
    """
    end = time.monotonic() + seconds
    found = mutants()
    known = {(m.module, m.qualname): None for m in found if m.name.removeprefix("kafkalab.") in KNOWN}
    rows: list[dict[str, Any]] = []
    ends: Counter[str] = Counter()
    usual, run = [_futures(make()) for make in PROGRAMS], lines_run([make() for make in PROGRAMS])
    for mutant in found:
        if len(rows) == count or time.monotonic() > end:
            break
        if (mutant.module, mutant.qualname) in known:
            ends["are of functions of known ones"] += 1
            continue
        if not mutant.is_run(run):
            ends["change code that is not run"] += 1
            continue
        row = _in_a_process(mutant, usual)
        ends[row.get("end", "was stopped")] += 1
        if "lineage" in row:
            rows.append(row)
            yield _line(mutant, row)
    yield ", ".join(f"{number} {end}" for end, number in sorted(ends.items()))
    yield from _medians(rows)


def _line(mutant: Mutant, row: dict[str, Any]) -> str:
    runs = f"lineage {row['lineage']:3}  random {row['random']:5.0f}  informed {row['informed']:4.0f}"
    return f"{_short(mutant.name):60} {runs}  {row['shown']}, by {row['kind']}"


def _medians(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield f"{len(rows)} defects: lineage needs {median(row['lineage'] for row in rows):.0f} runs in the median"
    for engine in DRAWING:
        drawn, ratio = median(row[engine] for row in rows), median(row["lineage"] / row[engine] for row in rows)
        yield f"{engine} needs {drawn:.0f}; median of lineage's runs to those {ratio:.2f}"


def _short(name: str) -> str:
    return name.removeprefix("kafkalab.").replace("x_", "", 1).replace("__mutmut_", " ")


def _in_a_process(mutant: Mutant, usual: list[Futures]) -> dict[str, Any]:
    """Run `searched` in a forked process that has the mutant; nothing if it ran for too long."""
    reads, writes = os.pipe()
    gc.freeze()
    child = os.fork()
    if not child:
        try:
            os.close(reads)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            row = search_each(usual) if switch_on(mutant) else {"end": "cannot be switched on"}
            os.write(writes, json.dumps(row).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def search_each(usual: list[Futures]) -> dict[str, float | str]:
    """Return how many runs each engine needs to find the mutant that is switched on.

    A mutant with which no run of lineage is another one than `usual` is passed over, and one that no engine finds in
    RUNS, with the first seed. Of those that draw it is the median over SEEDS, each with at most RANDOM_FACTOR times the
    runs of lineage. An engine that finds nothing counts with its budget.
    """
    for make, expected in zip(PROGRAMS, usual, strict=True):
        scenario, noted = make(), _Noted()
        try:
            found = explore(scenario, most_faults=1, runs=RUNS, mapper=noted)
        except Exception:
            return {"end": "break a program without any fault"}
        if noted.futures == expected:
            continue
        budget = RANDOM_FACTOR * found.covered.runs if found.found is not None else RUNS
        first = {engine: explore(scenario, (), (), 1, engine, budget, SEEDS[0]) for engine in DRAWING}
        shown = next((one for one in (found, *first.values()) if one.found is not None), None)
        if shown is not None:
            row: dict[str, float | str] = {"end": "found", "lineage": found.covered.runs}
            for engine, one in first.items():
                more = [explore(scenario, (), (), 1, engine, budget, seed).covered.runs for seed in SEEDS[1:]]
                row[engine] = median([one.covered.runs, *more])
            kind = shown.sequences[0].kind if shown.sequences else "nothing"
            return {**row, "shown": shown.findings[0].anomaly, "kind": kind}
    return {"end": "show in no search"}


class _Noted:
    """Makes the runs of a search, and takes note of their futures."""

    def __init__(self) -> None:
        self.futures: Futures = []

    def __call__(self, function: Callable[[Job], Trial], jobs: list[Job]) -> Iterator[Trial]:
        """Make the runs one after the other."""
        for job in jobs:
            trial = function(job)
            self.futures.append(trial.future)
            yield trial


def _futures(scenario: Scenario) -> Futures:
    """The futures of the first runs of a search without any mutant."""
    noted = _Noted()
    explore(scenario, most_faults=1, runs=RUNS, mapper=noted)
    return noted.futures


if __name__ == "__main__":
    for line in compare(int(sys.argv[1])):
        print(line, flush=True)
