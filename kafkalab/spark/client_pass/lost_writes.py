"""What was acknowledged and may be lost, as the key pass has left it; where only a client knows, its commit decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafkalab.checks.check import Finding
from kafkalab.checks.lost_write import lost_write
from kafkalab.checks.transactions import ClientTxn, Send
from kafkalab.checks.view import PLAIN, Stretch, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Read
from kafkalab.spark.client_pass.endings import Judged
from kafkalab.spark.client_pass.split import Split
from kafkalab.spark.client_pass.views import judge
from kafkalab.spark.key_pass.arrays import Flags, groups, longs


def lost_writes(split: Split) -> Judged:
    """Judge what nobody was given, though a poll came past it."""
    acknowledged, unread = split.tables["acknowledged"], split.tables["unread"]
    counted = acknowledged.filter(pa.array(_committed(split, acknowledged)))
    examined: dict[int, int] = {}
    for run, many in zip(counted.column("run").to_pylist(), counted.column("examined").to_pylist(), strict=True):
        examined[run] = examined.get(run, 0) + many
    return _judged(unread.filter(pa.array(_committed(split, unread))).to_pylist()), examined


def _committed(split: Split, told: pa.Table) -> Flags:
    """Whether no client has to say that its transaction is committed, or it does."""
    calls, names, number = split.calls, split.names, longs(told, "number")
    pairs = (
        (longs(told, "run"), longs(calls, "run")),
        (names.codes(told.column("client")), names.codes(calls.column("client"))),
        (number, longs(calls, "transaction")),
    )
    same = groups(*(np.concatenate(pair) for pair in pairs))
    found: Flags = np.isin(same[: len(number)], same[len(number) :][split.clients.committed[split.call_txn]])
    return found | (number < 1)


def _judged(rows: list[dict[str, Any]]) -> Iterator[tuple[int, Finding]]:
    views: dict[int, View] = {}
    for row in rows:
        _add(views.setdefault(row["run"], View(History())), row)
    for run, view in views.items():
        yield from judge(run, lost_write, view)


def _add(view: View, row: dict[str, Any]) -> None:
    """Add a send of SUSPECTS, what became of its records, and the passage that came by."""
    own = {name: row[name] for name in ("client", "key", "value", "producer_id", "transaction", "step")}
    end = Operation(type="ok", offset=row["offset"], step=row["end_step"])
    send = Send(Operation(**own), end, [LogRecord(removed="truncated", removed_step=step) for step in row["gone"]])
    view.sends.append(send)
    key, place = row["key"], (row["key"], row["offset"])
    if row["held"]:
        send.records.append(LogRecord(*place))
        view.at[place], view.outcomes[place] = send.records[-1], PLAIN
    if row["number"] >= 1:
        committed = Operation(function="commit", type="ok")
        view.transactions.append(ClientTxn("", client=row["client"], number=row["number"], ends=[committed]))
    if row["before"]:
        offset, step = row["before"]
        view.logs.setdefault(key, []).append(LogRecord(key, offset, step=step))
    start, last, step = row["passage"]
    read = Read(key=key, offset=last, step=step)
    stretch = Stretch("", -1, key, "", step, start, moved="seek", reads=[read])
    view.stretches.setdefault(("", key), []).append(stretch)
