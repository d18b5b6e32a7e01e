"""The client pass: audits of transactions, over the splits that the key pass has written.

Numpy selects what breaks a necessary condition of a rule; the check of `kafkalab.checks` judges that and no more, so
each rule and each sentence is stated there alone. What was examined is counted with numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkalab.checks.exactly_once import EFFECTS, INPUT, POSITION, exactly_once
from kafkalab.checks.g0 import g0
from kafkalab.checks.g1c import g1c
from kafkalab.checks.offset_output_split import offset_output_split
from kafkalab.checks.view import END_MS
from kafkalab.history.schema import TOO_FEW_IN_SYNC
from kafkalab.spark.audits.check import COUNTED, counts, rows_of
from kafkalab.spark.client_pass.cycles import SEARCHES, cycles_in, reads_between
from kafkalab.spark.client_pass.early_reads import partly_visible, precommitted, told_aborted
from kafkalab.spark.client_pass.effects import effects, outputs_of, through_of
from kafkalab.spark.client_pass.endings import Judged, decisions, hanging, markers, torn
from kafkalab.spark.client_pass.fences import zombies
from kafkalab.spark.client_pass.inputs import commits_of, disagreeing, offset_splits
from kafkalab.spark.client_pass.split import Labels, Split
from kafkalab.spark.key_pass import handover
from kafkalab.spark.key_pass.edges import EDGES
from kafkalab.spark.key_pass.files import give_back
from kafkalab.spark.key_pass.handover import Handover
from kafkalab.spark.key_pass.key_pass import Files, labels_by_run, rows_where
from kafkalab.spark.key_pass.records import RECORDS, SEEN, gather, read
from kafkalab.spark.storage.places import Place, place_of
from kafkalab.spark.storage.schemas import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JUDGES: dict[str, Callable[[Split], Judged]] = {
    "G1a": told_aborted,
    "precommitted-read": precommitted,
    "torn transaction": torn,
    "partial visibility": partly_visible,
    "zombie write": zombies,
    "hanging transaction": hanging,
    "marker without decision": markers,
    "decision without marker": decisions,
    offset_output_split.name: disagreeing,
}
"""The anomalies that transactions show, and who selects what may be one. Of G1a: without an ABORT marker."""
NAMES = (*JUDGES, *SEARCHES, exactly_once.name)
"""The audits that need this pass."""
INPUTS = {offset_output_split.name, exactly_once.name}
"""The audits that need the pass over inputs, too."""
LABELS = (END_MS, TOO_FEW_IN_SYNC, EFFECTS, INPUT, POSITION)
SCHEMAS = {
    "records": RECORDS,
    "seen": SEEN,
    "calls": handover.CALLS,
    "entries": arrow_schema("transactions"),
    "taken": SEEN,
    "edges": EDGES,
    "commits": handover.COMMITS,
    "known": handover.KNOWN,
    "reads": handover.TAKEN,
    "moves": handover.MOVES,
    "sent": handover.SENT,
    "polled": handover.POLLED,
    "positions": handover.POSITIONS,
    "outputs": handover.OUTPUTS,
    "makers": handover.MAKERS,
    "through": handover.THROUGH,
    "pairs": handover.PAIRS,
    "consumers": handover.CONSUMERS,
    "times": handover.TIMES,
    "logged": handover.LOGGED,
}
BY_KEY_PASS, BY_CLIENT_PASS = ("consumers", "times", "logged"), ("makers", "through")
"""The small tables that are not split and are read with every split of the next pass, by the pass that writes them."""
SHARED = (*BY_KEY_PASS, *BY_CLIENT_PASS, "edges", "pairs")
"""All tables that are not split."""


def client_pass(spark: SparkSession, files: Files, into: Handover, only: Iterable[str]) -> DataFrame:
    """Return findings and counts, rows of COUNTED, of the audits named in `only`, given what the key pass left."""
    from pyspark.sql.pandas.types import from_arrow_schema

    gather_all(into, BY_KEY_PASS)
    names = [name for name in NAMES if name in only]
    labels = labels_by_run(files, LABELS)
    numbers = spark.range(0, into.splits.count, 1, into.splits.count)
    return numbers.mapInArrow(_worker(files, into, labels, names), from_arrow_schema(COUNTED))


def gather_all(into: Handover, names: Iterable[str]) -> None:
    """Put each of these tables into one file."""
    for name in names:
        gather(place_of(into.folder) / name, SCHEMAS[name])


def hand_on(split: Split, into: Handover, number: int) -> None:
    """Write what the pass over inputs needs of a split."""
    outputs, makers = outputs_of(split)
    into.write_for_inputs("commits", commits_of(split), number)
    into.write_for_inputs("outputs", outputs, number)
    into.write_for_all("makers", makers, number)
    into.write_for_all("through", through_of(split), number)


def _worker(
    files: Files, into: Handover, labels: Labels, names: list[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                split = Split(Handed(into.folder, number), partial(rows_where, files), labels)
                rows = rows_of_split(split, names)
                if g1c.name in names:
                    rows += with_edges(split, into, number)
                if INPUTS.intersection(names):
                    hand_on(split, into, number)
                yield pa.RecordBatch.from_pylist(rows, COUNTED)
                del split
                give_back()

    return work


def rows_of_split(split: Split, names: Iterable[str]) -> list[dict[str, object]]:
    """Return findings and counts of one split, rows of COUNTED."""
    rows: list[dict[str, object]] = []
    for name in names:
        if name in JUDGES:
            found, examined = JUDGES[name](split)
            for run, finding in found:
                rows += rows_of(run, [finding])
            rows += counts(name, examined)
    return rows


def input_pass(spark: SparkSession, files: Files, into: Handover, only: Iterable[str]) -> DataFrame:
    """Return what became of inputs, rows of COUNTED, given what both passes left, by the key of the input."""
    from pyspark.sql.pandas.types import from_arrow_schema

    gather_all(into, BY_CLIENT_PASS)
    folder, labels, names = into.folder, labels_by_run(files, LABELS), INPUTS.intersection(only)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = rows_of_inputs(Handed(folder, number), labels, names)
                yield pa.RecordBatch.from_pylist(rows, COUNTED)
                give_back()

    count = into.splits.count
    return spark.range(0, count, 1, count).mapInArrow(work, from_arrow_schema(COUNTED))


def rows_of_inputs(tables: Mapping[str, pa.Table], labels: Labels, names: Iterable[str]) -> list[dict[str, object]]:
    """Return findings and counts of one split of inputs, rows of COUNTED."""
    rows: list[dict[str, object]] = []
    for name in sorted(names):
        found, examined = effects(tables, labels) if name == exactly_once.name else offset_splits(tables)
        rows += [row for run, finding in found for row in rows_of(run, [finding])]
        rows += counts(name, examined)
    return rows


def with_edges(split: Split, into: Handover, number: int) -> list[dict[str, object]]:
    """Write the edges from who wrote to who read, for the task that looks for cycles; return what was examined."""
    edges, examined = reads_between(split)
    into.write_for_all("edges", edges, number)
    return counts(g1c.name, examined)


def cycle_pass(spark: SparkSession, into: Handover, only: Iterable[str]) -> DataFrame:
    """Return what cycles there are, rows of COUNTED, given what both passes left; one task looks at all edges."""
    from pyspark.sql.pandas.types import from_arrow_schema

    names, folder = [name for name in SEARCHES if name in only], into.folder

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            handed = Handed(folder, 0)
            found = [one for name in names for one in cycles_in(handed["edges"], name)]
            rows = [row for run, finding in found for row in rows_of(run, [finding])]
            if g0.name in names:
                for pair in handed["pairs"].to_pylist():
                    rows += counts(g0.name, {pair["run"]: pair["examined"]})
            yield pa.RecordBatch.from_pylist(rows, COUNTED)

    return spark.range(0, 1, 1, 1).mapInArrow(work, from_arrow_schema(COUNTED))


class Handed(Mapping[str, pa.Table]):
    """The tables of a split that the key pass has written to `folder`; each is read when it is first asked for."""

    def __init__(self, folder: Path | Place, number: int) -> None:
        self.folder, self.number = place_of(folder), number
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            self._read[name] = read(self.folder / name, 0 if name in SHARED else self.number, SCHEMAS[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEMAS)

    def __len__(self) -> int:
        return len(SCHEMAS)
