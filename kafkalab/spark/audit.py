"""Runs all audits over histories: what several of them need is computed once, each group of audits is one plan."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkalab.spark.audits import AUDITS, BY_NAME
from kafkalab.spark.audits.check import FIELDS, Audit, verdict
from kafkalab.spark.audits.view import View
from kafkalab.spark.frames import Histories
from kafkalab.spark.fused import FUSED, audited
from kafkalab.spark.schemas import TABLES
from kafkalab.spark.summary import Row, Summary

SMALL = 500_000
"""So many rows of logs and operations are audited faster than plans for them are compiled."""

FACTORY = "spark.sql.codegen.factoryMode"

GROUPS = {
    "what clients were told": ("inconsistent-offsets", "lost-write", "nonmonotonic-send", "int-nonmonotonic-send"),
    "logs": ("unseen", "duplicate", "int-send-skip", "zombie write", "sequence gap", "LSO regression"),
    "polls": ("poll-skip", "int-poll-skip", "nonmonotonic-poll", "int-nonmonotonic-poll"),
    "transactions": ("torn transaction", "hanging transaction", "marker without decision", "decision without marker"),
    "who read what": ("G1a", "precommitted-read", "partial visibility"),
    "cycles": ("G0", "G1c"),
    "exactly-once effects": ("offset/output split", "exactly-once"),
}
"""The audits that make one plan; together they scan and sort what they share once."""


def audit(
    histories: Histories,
    only: Iterable[str] | str | None = None,
    progress: bool = True,
    scratch: str | Path | None = None,
    files: str | Path | None = None,
) -> Summary:
    """What every audit, or those of `only`, says about these histories.

    `files` is the folder where `write_histories` put exactly these histories: then one pass over it does what looks at
    one key at a time. Intermediate tables go to `scratch`, a folder that all workers see (a temporary one if not given,
    removed with the Summary). `progress` prints a line while it works. ValueError, naming the audits, for an unknown
    one.
    """
    chosen = chosen_audits(only)
    spark = histories.log.sparkSession
    store = Store(spark, scratch, progress)
    began = time.monotonic()
    histories = histories if files is not None else stored(histories, store)
    with quick(spark, small=histories.log.count() + histories.operations.count() < SMALL):
        view = View(histories, store.keep)
        parts = _fused(chosen, view, files) if files is not None else []
        rest = [one for one in chosen if not parts or one.name not in FUSED]
        for title, names in GROUPS.items():
            here = [one for one in rest if one.name in names]
            if here:
                parts.append(store.keep(title, _plan(here, view), title=f"audits of {title}"))
        every = reduce(DataFrame.unionByName, parts)
        rows = _rows(chosen, every)
    store.done(f"{len(chosen)} audit{'s' * (len(chosen) > 1)} in {time.monotonic() - began:.1f} s")
    findings = every.where(F.col("examined").isNull()).select(*FIELDS)
    examined = every.where(F.col("examined").isNotNull()).select("run", "anomaly", "examined")
    seconds = time.monotonic() - began
    return Summary(rows=rows, findings=findings, examined=examined, seconds=seconds, store=store)


def _fused(chosen: Sequence[Audit], view: View, files: str | Path) -> list[DataFrame]:
    """What one pass over the files answers."""
    names = [one.name for one in chosen if one.name in FUSED]
    return [view.keep("audits key by key", audited(view, files, names))] if names else []


def stored(histories: Histories, store: Store) -> Histories:
    """The same tables, computed once, unless they are files already."""
    if histories.log.inputFiles():
        return histories
    return Histories(**{name: store.keep(name, histories.table(name)) for name in TABLES})


@contextmanager
def quick(spark: SparkSession, small: bool) -> Iterator[None]:
    """Plans are not planned again at every stage; those for small tables are not compiled. Put back afterwards."""
    settings = ["spark.sql.adaptive.enabled"] + (["spark.sql.codegen.wholeStage"] if small else [])
    before = {name: spark.conf.get(name) for name in settings}
    factory = spark.conf.get(FACTORY, "FALLBACK")
    for name in settings:
        spark.conf.set(name, "false")
    spark.conf.set(FACTORY, "NO_CODEGEN" if small else "FALLBACK")
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "true")
        spark.conf.set(FACTORY, factory or "FALLBACK")


def chosen_audits(only: Iterable[str] | str | None) -> list[Audit]:
    """The audits of these names, in the order of the registry; all without names."""
    if only is None:
        return list(AUDITS)
    names = [only] if isinstance(only, str) else list(only)
    unknown = [name for name in names if name not in BY_NAME]
    if unknown or not names:
        what = f"no audit {', '.join(map(repr, unknown))}" if unknown else "no audit was named"
        raise ValueError(f"{what}; there are {', '.join(BY_NAME)}")
    return [audit for audit in AUDITS if audit.name in names]


def _plan(audits: Sequence[Audit], view: View) -> DataFrame:
    """Findings and counts of these audits in one DataFrame; a count is a row with `examined`."""
    parts = []
    for one in audits:
        parts.append(one.offenders(view).withColumn("examined", F.lit(None).cast("bigint")))
        count = one.examined(view).select("run", F.lit(one.name).alias("anomaly"), F.col("examined").cast("bigint"))
        parts.append(count)
    return reduce(lambda all_, part: all_.unionByName(part, allowMissingColumns=True), parts)


def _rows(audits: Sequence[Audit], every: DataFrame) -> list[Row]:
    """One row for each audit, in their order."""
    of = every.groupBy("anomaly", "policy").agg(F.count(F.lit(1)).alias("rows"), F.sum("examined").alias("examined"))
    examined = dict.fromkeys((audit.name for audit in audits), 0)
    found: dict[str, dict[str, int]] = {audit.name: {} for audit in audits}
    for anomaly, policy, rows, seen in of.collect():
        if policy is None:
            examined[anomaly] = int(seen or 0)
        else:
            found[anomaly][policy] = rows
    return [
        Row(
            anomaly=audit.name,
            policy=audit.policy,
            verdict=verdict(examined[audit.name], list(found[audit.name])),
            examined=examined[audit.name],
            findings=tuple(sorted(found[audit.name].items())),
        )
        for audit in audits
    ]


class Store:
    """A folder of intermediate tables as Parquet; it goes when nothing needs it any more."""

    def __init__(self, spark: SparkSession, folder: str | Path | None = None, progress: bool = False) -> None:
        self.spark = spark
        self.folder = Path(tempfile.mkdtemp(prefix="kafkalab-audit-", dir=folder))
        self.progress = progress
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._kept = 0

    def keep(self, name: str, frame: DataFrame, title: str = "") -> DataFrame:
        """The same rows, computed now and read back from here: plans stay small, and nothing is computed twice."""
        began = time.monotonic()
        self.say(f"{title or name} …")
        self._kept += 1
        path = str(self.folder / f"{self._kept:02}-{name.replace(' ', '-')}")
        frame.write.parquet(path)
        self.say(f"{title or name}: {time.monotonic() - began:.1f} s")
        return self.spark.read.schema(frame.schema).parquet(path)

    def say(self, line: str) -> None:
        """Replace the line of progress."""
        if self.progress:
            print(f"\r{line:<70}", end="", file=sys.stderr, flush=True)

    def done(self, line: str) -> None:
        """The last line of progress."""
        if self.progress:
            print(f"\r{line:<70}", file=sys.stderr, flush=True)
