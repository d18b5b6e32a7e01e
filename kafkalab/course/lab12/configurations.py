"""The configurations whose guarantee lab 12 computes, and what became of their inputs, without Spark.

The grader simulates runs here and counts what their final readers got: what a learner's DataFrames must find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalab.grading.remote_query import inputs
from kafkalab.history.history import History
from kafkalab.programs.copying import INPUT, OUTPUT, TRANSACTIONS
from kafkalab.protocol.partitions import topic_of
from kafkalab.spark.simulation.runs import COMMITTED, Runs, history_of_seed

RULE_OFF = "duplicates are recognised by producer id and sequence"
CONFIGURATIONS: dict[str, dict[str, str]] = {
    "acks=1": {"clients": "acks=1"},
    "idempotent": {"clients": "idempotent"},
    "transactions": {"clients": TRANSACTIONS},
    "old client": {"clients": TRANSACTIONS, "profile": "4.x/TV1"},
    "one rule off": {"clients": TRANSACTIONS, "rules_off": RULE_OFF},
}
"""The arguments of `simulate_histories` for each: a client of protocol 1 is an old one, on a cluster of level 2."""
LEVELS = ("read_committed", "read_uncommitted")
FATES = ("lost", "once", "more", "unfinished")
READER = "final-"
"""The prefix of the names of nodes that read everything at the end of a run."""


class Input(NamedTuple):
    """A record that was to be copied; no two of a run have the same value."""

    configuration: str
    run: int
    key: str
    offset: int
    value: str


class Read(NamedTuple):
    """A copy that the final reader with this isolation level got."""

    configuration: str
    run: int
    isolation_level: str
    value: str


class Position(NamedTuple):
    """The group's position in an input at the end of a run: it goes on reading at `committed`."""

    configuration: str
    run: int
    key: str
    committed: int


class Fates(NamedTuple):
    """The number of inputs of a run by their fate, for a reader with this isolation level."""

    configuration: str
    isolation_level: str
    run: int
    lost: int
    once: int
    more: int
    unfinished: int


class CopyTables(NamedTuple):
    """The tables of some runs."""

    inputs: tuple[Input, ...]
    reads: tuple[Read, ...]
    positions: tuple[Position, ...]


def runs_of(configuration: str, seeds: str) -> Runs:
    """Return the simulations of a configuration, as `simulate_histories` takes it."""
    return Runs.of(seeds, **CONFIGURATIONS[configuration])


@cache
def simulate_copies(seeds: str) -> CopyTables:
    """Simulate these seeds in every configuration; return the tables that `guarantee.tables_of` makes of them."""
    made = [
        _tables_of(name, seed, history_of_seed(runs, seed))
        for name in CONFIGURATIONS
        for runs in (runs_of(name, seeds),)
        for seed in runs.seeds
    ]
    return CopyTables(
        tuple(row for one in made for row in one.inputs),
        tuple(row for one in made for row in one.reads),
        tuple(row for one in made for row in one.positions),
    )


def _tables_of(name: str, run: int, history: History) -> CopyTables:
    return CopyTables(
        tuple(Input(name, run, r.key, r.offset, r.value or "") for r in history.log if topic_of(r.key) == INPUT),
        tuple(
            Read(name, run, r.isolation_level, r.value or "")
            for r in history.reads
            if r.process.startswith(READER) and topic_of(r.key) == OUTPUT
        ),
        tuple(
            Position(name, run, key, int(offset))
            for key, _, offset in (value.rpartition("@") for value in history.label(COMMITTED))
        ),
    )


def fates_of(tables: CopyTables) -> list[Fates]:
    """Count the fates of each run's inputs.

    An input without a copy is lost if the group has committed an offset after it, else the run ended first.
    """
    copies = Counter((r.configuration, r.isolation_level, r.run, r.value) for r in tables.reads)
    committed = {(p.configuration, p.run, p.key): p.committed for p in tables.positions}
    found: dict[tuple[str, str, int], Counter[str]] = {}
    for row, level in ((row, level) for row in tables.inputs for level in LEVELS):
        number = copies[row.configuration, level, row.run, row.value]
        passed = committed.get((row.configuration, row.run, row.key), -1) > row.offset
        fate = "more" if number > 1 else "once" if number else "lost" if passed else "unfinished"
        found.setdefault((row.configuration, level, row.run), Counter())[fate] += 1
    return [Fates(*place, *(counts[fate] for fate in FATES)) for place, counts in sorted(found.items())]


def folder_of(seeds: str) -> str:
    """Write the tables of these seeds as Parquet, once; return the name of their folder in `inputs()`."""
    return _write_tables(inputs(), seeds)


@cache
def _write_tables(there: Path, seeds: str) -> str:
    folder = Path(mkdtemp(prefix="copied-", dir=there))
    folder.chmod(0o755)
    for name, rows in zip(CopyTables._fields, simulate_copies(seeds), strict=True):
        pq.write_table(pa.table(dict(_columns(rows))), folder / f"{name}.parquet")
    return folder.name


def _columns(rows: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    for place, column in enumerate(rows[0]._fields):
        yield column, [row[place] for row in rows]
