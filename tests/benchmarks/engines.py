"""Five representative audits in Spark, pandas, Polars and DuckDB, over the same files; each gives how much it found.

They are what one table or two can tell: simpler than the audits of kafkalab, and the same in every engine. Every
transaction has an epoch of its own (transaction version 2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

FIVE = ("duplicates", "sequence gaps", "torn transactions", "aborted reads", "LSO regressions")
Timed = Iterator[tuple[str, float, int]]
"""The name of the work, the seconds it took, and how many it found."""

DATA = "control = '' AND removed <> 'truncated' AND substr(key, 1, 2) <> '__'"
SQL = {
    "duplicates": f"""SELECT count(*) FROM (SELECT run, key, value FROM log WHERE {DATA} AND value IS NOT NULL
        GROUP BY run, key, value HAVING count(*) > 1) t""",
    "sequence gaps": f"""SELECT count(*) FROM (SELECT sequence, lag(sequence) OVER (
        PARTITION BY run, key, producer_id, producer_epoch ORDER BY place) AS before
        FROM log WHERE {DATA} AND producer_id >= 0) t WHERE sequence <> (CAST(before AS BIGINT) + 1) % 2147483648""",
    "torn transactions": """SELECT count(*) FROM (SELECT run, producer_id, producer_epoch FROM log
        WHERE control <> '' GROUP BY run, producer_id, producer_epoch
        HAVING min(control = 'ABORT') <> max(control = 'ABORT')) t""",
    "aborted reads": """SELECT count(*) FROM reads r JOIN (SELECT run, key, place, value, control, transactional,
        {last} OVER (PARTITION BY run, key, producer_id ORDER BY place DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ended FROM log WHERE removed <> 'truncated') t
        ON r.run = t.run AND r.key = t.key AND r.place = t.place AND r.value = t.value
        WHERE r.isolation_level = 'read_committed' AND t.control = '' AND t.transactional AND t.ended = 'ABORT'""",
    "LSO regressions": """SELECT count(*) FROM (SELECT last_stable_offset, lag(last_stable_offset) OVER (
        PARTITION BY run, key, node, leader_epoch ORDER BY step) AS before FROM watermarks WHERE leads) t
        WHERE last_stable_offset < before""",
}
MARKER = "CASE WHEN control <> '' THEN control END"
COLUMNS = {
    "log": ("value", "producer_id", "producer_epoch", "sequence", "control", "transactional", "removed"),
    "reads": ("value", "isolation_level"),
    "watermarks": ("node", "leader_epoch", "leads", "last_stable_offset", "step"),
}


def time_action(name: str, action: Callable[[], int]) -> tuple[str, float, int]:
    """The name, how long the action took, and its number."""
    began = time.perf_counter()
    found = action()
    return name, time.perf_counter() - began, found


def duckdb(path: Path) -> Timed:
    """With all cores of the machine and 2 GB."""
    import duckdb

    base = duckdb.connect(config={"memory_limit": "2GB"})
    for table, columns in COLUMNS.items():
        place = ', "offset" AS place' if table != "watermarks" else ""
        files = f"read_parquet('{path / table}/*/*.parquet')"
        base.execute(f"CREATE VIEW {table} AS SELECT run, key, {', '.join(columns)}{place} FROM {files}")

    def number(query: str) -> int:
        row: Any = base.execute(query).fetchone()
        return int(row[0])

    for name in FIVE:
        yield time_action(name, partial(number, SQL[name].replace("{last}", f"last_value({MARKER} IGNORE NULLS)")))


def spark_sql(path: Path) -> Timed:
    """The same SQL in Spark, after one small query that starts its workers."""
    from kafkalab.spark.storage.history_files import read_histories

    spark = session(path)
    histories = read_histories(spark, path)
    for table in COLUMNS:
        histories.table(table).withColumnRenamed("offset", "place").createOrReplaceTempView(table)
    spark.sql("SELECT count(*) FROM watermarks").collect()
    for name in FIVE:
        query = SQL[name].replace("{last}", f"last_value({MARKER}) IGNORE NULLS")
        yield time_action(name, lambda query=query: int(spark.sql(query).collect()[0][0]))  # type: ignore[misc]


def spark_key_pass(path: Path) -> Timed:
    """kafkalab's pass over the files: the audits of one key at once, but for the one that needs clients' commits."""
    from kafkalab.spark.per_key_audits.bucket import ONE_KEY

    _spark, walk = _walking(path)
    names = tuple(name for name in ONE_KEY if name != "lost-write")
    yield time_action(f"{len(names)} audits in one pass", lambda: walk(names))


def spark_five(path: Path) -> Timed:
    """The five: four of them in one pass over the files, in their full meaning; one looks at all keys, and is SQL."""
    from kafkalab.spark.storage.history_files import read_histories

    spark, walk = _walking(path)
    names = ("duplicate", "sequence gap", "G1a", "LSO regression")
    yield time_action("four in one pass", lambda: walk(names))
    read_histories(spark, path).log.createOrReplaceTempView("log")
    yield time_action("torn transactions", lambda: int(spark.sql(SQL["torn transactions"]).collect()[0][0]))


def _walking(path: Path) -> tuple[Any, Callable[[tuple[str, ...]], int]]:
    """A session that is warm from one small audit, and what counts the findings of one pass for these audits."""
    from kafkalab.spark.per_key_audits.key_pass import key_pass, layout_of

    spark = session(path)
    layout = layout_of(path)

    def walk(names: tuple[str, ...]) -> int:
        return key_pass(spark, layout, names).where("examined IS NULL").count()

    walk(("LSO regression",))
    return spark, walk


def spark_all(path: Path) -> Timed:
    """audit() with everything; then what it missed of the labels, and what it found that has none."""
    from pyspark.sql import functions as F

    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.storage.history_files import read_histories

    spark = session(path)
    histories = read_histories(spark, path)
    summaries: list[Any] = []

    def all_of_them() -> int:
        summaries.append(audit(histories, files=path, progress=False))
        return sum(row.found for row in summaries[0].rows)

    yield time_action("all 25 audits", all_of_them)
    place = ["run", "anomaly", "policy", "keys", "offsets"]
    found = summaries[0].findings.groupBy(*place).agg(F.count("*").alias("found"))
    truth = spark.read.parquet(f"{path}-truth").groupBy(*place).agg(F.count("*").alias("labels"))
    both = truth.join(found, place, "full").fillna(0, ["found", "labels"])
    missed = F.sum(F.greatest(F.col("labels") - F.col("found"), F.lit(0)))
    extra = F.sum(F.greatest(F.col("found") - F.col("labels"), F.lit(0)))
    wrong = both.agg(missed, extra).first()
    yield "labels missed", 0.0, int(wrong[0] or 0)
    yield "without a label", 0.0, int(wrong[1] or 0)


def session(path: Path) -> Any:
    """A session as small as it is by default for up to a million records or so, else one with 2 GB."""
    from kafkalab.spark.session.session import spark_session
    from kafkalab.spark.storage.history_files import files_of

    records = sum(file.rows for file in files_of(path) if file.table == "log")
    return spark_session(brief=True) if records < 1_500_000 else spark_session(memory="2g")


def pandas(path: Path) -> Timed:
    """Each audit reads the columns that it needs."""
    import pandas as pd

    def table(name: str, *columns: str) -> Any:
        found = pd.read_parquet(path / name, columns=list(columns))
        return found

    def data(*columns: str) -> Any:
        log = table("log", "run", "key", "control", "removed", *columns)
        return log[(log.control == "") & (log.removed != "truncated") & (log.key.str[:2] != "__")]

    def duplicates() -> int:
        rows = data("value").dropna(subset=["value"])
        return int((rows.groupby(["run", "key", "value"], observed=True).size() > 1).sum())

    def gaps() -> int:
        rows = data("producer_id", "producer_epoch", "sequence", "offset")
        rows = rows[rows.producer_id >= 0].sort_values("offset")
        before = rows.groupby(["run", "key", "producer_id", "producer_epoch"]).sequence.shift()
        return int((before.notna() & (rows.sequence != (before + 1) % 2147483648)).sum())

    def count_torn() -> int:
        log = table("log", "run", "producer_id", "producer_epoch", "control")
        ends = log[log.control != ""].groupby(["run", "producer_id", "producer_epoch"]).control
        return int((ends.min() != ends.max()).sum())

    def count_aborted() -> int:
        log = table("log", "run", "key", "offset", "value", "producer_id", "control", "transactional", "removed")
        log = log[log.removed != "truncated"].sort_values("offset")
        log["ended"] = log.control.where(log.control != "")
        log["ended"] = log.groupby(["run", "key", "producer_id"]).ended.bfill()
        wrong = log[(log.control == "") & log.transactional & (log.ended == "ABORT")]
        reads = table("reads", "run", "key", "offset", "value", "isolation_level")
        reads = reads[reads.isolation_level == "read_committed"]
        return len(reads.merge(wrong, on=["run", "key", "offset", "value"]))

    def lso() -> int:
        marks = table("watermarks", "run", "key", *COLUMNS["watermarks"])
        marks = marks[marks.leads].sort_values("step")
        before = marks.groupby(["run", "key", "node", "leader_epoch"]).last_stable_offset.shift()
        return int((marks.last_stable_offset < before).sum())

    for name, action in zip(FIVE, (duplicates, gaps, count_torn, count_aborted, lso), strict=True):
        yield time_action(name, action)


def polars(path: Path) -> Timed:
    """Lazy, so that each audit reads what it needs."""
    import polars as pl

    def table(name: str) -> Any:
        return pl.scan_parquet(f"{path / name}/*/*.parquet", hive_partitioning=False)

    col = pl.col
    log = table("log").filter(col("removed") != "truncated")
    data = log.filter((col("control") == "") & (col("key").str.slice(0, 2) != "__"))

    def number(frame: Any) -> int:
        return int(frame.select(pl.len()).collect().item())

    session = ["run", "key", "producer_id", "producer_epoch"]
    rows = data.filter(col("value").is_not_null()).group_by("run", "key", "value").len()
    before = col("sequence").cast(pl.Int64).shift().over(session)
    gaps = data.filter(col("producer_id") >= 0).sort("offset").with_columns(before=before)
    ends = log.filter(col("control") != "").group_by("run", "producer_id", "producer_epoch")
    ended = pl.when(col("control") != "").then(col("control")).backward_fill().over("run", "key", "producer_id")
    wrong = log.sort("offset").with_columns(ended=ended)
    wrong = wrong.filter((col("control") == "") & col("transactional") & (col("ended") == "ABORT"))
    wrong = wrong.select("run", "key", "offset", "value")
    reads = table("reads").filter(col("isolation_level") == "read_committed")
    stable = col("last_stable_offset")
    marks = table("watermarks").filter("leads").sort("step")
    marks = marks.with_columns(before=stable.shift().over("run", "key", "node", "leader_epoch"))
    frames = (
        rows.filter(col("len") > 1),
        gaps.filter(col("sequence") != (col("before") + 1) % 2147483648),
        ends.agg(col("control").n_unique().alias("n")).filter(col("n") > 1),
        reads.join(wrong, on=["run", "key", "offset", "value"]),
        marks.filter(stable < col("before")),
    )
    for name, frame in zip(FIVE, frames, strict=True):
        yield time_action(name, lambda frame=frame: number(frame))  # type: ignore[misc]


ENGINES: dict[str, Callable[[Path], Timed]] = {
    "DuckDB": duckdb,
    "Polars": polars,
    "pandas": pandas,
    "Spark SQL": spark_sql,
    "Spark, the five": spark_five,
    "Spark, key pass": spark_key_pass,
    "Spark, audit()": spark_all,
}
