"""The audits of a large capture that its logs alone answer, by the checks' `from_a_log`: one task beside the passes.

It reads the entries of `__consumer_offsets`, the markers, and the transaction log. Numpy selects what breaks a
necessary condition of a rule; the check judges that, as everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.from_a_log import CAPTURED
from kafkalab.checks.offset_output_split import offset_output_split
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import View
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.client_pass.split import Entries, last_of
from kafkalab.spark.per_key_audits.arrays import Log, Names, groups, longs, starts
from kafkalab.spark.per_key_audits.files import COLUMNS
from kafkalab.spark.per_key_audits.key_pass import Elsewhere, Files, labels_by_run, rows_where
from kafkalab.spark.per_key_audits.log import Labels
from kafkalab.spark.per_key_audits.suspects import views
from kafkalab.spark.storage.findings import COUNTED, rows_of
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.storage.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Suspects = Iterator[tuple[int, View]]


def log_pass(spark: SparkSession, files: Files, names: Collection[str]) -> DataFrame:
    """Return the findings, rows of COUNTED, of the checks of these names in the runs that are captures."""
    labels = labels_by_run(files, (CAPTURED,))

    def work(_: int) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist(rows_by_log(partial(rows_where, files), labels, names), COUNTED)

    return in_tasks(spark, 1, work, COUNTED)


def rows_by_log(elsewhere: Elsewhere, labels: Labels, names: Collection[str]) -> list[dict[str, object]]:
    """Return the findings, rows of COUNTED, given a function that returns rows of a table."""
    captures = pc.field("run").isin(list(labels))
    found: list[tuple[int, View, str]] = []
    for run, view in suspect_offsets(elsewhere, captures):
        found += [(run, view, check.name) for check in (torn_transaction, offset_output_split)]
    found += [(run, view, torn_transaction.name) for run, view in suspect_markers(elsewhere, captures)]
    rows: list[dict[str, object]] = []
    for run, view, name in found:
        if name in names:
            view.history = replace(view.history, labels=labels[run])
            rows += rows_of(run, BY_NAME[name](view).findings)
    return rows


def suspect_offsets(elsewhere: Elsewhere, captures: pc.Expression) -> Suspects:
    """Yield the committed offsets of a group's partition that do not rise, or of which a transaction holds two."""
    names, of_topic = Names(), pc.starts_with(pc.field("key"), f"{OFFSETS_TOPIC}-")
    log = Log(elsewhere("log", COLUMNS["log"], captures & of_topic), names)
    rows = np.flatnonzero(log.final & log.keyed)
    key = names.codes(log.table.column("record_key"))[log.at[rows]]
    value = pc.cast(pc.fill_null(log.values, "-1"), pa.int64()).to_numpy()[rows] if len(rows) else rows
    place = groups(log.group[rows], key)
    order = np.lexsort((rows, place))
    falls = ~starts(place[order])
    falls[1:] &= value[order][1:] < value[order][:-1]
    inside = np.flatnonzero(log.ended_by[rows] >= 0)
    together = groups(place[inside], log.ended_by[rows[inside]])
    low, high = last_of(together, value[inside], int(together.max(initial=-1)) + 1)
    chosen = np.isin(place, np.union1d(place[order][falls], place[inside][(low != high)[together]]))
    markers = log.ended_by[rows[chosen]]
    yield from views(log=log.rows(np.union1d(rows[chosen], markers[markers >= 0])))


def suspect_markers(elsewhere: Elsewhere, captures: pc.Expression) -> Suspects:
    """Yield the producer ids that have a marker without a decision after an entry of the transaction log."""
    names = Names()
    entries = Entries(elsewhere("transactions", tuple(arrow_schema("transactions").names), captures), names)
    marks = elsewhere("log", COLUMNS["log"], captures & (pc.field("control") != ""))
    run, pid, step = (longs(marks, name) for name in ("run", "producer_id", "step"))
    key, control = names.codes(marks.column("key")), names.codes(marks.column("control"))
    undecided = entries.decisions(run, key, pid, longs(marks, "producer_epoch"), control, step) < 0
    who = groups(np.concatenate([entries.run, run]), np.concatenate([entries.pid, pid]))
    first, _ = last_of(who[: len(entries.run)], entries.step, int(who.max(initial=-1)) + 1)
    mine = who[len(entries.run) :]
    ids = np.unique(pid[undecided & (first[mine] >= 0) & (first[mine] < step)]).tolist()
    if ids:
        log = Log(elsewhere("log", COLUMNS["log"], captures & pc.field("producer_id").isin(ids)), Names())
        ended = np.flatnonzero(log.ended_by >= 0)
        firsts = ended[np.unique(log.ended_by[ended], return_index=True)[1]]
        rows = log.rows(np.union1d(firsts, np.flatnonzero(log.marker)))
        yield from views(log=rows, transactions=entries.table.filter(pc.field("producer_id").isin(ids)))
