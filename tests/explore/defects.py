"""Seeded defects: mutants of handlers, chosen by a hash, that only a fault brings to light; lineage against random.

`python -m tests.explore defects --count 20` makes the mutants with mutmut, takes them in the order of the hash of their
names, and searches the generic programs with each, in a forked process in which the mutant's code replaces the
function's. A mutant that breaks a program without any fault needs no search; one that breaks none within the budget is
passed over.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from statistics import median
from types import CodeType, FunctionType
from typing import Any

from kafkalab.explore.programs import two_partition_transactions, two_workers
from kafkalab.explore.search import explore

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "defects"
HANDLERS = (
    "kafkalab/broker/handlers/produce.py", "kafkalab/broker/handlers/end_txn.py",
    "kafkalab/broker/handlers/init_producer_id.py", "kafkalab/broker/handlers/add_partitions_to_txn.py",
    "kafkalab/broker/handlers/write_txn_markers.py", "kafkalab/broker/handlers/txn_offset_commit.py",
    "kafkalab/broker/transaction_coordinator/*.py", "kafkalab/broker/group_coordinator/offsets.py",
    "kafkalab/log/producer_state/*.py",
)  # fmt: skip
"""What is mutated: the handlers of producers' requests, and the state that they change."""
PROGRAMS = (two_partition_transactions, two_workers)
"""At version 2: before it one late marker tears a transaction with every rule on, as in Kafka (KAFKA-17754)."""
LINEAGE_RUNS, RANDOM_FACTOR, SEEDS = 80, 10, (1, 2, 3)
MOST_SECONDS = 120
"""Of CPU for one mutant: one that never comes to an end is passed over."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function of the package, and the code that takes the place of its own."""

    name: str
    module: str
    qualname: str
    code: CodeType


def mutants() -> list[Mutant]:
    """Return all mutants of the handlers in the order of the hashes of their names."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "pyproject.toml").write_text('[tool.mutmut]\nsource_paths = ["kafkalab"]\n', "utf-8")
    found: list[Mutant] = []
    for path in sorted(file for pattern in HANDLERS for file in ROOT.glob(pattern)):
        source = path.read_text("utf-8")
        kept = FOLDER / f"{sha256(source.encode()).hexdigest()[:16]}.txt"
        if not kept.exists():
            with chdir(FOLDER):  # mutmut reads its configuration there
                kept.write_text(mutate_file_contents(str(path.relative_to(ROOT)), source).code, "utf-8")
        found += _mutants_of(".".join(path.relative_to(ROOT).with_suffix("").parts), kept.read_text("utf-8"))
    return sorted(found, key=lambda mutant: sha256(mutant.name.encode()).digest())


def _mutants_of(module: str, code: str) -> list[Mutant]:
    """Run a mutated module beside the real one, and take the code of its mutants."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(code, module, "exec"), names)
    found = []
    for table, functions in names.items():
        if not table.startswith("mutants_x"):
            continue
        mangled = table.removeprefix("mutants_").removesuffix("__mutmut")
        qualname = ".".join(mangled[1:].removeprefix("_").split("ǁ")).strip(".")
        for name, function in functions.items():
            if name != "_mutmut_orig" and isinstance(function, FunctionType):
                found.append(Mutant(f"{module}.{name}", module, qualname, function.__code__))
    return found


def switch_on(mutant: Mutant) -> bool:
    """Give the function its mutant's code, in this process; False for one that cannot have it."""
    function = _function(mutant)
    if not isinstance(function, FunctionType) or function.__code__.co_freevars != mutant.code.co_freevars:
        return False
    function.__code__ = mutant.code
    return True


def _function(mutant: Mutant) -> Any:
    found: Any = import_module(mutant.module)
    for part in mutant.qualname.split("."):
        found = getattr(found, part)
    return found


def compared(count: int) -> Iterator[str]:
    """Search with one mutant after the other until `count` were found; a line for each of them, and the medians."""
    ratios: list[float] = []
    lineage: list[int] = []
    drawn: list[float] = []
    tried = broken = 0
    for mutant in mutants():
        if len(ratios) == count:
            break
        tried += 1
        row = _in_a_process(mutant)
        broken += bool(row.get("broken"))
        if "lineage" in row:
            lineage.append(row["lineage"])
            drawn.append(row["random"])
            ratios.append(row["lineage"] / row["random"])
            yield (
                f"{_short(mutant.name):60} lineage {row['lineage']:3}  random {row['random']:4.0f}  "
                f"{row['shown']}, by {row['kind']}"
            )
    if ratios:
        yield (
            f"{len(ratios)} defects of {tried} mutants tried ({broken} break a program without any fault): median "
            f"lineage {median(lineage):.0f}, random {median(drawn):.0f} runs; median of the ratios {median(ratios):.2f}"
        )


def _short(name: str) -> str:
    return name.removeprefix("kafkalab.").replace("x_", "", 1).replace("__mutmut_", " ")


def _in_a_process(mutant: Mutant) -> dict[str, Any]:
    """Run `searched` in a forked process that has the mutant; nothing if no search found it, or it ran for too long."""
    reads, writes = os.pipe()
    gc.freeze()
    child = os.fork()
    if not child:
        try:
            os.close(reads)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            row = searched() if switch_on(mutant) else {}
            os.write(writes, json.dumps(row).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def searched() -> dict[str, float | str]:
    """Return how many runs each engine needs to find the mutant that is switched on, nothing if lineage finds none.

    Of `random` it is the median over SEEDS, with at most RANDOM_FACTOR times the runs of lineage; a search that ends
    without a find counts as that many.
    """
    for make in PROGRAMS:
        scenario = make()
        try:
            found = explore(scenario, most_faults=1, runs=LINEAGE_RUNS)
        except Exception:
            return {"broken": 1}  # without any fault
        if found.found is not None:
            budget = RANDOM_FACTOR * found.covered.runs
            drawn = [explore(scenario, (), (), 1, "random", budget, seed).covered.runs for seed in SEEDS]
            shown, kind = found.findings[0].anomaly, found.mishaps[0].kind if found.mishaps else "nothing"
            return {"lineage": found.covered.runs, "random": median(drawn), "shown": shown, "kind": kind}
    return {}


if __name__ == "__main__":
    for line in compared(int(sys.argv[1])):
        print(line, flush=True)
