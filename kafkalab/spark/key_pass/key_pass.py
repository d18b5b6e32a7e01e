"""The key pass: fourteen audits of one key each, for all keys of a bucket in one walk over its files with numpy.

Workers read the files themselves, so nothing is shuffled; each holds one bucket at a time. For the audits that look at
more than one key the pass writes two tables: records with their transactions, and reads with their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.sequence_gap import EXPIRATION, IMPLICIT_ADD
from kafkalab.spark.audits.check import FIELDS
from kafkalab.spark.key_pass.acknowledgements import MAYBE
from kafkalab.spark.key_pass.bucket import Bucket
from kafkalab.spark.key_pass.files import Tables, columns_for, give_back
from kafkalab.spark.key_pass.handover import Handover, paths_of
from kafkalab.spark.key_pass.log import FIRST
from kafkalab.spark.storage.history_files import BY_KEY, bucket_in, in_buckets, read_list
from kafkalab.spark.storage.places import Where, place_of
from kafkalab.spark.storage.schemas import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE_KEY = (
    "inconsistent-offsets",
    "G1a",
    "lost-write",
    "unseen",
    "duplicate",
    "poll-skip",
    "int-poll-skip",
    "nonmonotonic-poll",
    "int-nonmonotonic-poll",
    "nonmonotonic-send",
    "int-nonmonotonic-send",
    "int-send-skip",
    "sequence gap",
    "LSO regression",
)
"""The anomalies that one key's own rows show: those that the pass finds."""

SCHEMA = (
    "anomaly string, run bigint, key string, offsets array<bigint>, steps array<bigint>, text string, policy string, "
    "kind string, client string, number bigint, sent array<bigint>, examined bigint"
)
_ARROW = {"string": pa.string(), "bigint": pa.int64(), "array<bigint>": pa.list_(pa.int64())}
ARROW_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in (field.split(" ") for field in SCHEMA.split(", "))])
"""The same for Arrow."""
Files = dict[str, dict[int, list[str]]]
Elsewhere = Callable[[str, tuple[str, ...], pc.Expression], pa.Table]
"""The rows of a whole table for which something is true, with these columns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of a history's files by table and bucket; what is not laid out by key is in bucket 0.

    `buckets` are those of keys, the one with the most rows first: then the last task to end is a short one. `records`
    is how many records and markers there are.
    """

    files: Files
    buckets: list[int]
    records: int


def layout_of(path: Where) -> Layout:
    """Return the layout of the history at `path`, as its list of files says."""
    _, listed = read_list(path)
    files: Files = {table: in_buckets(path, listed, table) for table in BY_KEY}
    rows: dict[int, int] = {}
    for file in listed:
        if file.table in BY_KEY:
            rows[bucket_in(file.path)] = rows.get(bucket_in(file.path), 0) + file.rows
        else:
            files.setdefault(file.table, {0: []})[0].append((place_of(path) / file.path).text)
    buckets = sorted(rows, key=lambda number: (-rows[number], number))
    return Layout(files, buckets, sum(file.rows for file in listed if file.table == "log"))


def key_pass(
    spark: SparkSession, layout: Layout, only: Iterable[str] = ONE_KEY, into: Handover | None = None
) -> DataFrame:
    """Return the rows of SCHEMA that the pass gives, for the names in `only`.

    With `into` it writes the tables that other audits need, too.
    """
    names = tuple(name for name in ONE_KEY if name in only)
    entries = len(paths_of(layout.files, "transactions")) if into is not None else 0
    tasks = entries + len(layout.buckets)
    if not tasks or not (names or into):
        return spark.createDataFrame([], SCHEMA)
    numbers = spark.range(0, tasks, 1, tasks)
    return numbers.mapInArrow(_worker(layout, _expirations(layout.files), names, into), SCHEMA)


def _expirations(files: Files) -> dict[int, int]:
    """producer.id.expiration.ms of the runs whose labels say it."""
    config = sorted((run, value) for run, value in labels_of(files, "config") if value.startswith(EXPIRATION))
    return {run: int(value.removeprefix(EXPIRATION)) for run, value in config}


def labels_of(files: Files, name: str) -> list[tuple[int, str]]:
    """Return run and value of all labels of a name."""
    labels = rows_where(files, "labels", ("run", "value"), pc.field("name") == name)
    return list(zip(labels.column("run").to_pylist(), labels.column("value").to_pylist(), strict=True))


def rows_where(files: Files, table: str, columns: tuple[str, ...], wanted: pc.Expression | None = None) -> pa.Table:
    """Return these columns of the rows of a whole table for which `wanted` is true."""
    import pyarrow.dataset as ds

    schema = arrow_schema(table)
    if not (paths := paths_of(files, table)):
        return pa.schema([schema.field(name) for name in columns]).empty_table()
    opened = [place_of(path).opened() for path in paths]
    found = ds.dataset([path for _, path in opened], filesystem=opened[0][0], partitioning=None)
    return found.to_table(columns=list(columns), filter=wanted, use_threads=False)


def findings(rows: DataFrame) -> DataFrame:
    """Return the findings and counts in the rows of the pass: the columns of FIELDS, and `examined` in counts' rows."""
    from pyspark.sql import functions as F

    whole = rows.where("kind IN ('finding', 'examined')").withColumn("keys", F.array("key"))
    return whole.select(*FIELDS, "examined")


def _worker(
    layout: Layout, limits: dict[int, int], names: tuple[str, ...], into: Handover | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of its work: first the buckets, then the files of the transaction log."""
    files, buckets = layout.files, layout.buckets
    entries = paths_of(files, "transactions")

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = columns_for(names, whole=into is not None)
        for batch in batches:
            for place in batch.column(0).to_pylist():
                if place < len(buckets):
                    number = buckets[place]
                    paths = {table: files[table].get(number, []) for table in BY_KEY}
                    tables = Tables({**paths, "calls": paths["operations"]}, columns)
                    yield from bucket_rows(tables, limits, names, partial(rows_where, files), into, number)
                    del tables
                elif into is not None:
                    into.write_entries(entries[place - len(buckets)], place - len(buckets))
                give_back()

    return work


def bucket_rows(
    tables: Mapping[str, pa.Table],
    limits: dict[int, int],
    names: tuple[str, ...],
    elsewhere: Elsewhere,
    into: Handover | None = None,
    number: int = 0,
) -> Iterator[pa.RecordBatch]:
    """The rows of SCHEMA that one bucket gives; `limits` are the runs' producer.id.expiration.ms.

    Those of kind "maybe", which a client's answer decides, are handed over if there is an `into`.
    """
    bucket = Bucket(tables, elsewhere)
    rows: list[dict[str, object]] = []
    for family, examine in bucket.families(limits).items():
        if any(name in names for name in family):
            found, examined = examine()
            rows += [{field: getattr(one, field) for field in one.__slots__} for one in found if one.anomaly in names]
            for name in (name for name in examined if name in names):
                for run, many in zip(*np.unique(examined[name], return_counts=True), strict=True):
                    rows.append({"anomaly": name, "run": int(run), "kind": "examined", "examined": int(many)})
    for run, client, transaction in bucket.unsure:
        one = {"anomaly": "lost-write", "run": run, "client": client, "number": transaction}
        rows.append(one | {"kind": MAYBE, "examined": 1})
    rows = [*(row for row in rows if row["kind"] != FIRST), *_begun(rows, elsewhere)]
    if into is not None:
        into.write_bucket(bucket, number)
        into.write_unsure(pa.Table.from_pylist([row for row in rows if row["kind"] == MAYBE], ARROW_SCHEMA), number)
        rows = [row for row in rows if row["kind"] != MAYBE]
    yield from pa.Table.from_pylist(rows, ARROW_SCHEMA).to_batches()


def _begun(rows: list[dict[str, Any]], elsewhere: Elsewhere) -> Iterator[dict[str, object]]:
    """Yield those of kind "first" whose send left with a Produce of transaction version 2."""
    first = [row for row in rows if row["kind"] == FIRST]
    if not first:
        return
    steps = sorted({step for row in first for step in row["sent"]})
    produced = (pc.field("name") == "Produce") & (pc.field("version") >= IMPLICIT_ADD)
    frames = elsewhere("frames", ("run", "sent_step"), produced & pc.field("sent_step").isin(steps))
    left = set(zip(frames.column("run").to_pylist(), frames.column("sent_step").to_pylist(), strict=True))
    for row in first:
        if any((row["run"], step) in left for step in row["sent"]):
            yield row | {"kind": "finding"}
