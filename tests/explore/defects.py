"""Seeded defects: mutants of handlers, chosen by a hash, that only a fault brings to light; lineage against random.

`python -m tests.explore defects --count 20` makes the mutants with mutmut in build/defects, takes them in the order of
the hash of their names, and searches the generic programs with each. A mutant that breaks a program without any fault
needs no search; one that breaks none within the budget is passed over.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from hashlib import sha256
from pathlib import Path
from statistics import median

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
TIMEOUT_S = 600


def mutants() -> list[str]:
    """Write the mutated handlers into FOLDER; return the names of all mutants in the order of their hashes."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    shutil.rmtree(FOLDER, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for tree in ("kafkalab", "tests/explore"):
        shutil.copytree(ROOT / tree, FOLDER / tree, ignore=ignored)
    (FOLDER / "pyproject.toml").write_text('[tool.mutmut]\nsource_paths = ["kafkalab"]\n', "utf-8")
    names: list[str] = []
    with chdir(FOLDER):  # mutmut reads its configuration there
        for path in sorted(file for pattern in HANDLERS for file in Path().glob(pattern)):
            made = mutate_file_contents(str(path), path.read_text("utf-8"))
            path.write_text(made.code, "utf-8")
            names += [get_mutant_name(path, name) for name in made.mutant_names]
    return sorted(names, key=lambda name: sha256(name.encode()).digest())


def compared(count: int) -> Iterator[str]:
    """Search with one mutant after the other until `count` were found; a line for each of them, and the median."""
    ratios: list[float] = []
    tried = 0
    for name in mutants():
        if len(ratios) == count:
            break
        tried += 1
        row = _in_a_process(name)
        if row:
            ratios.append(row["lineage"] / row["random"])
            yield f"{name:100} lineage {row['lineage']:4}  random {row['random']:5.0f}  {row['shown']}"
    if ratios:
        yield f"{len(ratios)} defects of {tried} mutants tried: median ratio {median(ratios):.2f}"


def _in_a_process(name: str) -> dict[str, float]:
    """Run `searched` where the package has the mutant; nothing if no search found it, or it ran for too long."""
    environment = {**os.environ, "MUTANT_UNDER_TEST": name, "PYTHONPATH": str(FOLDER)}
    command = [sys.executable, "-W", "ignore", "-m", "tests.explore.defects"]
    try:
        run = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return {}
    row: dict[str, float] = json.loads(run.stdout) if run.returncode == 0 else {}
    return row


def searched() -> dict[str, float | str]:
    """Return how many runs each engine needs to find the mutant that is switched on, nothing if lineage finds none.

    Of `random` it is the median over SEEDS, with at most RANDOM_FACTOR times the runs of lineage; a search that ends
    without a find counts as that many.
    """
    for make in PROGRAMS:
        scenario = make()
        try:
            found = explore(scenario, most_faults=1, runs=LINEAGE_RUNS)
        except ValueError:
            return {}  # broken without any fault
        if found.found is not None:
            budget = RANDOM_FACTOR * found.covered.runs
            drawn = [explore(scenario, (), (), 1, "random", budget, seed).covered.runs for seed in SEEDS]
            return {"lineage": found.covered.runs, "random": median(drawn), "shown": found.findings[0].anomaly}
    return {}


if __name__ == "__main__":
    print(json.dumps(searched()))
