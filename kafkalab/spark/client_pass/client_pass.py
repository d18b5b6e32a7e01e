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

from kafkalab.checks.exactly_once import EFFECTS, INPUT, exactly_once
from kafkalab.checks.g0 import g0
from kafkalab.checks.g1c import g1c
from kafkalab.checks.offset_output_split import offset_output_split
from kafkalab.checks.view import END_MS
from kafkalab.history.positions import POSITION
from kafkalab.history.schema import TOO_FEW_IN_SYNC
from kafkalab.spark.client_pass.cycles import SEARCHES, cycles_in, reads_between
from kafkalab.spark.client_pass.early_reads import judge_precommitted, partly_visible, told_aborted
from kafkalab.spark.client_pass.effects import effects, outputs_of, through_of, topics_worked_on
from kafkalab.spark.client_pass.endings import Judged, decisions, hanging, judge_torn, markers
from kafkalab.spark.client_pass.fences import zombies
from kafkalab.spark.client_pass.inputs import commits_of, disagreeing, offset_splits
from kafkalab.spark.client_pass.split import Labels, Split
from kafkalab.spark.per_key_audits.handover import TABLES, Handover
from kafkalab.spark.per_key_audits.key_pass import Files, labels_by_run, rows_where
from kafkalab.spark.per_key_audits.records import gather, read
from kafkalab.spark.storage.findings import COUNTED, counts, rows_of
from kafkalab.spark.storage.places import Place, place_of
from kafkalab.spark.storage.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JUDGES: dict[str, Callable[[Split], Judged]] = {
    "G1a": told_aborted,
    "precommitted-read": judge_precommitted,
    "torn transaction": judge_torn,
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
BY_KEY_PASS, BY_CLIENT_PASS = ("consumers", "times", "logged"), ("makers", "through", "worked")
"""The small tables that are not split and are read with every split of the next pass, by the pass that writes them."""
SHARED = (*BY_KEY_PASS, *BY_CLIENT_PASS, "edges", "pairs")
"""All tables that are not split."""


def client_pass(spark: SparkSession, files: Files, into: Handover, only: Iterable[str]) -> DataFrame:
    """Return findings and counts, rows of COUNTED, of the audits named in `only`, given what the key pass left."""
    gather_all(into, BY_KEY_PASS)
    names = [name for name in NAMES if name in only]
    labels = labels_by_run(files, LABELS)

    def work(number: int) -> Iterator[pa.RecordBatch]:
        split = Split(SplitTables(into.folder, number), partial(rows_where, files), labels)
        rows = rows_of_split(split, names)
        if g1c.name in names:
            rows += with_edges(split, into, number)
        if INPUTS.intersection(names):
            hand_on(split, into, number)
        yield pa.RecordBatch.from_pylist(rows, COUNTED)

    return in_tasks(spark, into.splits.count, work, COUNTED)


def gather_all(into: Handover, names: Iterable[str]) -> None:
    """Put each of these tables into one file."""
    for name in names:
        gather(place_of(into.folder) / name, TABLES[name])


def hand_on(split: Split, into: Handover, number: int) -> None:
    """Write what the pass over inputs needs of a split."""
    outputs, makers = outputs_of(split)
    into.write_for_inputs("commits", commits_of(split), number)
    into.write_for_inputs("outputs", outputs, number)
    into.write_for_all("makers", makers, number)
    into.write_for_all("through", through_of(split), number)
    into.write_for_all("worked", topics_worked_on(outputs), number)


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
    gather_all(into, BY_CLIENT_PASS)
    folder, labels, names = into.folder, labels_by_run(files, LABELS), INPUTS.intersection(only)

    def work(number: int) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist(rows_of_inputs(SplitTables(folder, number), labels, names), COUNTED)

    return in_tasks(spark, into.splits.count, work, COUNTED)


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
    names, folder = [name for name in SEARCHES if name in only], into.folder

    def work(number: int) -> Iterator[pa.RecordBatch]:
        handed = SplitTables(folder, number)
        found = [one for name in names for one in cycles_in(handed["edges"], name)]
        rows = [row for run, finding in found for row in rows_of(run, [finding])]
        if g0.name in names:
            for pair in handed["pairs"].to_pylist():
                rows += counts(g0.name, {pair["run"]: pair["examined"]})
        yield pa.RecordBatch.from_pylist(rows, COUNTED)

    return in_tasks(spark, 1, work, COUNTED)


class SplitTables(Mapping[str, pa.Table]):
    """The tables of a split that the key pass has written to `folder`; each is read when it is first asked for."""

    def __init__(self, folder: Path | Place, number: int) -> None:
        self.folder, self.number = place_of(folder), number
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            self._read[name] = read(self.folder / name, 0 if name in SHARED else self.number, TABLES[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)
