"""The key pass: audits of one key each, for all keys of a bucket in one walk over its files.

Workers read the files themselves, so nothing is shuffled; each holds one bucket at a time. Numpy says what is suspect,
the checks judge that (`kafkalab.spark.per_key_audits.suspects`). For the audits that look at more than one key the pass
writes tables, such as records with their transactions, and reads with their records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.all import BY_NAME
from kafkalab.history.schema import Label
from kafkalab.spark.per_key_audits.arrays import per_run
from kafkalab.spark.per_key_audits.bucket import FAMILIES, ONE_KEY, Bucket
from kafkalab.spark.per_key_audits.files import Tables, columns_for
from kafkalab.spark.per_key_audits.handover import Handover, paths_of
from kafkalab.spark.per_key_audits.log import Labels
from kafkalab.spark.per_key_audits.splits import KEPT
from kafkalab.spark.storage.findings import COUNTED, counts, rows_of
from kafkalab.spark.storage.history_files import BY_KEY, read_list
from kafkalab.spark.storage.places import Where, place_of
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.storage.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_OF_SMALL_BUCKETS = 600_000
"""Buckets are taken together up to this many rows: a worker holds as much of many a single key."""

Files = dict[str, dict[int, list[str]]]
Elsewhere = Callable[[str, tuple[str, ...], pc.Expression], pa.Table]
"""The rows of a whole table for which something is true, with these columns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of a history's files by table and bucket; what is not laid out by key is in bucket 0.

    Buckets with few rows are one, under the number of the largest of them: a bucket writes a file for each split.
    `rows` has the buckets of keys, the one with the most rows first: then the last task to end is a short one.
    `records` is how many records and markers there are, `version` that of the files.
    """

    files: Files
    rows: dict[int, int]
    records: int
    version: int


def layout_of(path: Where) -> Layout:
    """Return the layout of the history at `path`, as its list of files says."""
    version, listed = read_list(path)
    files: Files = {table: {} for table in BY_KEY}
    rows: Counter[int] = Counter()
    for file in listed:
        files.setdefault(file.table, {}).setdefault(file.bucket, []).append((place_of(path) / file.path).text)
        if file.table in BY_KEY:
            rows[file.bucket] += file.rows
    held: Counter[int] = Counter()
    for bucket, many in sorted(rows.items(), key=lambda one: (-one[1], one[0])):
        first = next((one for one, there in held.items() if there + many <= ROWS_OF_SMALL_BUCKETS), bucket)
        held[first] += many
        for of_table in (files[table] for table in BY_KEY if first != bucket):
            of_table[first] = [*of_table.get(first, []), *of_table.pop(bucket, [])]
    return Layout(files, dict(held.most_common()), sum(file.rows for file in listed if file.table == "log"), version)


def key_pass(
    spark: SparkSession, layout: Layout, only: Iterable[str] = ONE_KEY, into: Handover | None = None
) -> DataFrame:
    """Return findings and counts, rows of COUNTED, for the names in `only`.

    With `into` it writes the tables that other audits need, too.
    """
    names = tuple(name for name in ONE_KEY if name in only)
    entries = len(paths_of(layout.files, "transactions")) if into is not None else 0
    tasks = entries + len(layout.rows) if names or into else 0
    return in_tasks(spark, tasks, _worker(layout, labels_by_run(layout.files, ("config",)), names, into), COUNTED)


def labels_by_run(files: Files, names: tuple[str, ...]) -> Labels:
    """Return the labels of these names."""
    found: dict[int, tuple[Label, ...]] = {}
    wanted = pc.field("name").isin(names)
    for row in rows_where(files, "labels", ("run", "name", "value"), wanted).to_pylist():
        found[row["run"]] = (*found.get(row["run"], ()), Label(name=row["name"], value=row["value"]))
    return found


def rows_where(files: Files, table: str, columns: tuple[str, ...], wanted: pc.Expression | None = None) -> pa.Table:
    """Return these columns of the rows of a whole table for which `wanted` is true."""
    import pyarrow.dataset as ds

    schema = arrow_schema(table)
    if not (paths := paths_of(files, table)):
        return pa.schema([schema.field(name) for name in columns]).empty_table()
    opened = [place_of(path).resolve() for path in paths]
    found = ds.dataset([path for _, path in opened], filesystem=opened[0][0], partitioning=None)
    rows: pa.Table = found.to_table(columns=list(columns), filter=wanted, use_threads=False)
    return rows


def _worker(
    layout: Layout, labels: Labels, names: tuple[str, ...], into: Handover | None
) -> Callable[[int], Iterator[pa.RecordBatch]]:
    """Return the function that does the work of a number: first the buckets, then the transaction log's files."""
    files, buckets = layout.files, list(layout.rows)
    entries = paths_of(files, "transactions")

    def work(place: int) -> Iterator[pa.RecordBatch]:
        if place < len(buckets):
            number, columns = buckets[place], columns_for(names, whole=into is not None)
            paths = {table: files[table].get(number, []) for table in BY_KEY}
            tables = Tables({**paths, "calls": paths["operations"]}, columns)
            yield from bucket_rows(tables, labels, names, partial(rows_where, files), into, number)
        elif into is not None:
            into.write_entries(entries[place - len(buckets)], place - len(buckets))

    return work


def bucket_rows(
    tables: Mapping[str, pa.Table],
    labels: Labels,
    names: tuple[str, ...],
    elsewhere: Elsewhere,
    into: Handover | None = None,
    number: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Yield findings and counts of one bucket, rows of COUNTED."""
    read_kept = into.read_kept if into is not None else lambda table: elsewhere(table, *KEPT[table])
    bucket, rows = Bucket(tables, elsewhere, read_kept), []
    for family, suspect in FAMILIES.items():
        if mine := [name for name in family if name in names]:
            found, examined = suspect(bucket, labels)
            for run, view in found:
                rows += [row for name in mine for row in rows_of(run, BY_NAME[name](view).findings)]
            rows += [row for name in mine for row in counts(name, per_run(examined[name]))]
    if into is not None:
        bucket.free()
        into.write_bucket(bucket, number)
    yield pa.RecordBatch.from_pylist(rows, COUNTED)
