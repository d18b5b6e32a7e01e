"""The pass for scale: what a key's own rows tell, for all of a bucket's keys in one walk over its files with numpy.

It gives the findings of the DataFrame audits of the same names. Workers read the files themselves, so nothing is
shuffled; they hold one bucket at a time. For the audits that look at more than one key it leaves two tables, whose
records know their transactions and whose reads know their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.sequence_gap import IMPLICIT_ADD
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.spark.audits import BY_NAME, g1a, sequence_gap
from kafkalab.spark.audits.check import FIELDS
from kafkalab.spark.audits.view import View
from kafkalab.spark.key_pass.files import Tables, columns_for, give_back
from kafkalab.spark.storage.history_files import BY_KEY, files_of, in_buckets

FUSED = (
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
"""The audits that the pass does."""

SCHEMA = (
    "anomaly string, run bigint, key string, offsets array<bigint>, steps array<bigint>, text string, policy string, "
    "kind string, client string, number bigint, sent array<bigint>, examined bigint"
)
Files = dict[str, dict[int, list[str]]]
Elsewhere = Callable[[str, tuple[str, ...], pc.Expression], pa.Table]
"""The rows of a whole table for which something is true, with these columns."""


def walked(view: View, path: str | Path, only: Iterable[str] = FUSED, into: Path | None = None) -> DataFrame:
    """The rows of SCHEMA that the pass gives over the files at `path`, which hold the histories of `view`.

    With `into`, a folder that all workers see, the tables `records` and `seen` are there afterwards.
    """
    listed = files_of(path)
    files: Files = {table: in_buckets(path, listed, table) for table in BY_KEY}
    base = Path(path).absolute()
    files["transactions"] = {0: [str(base / file.path) for file in listed if file.table == "transactions"]}
    buckets = sorted({number for table in BY_KEY for number in files[table]})
    limits = {row.run: row.expiration for row in sequence_gap.expirations(view).collect()}
    spark = view.histories.log.sparkSession
    if not buckets:
        return spark.createDataFrame([], SCHEMA)
    numbers = spark.range(0, len(buckets), 1, len(buckets))
    return numbers.mapInArrow(_worker(files, buckets, limits, tuple(only), into), SCHEMA)


def audited(view: View, path: str | Path, only: Iterable[str] = FUSED, into: Path | None = None) -> DataFrame:
    """Findings and counts of the FUSED audits of these names: the columns of FIELDS, and `examined` in counts' rows.

    With `into` the view has its records and what was seen from the pass, too.
    """
    from kafkalab.spark.key_pass.records import RECORDS, SEEN

    names = [name for name in FUSED if name in only]
    rows = view.once("one pass over the files", lambda: walked(view, path, names, into))
    none = F.lit(None).cast("bigint").alias("examined")
    parts = [rows.where("kind = 'finding'").withColumn("keys", F.array("key")).select(*FIELDS, none)]
    kinds = {row.kind for row in rows.select("kind").distinct().collect()}
    if "first" in kinds:
        parts.append(_begun(view, rows.where("kind = 'first'")).select(*FIELDS, none))
    seen = rows.where("kind = 'examined'")
    if "maybe" in kinds:
        told = _told(view, rows.where("kind = 'maybe'"))
        parts.append(told.where("examined IS NULL").withColumn("keys", F.array("key")).select(*FIELDS, none))
        seen = seen.unionByName(told.where("examined IS NOT NULL"))
    if into is not None and (into / "records").is_dir():
        spark = view.histories.log.sparkSession
        view.records = spark.read.schema(RECORDS).parquet(str(into / "records"))
        view.seen = spark.read.schema(SEEN).parquet(str(into / "seen"))
        if "G1a" in names:
            parts.append(g1a.only_told(BY_NAME["G1a"], view).select(*FIELDS, none))
    every = parts[0]
    for part in parts[1:]:
        every = every.unionByName(part)
    counts = seen.groupBy("anomaly", "run").agg(F.sum("examined").alias("examined"))
    return every.unionByName(counts, allowMissingColumns=True)


def _begun(view: View, first: DataFrame) -> DataFrame:
    """Those whose send left with a Produce of transaction version 2."""
    produced = view.histories.frames.where((F.col("name") == "Produce") & (F.col("version") >= IMPLICIT_ADD))
    asked = first.withColumn("step", F.explode("sent"))
    produced = produced.select("run", F.col("sent_step").alias("step"))
    produced = produced.join(asked.select("run", "step").distinct(), ["run", "step"], "left_semi")
    begun = asked.join(produced, ["run", "step"], "left_semi").drop("step", "sent")
    return begun.dropDuplicates(["run", "key", "offsets"]).withColumn("keys", F.array("key"))


def _told(view: View, maybe: DataFrame) -> DataFrame:
    """Findings and counts of sends whose client was told that their transaction committed."""
    committed = view.histories.operations.where("function = 'commit' AND type = 'ok'")
    committed = committed.select("run", "client", F.col("transaction").alias("number"))
    return maybe.join(committed, ["run", "client", "number"], "left_semi")


def _worker(
    files: Files, buckets: list[int], limits: dict[int, int], names: tuple[str, ...], into: Path | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of the buckets that it is given."""

    def elsewhere(table: str, columns: tuple[str, ...], wanted: pc.Expression) -> pa.Table:
        import pyarrow.dataset as ds

        paths = [path for found in files[table].values() for path in found]
        return ds.dataset(paths, partitioning=None).to_table(columns=list(columns), filter=wanted, use_threads=False)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = columns_for(names, whole=into is not None)
        for batch in batches:
            for place in batch.column(0).to_pylist():
                number = buckets[place]
                tables = Tables({table: files[table].get(number, []) for table in BY_KEY}, columns)
                yield from bucket_rows(tables, limits, names, elsewhere, into, number)
                del tables
                give_back()

    return work


def bucket_rows(
    tables: Mapping[str, pa.Table],
    limits: dict[int, int],
    names: tuple[str, ...],
    elsewhere: Elsewhere,
    into: Path | None = None,
    number: int = 0,
) -> Iterator[pa.RecordBatch]:
    """The rows of SCHEMA that one bucket gives; `limits` are the runs' producer.id.expiration.ms."""
    import numpy as np

    from kafkalab.spark.key_pass import records as fused_records
    from kafkalab.spark.key_pass.bucket import Bucket

    bucket = Bucket(tables, elsewhere)
    rows = [
        {field: getattr(one, field) for field in one.__slots__} | {"examined": None}
        for one in bucket.found(limits, EXPIRATION_MS, names)
        if one.anomaly in names
    ]
    for name, runs in bucket.examined(names):
        for run, many in zip(*np.unique(runs, return_counts=True), strict=True):
            rows.append({"anomaly": name, "run": int(run), "kind": "examined", "examined": int(many)})
    if "lost-write" in names:
        for run, client, transaction in bucket.unsure:
            one = {"anomaly": "lost-write", "run": run, "client": client, "number": transaction}
            rows.append(one | {"kind": "maybe", "examined": 1})
    if into is not None:
        records = fused_records.records_of(bucket.log, bucket.owners)
        fused_records.write(fused_records.seen_of(bucket.reads, bucket.log, records), into / "seen", number)
        fused_records.write(records, into / "records", number)
    yield from pa.Table.from_pylist(rows, _arrow_schema()).to_batches()


def _arrow_schema() -> pa.Schema:
    types = {"string": pa.string(), "bigint": pa.int64(), "array<bigint>": pa.list_(pa.int64())}
    return pa.schema([(name, types[type_]) for name, type_ in (field.split(" ") for field in SCHEMA.split(", "))])
