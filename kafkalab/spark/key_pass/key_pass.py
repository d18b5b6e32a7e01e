"""The key pass: fourteen audits of one key each, for all keys of a bucket in one walk over its files with numpy.

Workers read the files themselves, so nothing is shuffled; each holds one bucket at a time. For the audits that look at
more than one key the pass writes two tables: records with their transactions, and reads with their records.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.g1a import g1a
from kafkalab.checks.sequence_gap import EXPIRATION, IMPLICIT_ADD
from kafkalab.checks.view import ABORTED
from kafkalab.spark.audits.check import FIELDS, findings_of, sentence, shown
from kafkalab.spark.audits.derived_tables import DerivedTables
from kafkalab.spark.key_pass import records
from kafkalab.spark.key_pass.bucket import Bucket
from kafkalab.spark.key_pass.files import Tables, columns_for, give_back
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.history_files import BY_KEY, files_of, in_buckets

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
Files = dict[str, dict[int, list[str]]]
Elsewhere = Callable[[str, tuple[str, ...], pc.Expression], pa.Table]
"""The rows of a whole table for which something is true, with these columns."""


def key_pass(
    histories: Histories, path: str | Path, only: Iterable[str] = ONE_KEY, into: Path | None = None
) -> DataFrame:
    """Return the rows of SCHEMA that the pass gives, for the names in `only`, over the files of `histories` at `path`.

    With `into`, a folder that all workers see, it writes the tables `records` and `seen` there.
    """
    listed = files_of(path)
    files: Files = {table: in_buckets(path, listed, table) for table in BY_KEY}
    base = Path(path).absolute()
    files["transactions"] = {0: [str(base / file.path) for file in listed if file.table == "transactions"]}
    buckets = sorted({number for table in BY_KEY for number in files[table]})
    spark = histories.log.sparkSession
    names = tuple(name for name in ONE_KEY if name in only)
    if not buckets or not (names or into):
        return spark.createDataFrame([], SCHEMA)
    numbers = spark.range(0, len(buckets), 1, len(buckets))
    return numbers.mapInArrow(_worker(files, buckets, _expirations(histories), names, into), SCHEMA)


def _expirations(histories: Histories) -> dict[int, int]:
    """producer.id.expiration.ms of the runs whose labels say it."""
    config = histories.labels.where((F.col("name") == "config") & F.col("value").startswith(EXPIRATION))
    return {row.run: int(row.value.removeprefix(EXPIRATION)) for row in config.orderBy("run", "value").collect()}


def findings(rows: DataFrame, derived: DerivedTables, only: Container[str]) -> DataFrame:
    """Return findings and counts, given the rows of the pass: the columns of FIELDS, and `examined` in counts' rows.

    What one key could not decide is decided with other tables: see the kinds "first" and "maybe".
    """
    maybe, none = _told(derived, rows.where("kind = 'maybe'")), F.lit(None).cast("bigint").alias("examined")
    certain = rows.where("kind = 'finding'").unionByName(_begun(derived, rows.where("kind = 'first'")))
    certain = certain.unionByName(maybe.where("examined IS NULL")).withColumn("keys", F.array("key"))
    every = certain.select(*FIELDS, none)
    if "G1a" in only:
        every = every.unionByName(_told_aborted(derived).select(*FIELDS, none))
    seen = rows.where("kind = 'examined'").unionByName(maybe.where("examined IS NOT NULL"))
    counts = seen.groupBy("anomaly", "run").agg(F.sum("examined").alias("examined"))
    return every.unionByName(counts, allowMissingColumns=True)


def _begun(derived: DerivedTables, first: DataFrame) -> DataFrame:
    """Those whose send left with a Produce of transaction version 2."""
    produced = derived.histories.frames.where((F.col("name") == "Produce") & (F.col("version") >= IMPLICIT_ADD))
    produced = produced.select("run", F.col("sent_step").alias("_step"))
    asked = first.withColumn("_step", F.explode("sent"))
    return asked.join(produced, ["run", "_step"], "left_semi").drop("_step").dropDuplicates(["run", "key", "offsets"])


def _told(derived: DerivedTables, maybe: DataFrame) -> DataFrame:
    """Findings and counts of sends whose client was told that their transaction committed."""
    committed = derived.histories.operations.where("function = 'commit' AND type = 'ok'")
    committed = committed.select("run", "client", F.col("transaction").alias("number"))
    return maybe.join(committed, ["run", "client", "number"], "left_semi")


def _told_aborted(derived: DerivedTables) -> DataFrame:
    """G1a where no ABORT marker, only the answer to the client says that the transaction aborted."""
    reads = derived.seen.where((F.col("isolation_level") == "read_committed") & (F.col("record.outcome") != ""))
    reads = reads.where(F.col("record.outcome") != ABORTED).withColumn("txn", F.col("record.txn"))
    told = derived.transactions.where(F.col("told_aborted") & ~F.col("maybe_committed"))
    aborted = reads.join(told.select("run", "txn", "last_end"), ["run", "txn"])
    text = "{consumer} was given {value} of {key} at offset {offset}, which {record.client} aborted"
    said = sentence(text, value=shown(F.col("value")))
    return findings_of(g1a, aborted, said, ["record.step", "step", "last_end"], ["key"], ["offset"])


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
        rows.append(one | {"kind": "maybe", "examined": 1})
    if into is not None:
        owned = records.records_of(bucket.log, bucket.owners)
        records.write(records.seen_of(bucket.reads, bucket.log, owned), into / "seen", number)
        records.write(owned, into / "records", number)
    yield from pa.Table.from_pylist(rows, _arrow_schema()).to_batches()


def _arrow_schema() -> pa.Schema:
    types = {"string": pa.string(), "bigint": pa.int64(), "array<bigint>": pa.list_(pa.int64())}
    return pa.schema([(name, types[type_]) for name, type_ in (field.split(" ") for field in SCHEMA.split(", "))])
