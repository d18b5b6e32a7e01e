"""Runs all audits over histories, in the way that suits their size; all ways give the same findings.

Small ones are checked run by run in tasks (checked.py). Large ones by DataFrames: what several audits need is computed
once, each group of audits is one plan. Where the histories are files, one pass over them (fused.py) does a part.
"""

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
from kafkalab.spark.audits.by_checks import checked
from kafkalab.spark.audits.check import FIELDS, Audit, verdict
from kafkalab.spark.audits.summary import CHECKS, DATAFRAMES, FILES, WAYS, Row, Summary
from kafkalab.spark.audits.view import View
from kafkalab.spark.key_pass.key_pass import FUSED, audited
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.schemas import TABLES

SMALL = 30_000
"""So many records, even of one run, are checked by one task sooner than plans for all audits are made."""

QUICK = 500_000
"""So many records are audited faster than plans for them are compiled, or spread over tasks."""

FACTORY = "spark.sql.codegen.factoryMode"
FOR_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    FACTORY: "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}
"""Plans are not planned again at every stage, nor compiled, nor split: most of the time went into starting tasks."""

TASKS = "8"
"""Runs are checked in so many tasks."""

GROUPS = {
    "what clients were told": ("inconsistent-offsets", "lost-write", "nonmonotonic-send", "int-nonmonotonic-send"),
    "logs": ("unseen", "duplicate", "int-send-skip", "zombie write", "sequence gap", "LSO regression"),
    "polls": ("poll-skip", "int-poll-skip", "nonmonotonic-poll", "int-nonmonotonic-poll"),
    "transactions": ("torn transaction", "hanging transaction", "marker without decision", "decision without marker"),
    "who read what": ("G1a", "precommitted-read", "partial visibility"),
    "exactly-once effects": ("offset/output split", "exactly-once"),
    "cycles": ("G0", "G1c"),
}
"""The audits that make one plan; together they scan and sort what they share once. Python's workers, which the last one
needs, come when Java has had its largest plans."""


def audit(
    histories: Histories,
    only: Iterable[str] | str | None = None,
    progress: bool = True,
    scratch: str | Path | None = None,
    files: str | Path | None = None,
    way: str = "",
) -> Summary:
    """What every audit, or those of `only`, says about these histories.

    `files` is the folder where `write_histories` put exactly these histories: then one pass over it does what looks at
    one key at a time. Intermediate tables go to `scratch`, a folder that all workers see (a temporary one if not given,
    removed with the Summary). `progress` prints a line while it works. `way` is one of WAYS; without it the histories'
    size decides, and `Summary.way` says how. ValueError, naming what there is, for an unknown audit or way.
    """
    chosen = chosen_audits(only)
    spark = histories.log.sparkSession
    store = Store(spark, scratch, progress)
    began = time.monotonic()
    way = chosen_way(way, histories, files)
    if way == CHECKS:
        every = _checked(chosen, histories, store)
    else:
        every = _audited(chosen, histories, store, files if way == FILES else None)
    rows = _rows(chosen, every)
    store.done(f"{len(chosen)} audit{'s' * (len(chosen) > 1)} in {time.monotonic() - began:.1f} s, {WAYS[way]}")
    findings = every.where(F.col("examined").isNull()).select(*FIELDS)
    examined = every.where(F.col("examined").isNotNull()).select("run", "anomaly", "examined")
    seconds = time.monotonic() - began
    return Summary(rows=rows, findings=findings, examined=examined, seconds=seconds, way=way, store=store)


def chosen_way(way: str, histories: Histories, files: str | Path | None = None) -> str:
    """The way that was asked for, else the one for histories of this size."""
    if way and way not in WAYS:
        raise ValueError(f"no way {way!r}; there are {', '.join(WAYS)}")
    if way == FILES and files is None:
        raise ValueError("the way 'files' needs files=, the folder where write_histories put these histories")
    if way:
        return way
    small = histories.bundle is not None or histories.log.limit(SMALL + 1).count() <= SMALL
    return CHECKS if small else DATAFRAMES if files is None else FILES


def _checked(chosen: Sequence[Audit], histories: Histories, store: Store) -> DataFrame:
    """Findings and counts of every run, by the checks."""
    names = [one.name for one in chosen]
    with quick(store.spark, {**FOR_SMALL, "spark.sql.shuffle.partitions": TASKS}):
        return store.keep("checks", checked(histories, names), title=f"{len(names)} checks of every run")


def _audited(chosen: Sequence[Audit], histories: Histories, store: Store, files: str | Path | None) -> DataFrame:
    """Findings and counts, by DataFrames."""
    small = histories.log.limit(QUICK + 1).count() <= QUICK
    with quick(store.spark, FOR_SMALL if small else {}):
        histories = histories if files is not None else stored(histories, store)
        view = View(histories, store.keep)
        rest = [one for one in chosen if files is None or one.name not in FUSED]
        parts = []
        if files is not None:
            mine = [one.name for one in chosen if one.name in FUSED]
            into = store.folder / "pass" if rest or "G1a" in mine else None
            parts.append(store.keep("key by key", audited(view, files, mine, into), title="audits key by key"))
        for title, names in GROUPS.items():
            here = [one for one in rest if one.name in names]
            if here:
                parts.append(store.keep(title, _plan(here, view), title=f"audits of {title}"))
        return reduce(DataFrame.unionByName, parts)


def stored(histories: Histories, store: Store) -> Histories:
    """The same tables, computed once, unless they are files already."""
    if histories.log.inputFiles():
        return histories
    return Histories(**{name: store.keep(name, histories.table(name)) for name in TABLES})


@contextmanager
def quick(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """The session has these settings, and afterwards those that it had before."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


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
