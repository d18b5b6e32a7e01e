"""Run all audits over histories, in the way that suits their size; both ways give the same findings.

Histories that are no files are written first. Small ones are checked run by run in tasks (`check_tasks`). Of large ones
the key pass (`kafkalab.spark.per_key_audits`) finds the anomalies of one key, the client pass
(`kafkalab.spark.client_pass`) the others. Java plans little, and sees only what was found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import count

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.all import CHECKS as ALL_CHECKS
from kafkalab.checks.check import UNKNOWN, Check
from kafkalab.checks.from_a_log import CAPTURED
from kafkalab.checks.lost_write import lost_write
from kafkalab.checks.view import LACKS
from kafkalab.spark.audits.by_log import log_pass
from kafkalab.spark.audits.check_tasks import check_runs
from kafkalab.spark.audits.memory import bucket_mb, local_workers, require_memory, split_mb
from kafkalab.spark.audits.summary import CHECKS, KEY_PASS, WAYS, AuditRow, Summary
from kafkalab.spark.client_pass.client_pass import INPUTS, NAMES, client_pass, cycle_pass, input_pass
from kafkalab.spark.client_pass.cycles import SEARCHES
from kafkalab.spark.per_key_audits.handover import Handover
from kafkalab.spark.per_key_audits.key_pass import Layout, key_pass, labels_by_run, layout_of
from kafkalab.spark.per_key_audits.log import Labels
from kafkalab.spark.per_key_audits.splits import splits_of
from kafkalab.spark.storage.findings import FIELDS
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.history_files import VERSION, write_histories
from kafkalab.spark.storage.parquet_frames import read_frame, write_frame
from kafkalab.spark.storage.places import Where, place_of
from kafkalab.spark.storage.scratch import scratch_at

SMALL = 100_000
"""Up to this many records, even of one run, one task checks them sooner than plans for all audits are made."""

SIMPLE_PLANS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}
"""The workers do the work, and Java sees what was found: plans are neither adapted, nor compiled, nor split."""


def audit(
    histories: Histories,
    only: Iterable[str] | str | None = None,
    progress: bool = True,
    scratch: Where | None = None,
    files: Where | None = None,
    way: str = "",
) -> Summary:
    """Return what the audits, all or those named in `only`, find in these histories.

    `files` is the place where `write_histories` put exactly these histories; without it they are written to
    `scratch` first. Intermediate tables go to `scratch`, a place that all workers see; what was written there is
    removed with the Summary, and after an error. If not given, it is a folder of temporary files for workers on this
    machine, and beside `files` for others. `progress` prints a line while audits run. `way` is one of WAYS; without it
    the size of the histories decides, and `Summary.way` holds the decision. ValueError, naming the possible values, for
    an unknown audit or way.
    """
    chosen = chosen_checks(only)
    spark = histories.log.sparkSession
    if scratch is None and files is not None and not local_workers(spark):
        scratch = place_of(files).parent
    if way and way not in WAYS:
        raise ValueError(f"no way {way!r}; there are {', '.join(WAYS)}")
    store = Store(spark, scratch, progress)
    began = time.monotonic()
    layout = layout_in(store, histories, files)
    way = way or (CHECKS if layout.records <= SMALL else KEY_PASS)
    with use_settings(spark, SIMPLE_PLANS):
        by_log = {one.name for one in chosen if one.from_a_log} if labels_by_run(layout.files, (CAPTURED,)) else set()
        every = _check(chosen, store, layout) if way == CHECKS else _by_passes(chosen, store, layout, by_log)
        lacks = labels_by_run(layout.files, (LACKS,))
        if lacks:
            every = _without_unknown(every, lacks)
        rows = _rows(chosen, every, {label.value for of_run in lacks.values() for label in of_run}, by_log)
    seconds = time.monotonic() - began
    store.say(f"{len(chosen)} audit{'s' * (len(chosen) > 1)} in {seconds:.1f} s, {WAYS[way]}", end="\n")
    findings = every.where(F.col("examined").isNull()).select(*FIELDS)
    counts = every.where(F.col("examined").isNotNull()).groupBy("run", "anomaly")
    examined = counts.agg(F.sum("examined").alias("examined"))
    return Summary(rows=rows, findings=findings, examined=examined, seconds=seconds, way=way, store=store)


def layout_in(store: Store, histories: Histories, files: Where | None) -> Layout:
    """Return the layout of the files at `files`; of histories that are in none of this version, write them first."""
    if files is not None and (layout := layout_of(files)).version == VERSION:
        return layout
    store.say("writing files …")
    write_histories(histories, store.folder / "histories")
    return layout_of(store.folder / "histories")


def _check(chosen: Sequence[Check], store: Store, layout: Layout) -> DataFrame:
    """Findings and counts of every run, by the checks."""
    names = [one.name for one in chosen]
    return store.keep("checks", check_runs(store.spark, layout, names), title=f"{len(names)} checks of every run")


def _by_passes(chosen: Sequence[Check], store: Store, layout: Layout, by_log: Collection[str]) -> DataFrame:
    """Findings and counts: a pass over the keys, one over the clients, then the cycles and the inputs.

    The audits in `by_log` look at logs alone, apart from these passes.
    """
    names = {check.name for check in chosen}.difference(by_log)
    folder = store.folder / "pass"
    require_memory(store.spark, [*map(bucket_mb, layout.rows.values())], "partitions")
    into = None
    if names.intersection((*NAMES, lost_write.name)):
        store.say("clients and their producer ids …")
        into = Handover(folder, splits_of(store.spark, layout.files, layout.records, folder))
        share = into.splits.largest
        require_memory(store.spark, [split_mb(int(share * layout.records))] * into.splits.count, "producers")
    found = key_pass(store.spark, layout, names, into)
    parts = [store.keep("key pass", found, title="audits key by key")]
    if into is not None and names.intersection(NAMES):
        found = client_pass(store.spark, layout.files, into, names)
        parts.append(store.keep("client pass", found, title="audits client by client"))
    if into is not None and names.intersection(SEARCHES):
        parts.append(store.keep("cycles", cycle_pass(store.spark, into, names), title="cycles among transactions"))
    if into is not None and names.intersection(INPUTS):
        found = input_pass(store.spark, layout.files, into, names)
        parts.append(store.keep("inputs", found, title="audits input by input"))
    if by_log:
        found = log_pass(store.spark, layout.files, by_log)
        parts.append(store.keep("logs", found, title="audits by logs alone"))
    return reduce(DataFrame.unionByName, parts)


@contextmanager
def use_settings(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
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


def chosen_checks(only: Iterable[str] | str | None) -> list[Check]:
    """The checks of these names, in the order of the registry; all without names."""
    names = [only] if isinstance(only, str) else BY_NAME if only is None else list(only)
    unknown = [name for name in names if name not in BY_NAME]
    if unknown or not names:
        what = f"no audit {', '.join(map(repr, unknown))}" if unknown else "no audit was named"
        raise ValueError(f"{what}; there are {', '.join(BY_NAME)}")
    return [check for check in ALL_CHECKS if check.name in names]


def _without_unknown(every: DataFrame, lacks: Labels) -> DataFrame:
    """Leave out what audits say of runs that lack a table that they need: it is unknown."""
    tables = {run: {label.value for label in of_run} for run, of_run in lacks.items()}
    unknown = [(run, name) for run, some in tables.items() for name in BY_NAME if BY_NAME[name].missing_tables(some)]
    frame = every.sparkSession.createDataFrame(unknown, "run bigint, anomaly string")
    return every.join(F.broadcast(frame), ["run", "anomaly"], "left_anti").select(every.columns)


def _rows(checks: Sequence[Check], every: DataFrame, lacks: set[str], by_log: Collection[str]) -> list[AuditRow]:
    """One row for each audit, in their order.

    It is unknown where a history lacks a table that the audit needs, and if what logs show is all that it has.
    """
    of = every.groupBy("anomaly", "policy").agg(F.count(F.lit(1)).alias("rows"), F.sum("examined").alias("examined"))
    examined: dict[str, int] = {}
    found: dict[str, dict[str, int]] = {check.name: {} for check in checks}
    for anomaly, policy, rows, seen in of.collect():
        if policy is None:
            examined[anomaly] = int(seen or 0)
        else:
            found[anomaly][policy] = rows
    missing = {check.name: check.missing_tables(lacks) for check in checks}
    unknown = {name: [UNKNOWN] if missing[name] or name in by_log else [] for name in missing}
    return [
        AuditRow(
            anomaly=name,
            policy=check.policy,
            verdict=check.verdict_of(examined.get(name, 0), [*found[name], *unknown[name]]),
            examined=examined.get(name, 0),
            findings=tuple(sorted(found[name].items())),
            missing=missing[name],
        )
        for check in checks
        for name in (check.name,)
    ]


class Store:
    """A folder of intermediate tables; it goes when nothing needs it any more."""

    def __init__(self, spark: SparkSession, folder: Where | None = None, progress: bool = False) -> None:
        self.spark = spark
        scratch = scratch_at(folder, "kafkalab-audit-")
        self.folder, self._scratch = place_of(scratch.folder), scratch
        self.progress = progress
        self.remove = scratch.remove
        self._numbers = count(1)

    def keep(self, name: str, frame: DataFrame, title: str = "") -> DataFrame:
        """Materialise the rows once and return a DataFrame that reads them back: plans stay small."""
        began = time.monotonic()
        self.say(f"{title or name} …")
        place = self.folder / f"{next(self._numbers):02}-{name.replace(' ', '-')}"
        try:
            write_frame(frame, place)
        except BaseException:
            self.remove()
            raise
        self.say(f"{title or name}: {time.monotonic() - began:.1f} s")
        return read_frame(self.spark, place, frame.schema)

    def say(self, line: str, end: str = "") -> None:
        """Replace the line of progress; `end` is a line break after the last one."""
        if self.progress:
            print(f"\r{line:<70}", end=end, file=sys.stderr, flush=True)
