"""The reading of partitions for a capture: Fetch by Fetch into rows, and what the transaction log says so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kafkalab.checks.view import PREPARED
from kafkalab.history.schema import LogRecord, TxnEntry
from kafkalab.protocol.messages.fetch import PartitionFetched
from kafkalab.protocol.records import Batch, ControlType, OtherRecords
from kafkalab.wire.capture.internal import EntryError
from kafkalab.wire.capture.rows import (
    STEPS_A_MS,
    Columns,
    Decisions,
    add_entries,
    add_log,
    empty,
    is_transaction_log,
)
from kafkalab.wire.capture.source import CaptureError, Source
from kafkalab.wire.capture.state import CaptureState, PartitionState

CHUNK_ROWS = 50_000
DECISIONS_KEPT_MS = 60_000
"""A capture that follows keeps decisions this long: more than SKEW_MS, by which a marker may be ahead of its own."""
READ, UNREADABLE, ABSENT = "read", "its entries cannot be read", "there is none, or it may not be read"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows by table, to be written before the state is saved. Without any rows it only marks progress."""

    tables: dict[str, Columns]
    rows: int


@dataclass(slots=True)
class LogKnowledge:
    """The state of the transaction log so far: first decisions, and each producer id's newest state with its step."""

    decisions: Decisions = field(default_factory=dict)
    newest: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Note entries: their producer id, epoch, state, partitions and step."""
        for producer_id, epoch, state, partitions, step in rows:
            if step >= self.newest.get(producer_id, (-1, ""))[0]:
                self.newest[producer_id] = (step, state)
            for key in partitions if state in PREPARED else ():
                place = (producer_id, epoch, PREPARED[state], key)
                self.decisions[place] = min(step, self.decisions.get(place, step))

    def forget(self) -> None:
        """Drop decisions that no marker can be ahead of any more: the first marker of each has been read."""
        newest = max((step for step, _ in self.newest.values()), default=0)
        oldest = newest - DECISIONS_KEPT_MS * STEPS_A_MS
        self.decisions = {place: step for place, step in self.decisions.items() if step >= oldest}


def read_all(
    source: Source, state: CaptureState, leaders: dict[str, str], names: list[str], known: LogKnowledge
) -> Iterator[Chunk]:
    """Read partitions to their ends; a chunk has about CHUNK_ROWS rows, of one or several of them."""
    tables: dict[str, Columns] = {"log": empty(LogRecord), "transactions": empty(TxnEntry)}
    rows = 0
    for name in names:
        one = state.partitions[name]
        while not one.done:
            if name not in leaders:
                raise CaptureError(f"{name} has no leader")
            rows += _read(source, state, name, leaders[name], tables, known.decisions)
            if rows >= CHUNK_ROWS:
                yield Chunk(tables, rows)
                tables, rows = {"log": empty(LogRecord), "transactions": empty(TxnEntry)}, 0
    if rows:
        yield Chunk(tables, rows)


def _read(
    source: Source, state: CaptureState, name: str, leader: str, tables: dict[str, Columns], decisions: Decisions
) -> int:
    """Add what one Fetch returns; return how many rows."""
    one = state.partitions[name]
    committed = one.next < one.last_stable_offset
    fetched = source.fetch(name, leader, one.next, committed)
    _note(one, fetched)
    rows, before = 0, one.next
    for batch in fetched.batches:
        if isinstance(batch, OtherRecords):
            raise CaptureError(f"{name} has a batch behind offset {one.next} that is no record batch of version 2")
        if batch.last_offset < one.next:
            continue
        if batch.base_offset >= one.end:
            one.next = one.end
            break
        one.holes += max(0, batch.base_offset - one.next)
        if is_transaction_log(name):
            rows += _entries(state, tables, name, leader, batch)
        else:
            _check_aborted(one, batch, committed)
            rows += add_log(tables["log"], name, leader, batch, one, decisions, state.topics)
        one.next = batch.last_offset + 1
    if one.next == before and committed == (one.next < one.last_stable_offset):
        nothing_until = min(one.end, one.last_stable_offset) if committed else one.end
        one.holes += nothing_until - one.next  # what compaction has removed at the end
        one.next = nothing_until
    one.rows += rows
    return rows


def _entries(state: CaptureState, tables: dict[str, Columns], name: str, leader: str, batch: Batch) -> int:
    """Add entries of the transaction log; after one that cannot be read the log counts as unread."""
    try:
        return add_entries(tables["transactions"], name, leader, batch, state.partitions[name])
    except EntryError:
        state.transaction_log = UNREADABLE
        return 0


def _note(one: PartitionState, fetched: PartitionFetched) -> None:
    one.high_watermark, one.log_start = fetched.high_watermark, max(one.log_start, fetched.log_start_offset)
    one.last_stable_offset = fetched.last_stable_offset
    for row in fetched.aborted_transactions or ():
        offsets = one.aborted.setdefault(row.producer_id, [])
        if row.first_offset not in offsets:
            offsets.append(row.first_offset)


def _check_aborted(one: PartitionState, batch: Batch, committed: bool) -> None:
    """Compare an ABORT marker with the aborted list of the Fetch that returned it."""
    if batch.control is ControlType.ABORT and committed:
        first, listed = one.open.get(batch.producer_id, -1), one.aborted.get(batch.producer_id, [])
        if first in listed:
            listed.remove(first)
            one.listed += 1
            if not listed:
                del one.aborted[batch.producer_id]
        elif first >= 0:
            one.unlisted += 1
