"""The pass for scale: what a key's own rows tell, for all of a bucket's keys in one walk over its files with numpy.

It gives the findings of the DataFrame audits of the same names. Workers read the files themselves, so nothing is
shuffled; they hold one bucket at a time. What needs other tables (who sent how many copies) is decided afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.core.producer_state import EXPIRATION_MS
from kafkalab.spark.audits import BY_NAME, duplicate, sequence_gap
from kafkalab.spark.audits.check import FIELDS
from kafkalab.spark.audits.links import first_claims, identified, sends, told_of_aborts
from kafkalab.spark.audits.view import View
from kafkalab.spark.tables import BY_KEY, buckets_of

FUSED = (
    "G1a",
    "unseen",
    "duplicate",
    "poll-skip",
    "int-poll-skip",
    "nonmonotonic-poll",
    "int-nonmonotonic-poll",
    "sequence gap",
    "LSO regression",
)
"""The audits that the pass does."""

SCHEMA = (
    "anomaly string, run bigint, key string, offsets array<bigint>, steps array<bigint>, text string, policy string, "
    "kind string, value string, producer_id bigint, examined bigint"
)
_OF_A_RECORD = ("producer_id", "producer_epoch", "sequence", "transactional", "control", "at_ms", "removed")
COLUMNS: dict[str, tuple[str, ...]] = {
    "log": ("run", "key", "offset", "value", "step", *_OF_A_RECORD),
    "reads": ("run", "key", "consumer", "isolation_level", "poll", "index", "offset", "value", "step"),
    "polls": ("run", "key", "consumer", "poll", "start", "end", "moved", "step"),
    "watermarks": ("run", "key", "node", "leads", "leader_epoch", "last_stable_offset", "step"),
}
Files = dict[str, dict[int, list[str]]]


def walked(view: View, path: str | Path, only: Iterable[str] = FUSED) -> DataFrame:
    """The rows of SCHEMA that the pass gives over the files at `path`, which hold the histories of `view`."""
    files: Files = {
        table: {n: [str(f) for f in found] for n, found in buckets_of(path, table).items()} for table in BY_KEY
    }
    buckets = sorted({number for found in files.values() for number in found})
    limits = {row.run: row.expiration for row in sequence_gap.expirations(view).collect()}
    spark = view.histories.log.sparkSession
    if not buckets:
        return spark.createDataFrame([], SCHEMA)
    numbers = spark.range(0, len(buckets), 1, len(buckets))
    return numbers.mapInArrow(_worker(files, buckets, limits, tuple(only)), SCHEMA)


def audited(view: View, path: str | Path, only: Iterable[str] = FUSED) -> DataFrame:
    """Findings and counts of the FUSED audits of these names: the columns of FIELDS, and `examined` in counts' rows."""
    names = [name for name in FUSED if name in only]
    rows = view.once("one pass over the files", lambda: walked(view, path, names))
    none = F.lit(None).cast("bigint").alias("examined")
    found = rows.where(F.col("kind") == "finding").withColumn("keys", F.array("key"))
    parts = [found.select(*FIELDS, none)]
    if "duplicate" in names:
        copies = rows.where(F.col("kind") == "copy").select(
            "run", "key", "value", F.get("offsets", F.lit(0)).alias("offset"), F.get("steps", F.lit(0)).alias("step"),
            "producer_id",
        )  # fmt: skip
        parts.append(duplicate.judged(BY_NAME["duplicate"], copies, view).select(*FIELDS, none))
    first = rows.where(F.col("kind") == "first").withColumn("offset", F.get("offsets", F.lit(0)))
    if not first.isEmpty():
        parts.append(sequence_gap.begun(view, first).withColumn("keys", F.array("key")).select(*FIELDS, none))
    if "G1a" in names and not _only_told(view, found).isEmpty():
        parts[0] = parts[0].where(F.col("anomaly") != "G1a")
        parts.append(BY_NAME["G1a"].offenders(view).select(*FIELDS, none))
    counts = rows.where(F.col("kind") == "examined").groupBy("anomaly", "run").agg(F.sum("examined").alias("examined"))
    every = parts[0]
    for part in parts[1:]:
        every = every.unionByName(part)
    return every.unionByName(counts, allowMissingColumns=True)


def _only_told(view: View, found: DataFrame) -> DataFrame:
    """Reads of records whose client was told that they are aborted, though no ABORT marker says so."""
    operations, log = view.histories.operations, view.histories.log
    told = told_of_aborts(operations)
    asked = sends(operations).join(F.broadcast(told), ["run", "client", "transaction"], "left_semi")
    claims = first_claims(asked).select("run", "key", "value", "a", "b", "c")
    records = identified(log.where(F.col("transactional") & (F.col("removed") != "truncated")))
    places = records.where(F.col("value").isNotNull()).join(claims, ["run", "key", "value", "a", "b", "c"], "left_semi")
    reads = view.histories.reads.where(F.col("isolation_level") == "read_committed")
    place = ["run", "key", "offset"]
    seen = reads.join(places.select(*place, "value"), [*place, "value"], "left_semi")
    marked = found.where(F.col("anomaly") == "G1a").withColumn("offset", F.get("offsets", F.lit(0))).select(*place)
    return seen.join(marked, place, "left_anti")


def _worker(
    files: Files, buckets: list[int], limits: dict[int, int], names: tuple[str, ...]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of the buckets that it is given."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from bucket_rows(
                    {table: _read(table, found.get(buckets[place], [])) for table, found in files.items()},
                    limits,
                    names,
                )

    return work


def _read(table: str, paths: list[str]) -> pa.Table:
    import pyarrow.parquet as pq

    from kafkalab.spark.schemas import arrow_schema

    fields = [arrow_schema(table).field(name) for name in COLUMNS[table]]
    parts = [pq.ParquetFile(path).read(columns=list(COLUMNS[table])) for path in paths]
    return (
        pa.concat_tables([part.cast(pa.schema(fields)) for part in parts]) if parts else pa.schema(fields).empty_table()
    )


def bucket_rows(
    tables: dict[str, pa.Table], limits: dict[int, int], names: tuple[str, ...] = FUSED
) -> Iterator[pa.RecordBatch]:
    """The rows of SCHEMA that one bucket gives; `limits` are the runs' producer.id.expiration.ms."""
    import numpy as np

    from kafkalab.spark import fused_log, fused_polls
    from kafkalab.spark.fused_arrays import Log, Names

    texts = Names()
    log = Log(tables["log"], texts)
    reads = fused_log.Reads(tables["reads"], log, texts)
    marks = tables["watermarks"]
    found: list[fused_log.Found] = []
    counts = list(fused_log.examined(log, reads, marks))
    if "duplicate" in names:
        found += fused_log.duplicates(log)
    if "sequence gap" in names:
        found += fused_log.sequence_gaps(log, limits, EXPIRATION_MS)
    if "G1a" in names:
        found += fused_log.aborted_reads(log, reads)
    if "unseen" in names:
        found += fused_log.unseen(log, reads)
    if "LSO regression" in names:
        found += fused_log.lso_regressions(marks, texts)
    if any("poll" in name for name in names):
        walk = fused_polls.Walk(tables["polls"], reads, texts)
        counts += fused_polls.examined(walk)
        found += fused_polls.jumps(log, walk)
    rows = [{f: getattr(one, f) for f in one.__slots__} | {"examined": None} for one in found if one.anomaly in names]
    for name, runs in counts:
        for run, number in zip(*np.unique(runs, return_counts=True), strict=True):
            if name in names:
                rows.append({"anomaly": name, "run": int(run), "kind": "examined", "examined": int(number)})
    yield from pa.Table.from_pylist(rows, _arrow_schema()).to_batches()


def _arrow_schema() -> pa.Schema:
    types = {"string": pa.string(), "bigint": pa.int64(), "array<bigint>": pa.list_(pa.int64())}
    return pa.schema([(name, types[type_]) for name, type_ in (field.split(" ") for field in SCHEMA.split(", "))])
