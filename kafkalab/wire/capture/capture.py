"""The steps of a capture: transaction log, data, committed offsets, what is still open, what brokers say of producers.

The order makes the tables fit each other. The ends of the data are fixed first and the transaction log is read after
that, so it has the decision of every marker. A transaction that is open at the end of the data, and that its
coordinator had ended by then, has its marker after that end: it is read, too. The partitions of `__consumer_offsets`
are read as data: their records are the offsets that groups committed of the captured topics.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

from kafkalab.checks.from_a_log import CAPTURED, COMPACTED, COMPLETE, DESCRIBED, UNREAD
from kafkalab.history.schema import Label, Leader, LogRecord, TxnEntry, Watermark
from kafkalab.protocol.messages.fetch import READ_COMMITTED
from kafkalab.protocol.messages.list_offsets import EARLIEST
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.wire.capture.reading import ABSENT, READ, Chunk, LogKnowledge, read_all
from kafkalab.wire.capture.rows import (
    AT_REST,
    STEPS_A_MS,
    Columns,
    add_log,
    add_row,
    empty,
    is_transaction_log,
)
from kafkalab.wire.capture.source import CaptureError, Source
from kafkalab.wire.capture.state import CaptureState, PartitionState

HEARTBEAT_MS = 10_000
"""While records wait for a decision, a capture that follows writes the watermarks this often, moved or not."""


def begin(source: Source, topics: list[str], start: str) -> CaptureState:
    """Return the state of a new capture, with the partitions and their ends. CaptureError for an unknown topic.

    `start` is "earliest", an offset, or milliseconds since 1970 as "@1700000000000".
    """
    state = CaptureState(topics, start, began_ms=_now_ms())
    leaders = source.look_up((*topics, *INTERNAL_TOPICS))
    for topic in topics:
        names = [name for name in leaders if topic_of(name) == topic]
        if not names:
            raise CaptureError(f"there is no topic {topic}, or it has no leader, or it may not be read")
        for name in sorted(names, key=_number):
            state.partitions[name] = _ends(source, name, leaders[name], start)
    _begin_internal_topics(source, state, leaders)
    return state


def _begin_internal_topics(source: Source, state: CaptureState, leaders: dict[str, str]) -> None:
    """Add the partitions of the internal topics that are not among those of the capture yet."""
    if state.transaction_log != READ:
        state.transaction_log = _begin_internal(source, state, leaders, TRANSACTION_TOPIC, "earliest")
    if state.offsets != READ and OFFSETS_TOPIC not in state.topics:
        start = state.start if state.start.startswith("@") else "earliest"
        state.offsets = _begin_internal(source, state, leaders, OFFSETS_TOPIC, start)


def _begin_internal(source: Source, state: CaptureState, leaders: dict[str, str], topic: str, start: str) -> str:
    """Add the partitions of an internal topic and return READ; else return why it cannot be read."""
    found = [name for name in leaders if topic_of(name) == topic and topic not in state.topics]
    try:
        for name in sorted(found, key=_number):
            state.partitions[name] = _ends(source, name, leaders[name], start)
            if state.partitions[name].next < state.partitions[name].end:
                source.fetch(name, leaders[name], state.partitions[name].next, False)
    except CaptureError as error:
        for name in found:
            state.partitions.pop(name, None)
        return str(error).rpartition(": ")[2]
    return READ if found else ABSENT


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _ends(source: Source, name: str, leader: str, start: str) -> PartitionState:
    earliest, end = source.offset(name, leader, EARLIEST), source.end(name, leader)
    stable = min(source.end(name, leader, READ_COMMITTED), end)
    first = earliest
    if start.startswith("@"):
        first = source.offset(name, leader, int(start[1:]))
        first = end if first < 0 else first
    elif start != "earliest":
        first = int(start)
    first = min(max(first, earliest), end)
    return PartitionState(
        start=first, end=end, next=first, log_start=earliest, high_watermark=end, last_stable_offset=stable
    )


def capture(source: Source, state: CaptureState, known: LogKnowledge) -> Iterator[Chunk]:
    """Yield the rows that are missing, chunk by chunk; `state` says how far it is whenever a chunk is yielded.

    The caller adds each chunk's entries of the transaction log to `known` before it asks for the next chunk.
    """
    leaders = source.look_up((*state.topics, *INTERNAL_TOPICS))
    yield from read_all(source, state, leaders, _logs(state), known)
    if state.transactions is None:
        found = source.transactions()
        state.transactions = [{**asdict(row), "error": row.error.name} for row in found or ()]
        state.told = found is not None
        if state.transaction_log != READ and found:
            yield Chunk({"transactions": _describe(state)}, len(found))
    data = _data(state)
    yield from read_all(source, state, leaders, data, known)
    yield _ending(source, state, leaders, data, known)


def read_round(source: Source, state: CaptureState, known: LogKnowledge) -> Iterator[Chunk]:
    """Yield what has come since the last round, and the watermarks; `known` is kept as `capture` wants it.

    The order is that of a whole capture: the ends of the data, then the transaction log, then the data up to these
    ends. So a round has the decisions of all its markers, and one that was broken off is taken up by the next.
    """
    leaders = source.look_up((*state.topics, *INTERNAL_TOPICS))
    _extend(source, state, leaders)
    yield from read_all(source, state, leaders, _logs(state), known)
    state.known = _known_of(state)
    before = {name: state.partitions[name].next for name in _data(state)}
    yield from read_all(source, state, leaders, list(before), known)
    marks = empty(Watermark)
    rows = sum(_mark(source, state, name, read, marks) for name, read in before.items() if _has_rows(state, name))
    if rows:
        yield Chunk({"watermarks": marks}, rows)
    known.forget()


def _extend(source: Source, state: CaptureState, leaders: dict[str, str]) -> None:
    """Move the ends to where they are now: first those of the data, then those of the transaction log."""
    known = [name for name in _data(state) if topic_of(name) == OFFSETS_TOPIC]
    data = {name: leader for name, leader in leaders.items() if topic_of(name) in state.topics or name in known}
    ends, stable = source.ends(data), source.ends(data, READ_COMMITTED)
    for name in sorted(data, key=lambda name: (topic_of(name), _number(name))):
        if name not in state.partitions:
            state.partitions[name] = _ends(source, name, data[name], "earliest")
        one = state.partitions[name]
        one.end = max(one.end, ends[name])
        one.high_watermark, one.last_stable_offset = ends[name], min(stable[name], ends[name])
    _begin_internal_topics(source, state, leaders)
    for name, end in source.ends({name: leaders[name] for name in _logs(state) if name in leaders}).items():
        state.partitions[name].end = max(state.partitions[name].end, end)


def _mark(source: Source, state: CaptureState, name: str, read: int, marks: Columns) -> int:
    """Add the watermarks of a partition if something was read there, or if records wait; return how many rows."""
    one = state.partitions[name]
    at_ms = _now_ms()
    waits = one.last_stable_offset < one.high_watermark and at_ms - one.marked_ms >= HEARTBEAT_MS
    if one.next == read and not waits:
        return 0
    one.marked_ms = at_ms
    return add_row(marks, _watermark(source, name, one, at_ms))


def _watermark(source: Source, name: str, one: PartitionState, at_ms: int) -> Watermark:
    info = source.metadata.partitions[name]
    return Watermark(
        key=name, node=info.leader, leads=True, leader_epoch=info.leader_epoch, high_watermark=one.high_watermark,
        last_stable_offset=one.last_stable_offset, step=at_ms * STEPS_A_MS + AT_REST, at_ms=at_ms,
    )  # fmt: skip


def _logs(state: CaptureState) -> list[str]:
    return [name for name in state.partitions if is_transaction_log(name)]


def _data(state: CaptureState) -> list[str]:
    return [name for name in state.partitions if not is_transaction_log(name)]


def _has_rows(state: CaptureState, name: str) -> bool:
    """Return False for a partition of `__consumer_offsets` that has nothing of the captured topics."""
    return topic_of(name) in state.topics or state.partitions[name].rows > 0


def _describe(state: CaptureState) -> Columns:
    """The transactions that coordinators describe, as entries without a place in the log."""
    columns = empty(TxnEntry)
    for row in state.transactions or ():
        names = ("transactional_id", "state", "producer_id", "producer_epoch", "partitions", "timeout_ms", "start_ms")
        at_ms = _now_ms()
        step = at_ms * STEPS_A_MS + AT_REST
        add_row(columns, TxnEntry(**{name: row[name] for name in names}, at_ms=at_ms, step=step))
    return columns


def _ending(
    source: Source, state: CaptureState, leaders: dict[str, str], data: list[str], known: LogKnowledge
) -> Chunk:
    """The last rows: markers behind the end, watermarks, leaders, labels; and what brokers say of producers."""
    log, marks, led, labels = empty(LogRecord), empty(Watermark), empty(Leader), empty(Label)
    for name in filter(partial(_has_rows, state), data):
        one = state.partitions[name]
        _markers_behind(source, name, leaders[name], one, known, log)
        info = source.metadata.partitions[name]
        at_ms = _now_ms()
        add_row(led, Leader(key=name, leader=info.leader, leader_epoch=info.leader_epoch, at_ms=at_ms))
        add_row(marks, _watermark(source, name, one, at_ms))
        found = source.producers(name, leaders[name])
        state.producers[name] = None if found is None else [asdict(p) for p in found.active_producers]
    state.ended_ms = _now_ms()
    state.known = _known_of(state)
    title = f"capture of {', '.join(state.topics)}"
    for label, value in (("title", title), (CAPTURED, state.known), ("end_ms", str(state.ended_ms))):
        add_row(labels, Label(label, value))
    tables = {"log": log, "watermarks": marks, "leaders": led, "labels": labels}
    return Chunk(tables, len(log["key"]))


def _known_of(state: CaptureState) -> str:
    """Return how much the capture has of the transaction log, in a word of `from_a_log`."""
    if state.transaction_log == READ:
        logs = [state.partitions[name] for name in _logs(state)]
        return COMPACTED if any(one.holes or one.log_start for one in logs) else COMPLETE
    return DESCRIBED if state.told else UNREAD


def _markers_behind(
    source: Source, name: str, leader: str, one: PartitionState, known: LogKnowledge, log: Columns
) -> None:
    """Read on for the markers of transactions that are open at the end and that their coordinators have ended."""
    wanted = {pid for pid in one.open if known.newest.get(pid, (-1, "Ongoing"))[1] != "Ongoing"}
    if not wanted:
        return
    place, end = one.end, source.end(name, leader)
    while place < end and wanted:
        fetched = source.fetch(name, leader, place, False)
        before = place
        for batch in fetched.batches:
            if batch.control is not None and batch.producer_id in wanted and batch.base_offset >= one.end:
                add_log(log, name, leader, batch, one, known.decisions)
                wanted.discard(batch.producer_id)
            place = max(place, batch.last_offset + 1)
        if place == before:
            return


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
