"""Makes the tables of a history out of a trace: logs as their leaders wrote them, frames, watermarks, polls."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from kafkalab.history.history import History
from kafkalab.history.operations import operations_of
from kafkalab.history.schema import (
    TOO_FEW_IN_SYNC,
    FrameRow,
    Label,
    Leader,
    LogRecord,
    Poll,
    Read,
    TxnEntry,
    Watermark,
)
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.consumer_group_records import GroupRecord, describe_record, parse_record_key
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.records import Batch, sequence_after
from kafkalab.protocol.source_header import header_texts
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Cast, Run
from kafkalab.run.source import Source, run_of
from kafkalab.trace import Event, Trace

FRAME_FIELDS = attrgetter(*FrameRow._fields)
FLOWN = ("send", "receive")
"""The kinds of events of which `_Tables` takes no note: the frames have a table of their own."""
Place = tuple[str, int, int]  # key, offset, leader epoch: where one record was appended, once


def history_of(source: Source | Trace) -> History:
    """Return the history of a run. Of frames alone it is not known what compaction and deletion have removed.

    ValueError for a trace that kept no events.
    """
    run = Run(trace=source, cast=Cast()) if isinstance(source, Trace) else run_of(source)
    if not run.trace.keep:
        raise ValueError("this run kept no events (keep=False): a history cannot be made of it")
    tables = _Tables(run.trace)
    for event in run.trace.events:
        if event.kind not in FLOWN:
            tables.add(event)
    records, entries = tables.log_rows(tables.collect_removed(run.logs))
    return History(
        operations=operations_of(run.trace),
        log=records,
        reads=tuple(tables.reads),
        polls=tuple(tables.polls),
        frames=tuple(map(FrameRow._make, map(FRAME_FIELDS, run.trace.frames.values()))),
        transactions=entries,
        watermarks=tuple(tables.watermarks),
        leaders=tuple(tables.leaders),
        labels=_labels(run),
    )


class _Tables:
    """Rows so far, and what every replica holds."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.appends: dict[Place, tuple[Event, Batch, int]] = {}
        self.replicas: dict[tuple[str, str], dict[int, int]] = {}  # (node, key) -> offset -> leader epoch
        self.cuts: dict[str, list[tuple[int, int]]] = {}  # key -> (offset, step) of truncations
        self.led: dict[str, Leader] = {}
        self.reads: list[Read] = []
        self.polls: list[Poll] = []
        self.watermarks: list[Watermark] = []
        self.leaders: list[Leader] = []
        self._polled: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """One more event."""
        if event.kind == "append":
            self._append(event)
        elif event.kind == "truncate":
            self._truncate(event)
        elif event.kind == "state" and event.name == "watermark":
            self._watermark(event)
        elif event.kind == "state" and event.name == "metadata":
            self._metadata(event)
        elif event.kind == "complete" and event.name == "poll":
            self._poll(event)

    def _append(self, event: Event) -> None:
        batch: Batch = event.data
        held = self.replicas.setdefault((event.node, event.name), {})
        for i, offset in enumerate(batch.offsets):
            held[offset] = batch.leader_epoch
            self.appends.setdefault((event.name, offset, batch.leader_epoch), (event, batch, i))

    def _truncate(self, event: Event) -> None:
        key: str = event.data["partition"]
        offset: int = event.data["offset"]
        held = self.replicas.get((event.node, key), {})
        for known in [o for o in held if o >= offset]:
            del held[known]
        self.cuts.setdefault(key, []).append((offset, event.step))

    def _watermark(self, event: Event) -> None:
        key: str = event.data["partition"]
        led = self.led.get(key, Leader())
        mark = {name: event.data[name] for name in ("high_watermark", "last_stable_offset")}
        leads, when = led.leader == event.node, {"step": event.step, "at_ms": event.at_ms}
        row = Watermark(key=key, node=event.node, leads=leads, leader_epoch=led.leader_epoch, **mark, **when)
        self.watermarks.append(row)

    def _metadata(self, event: Event) -> None:
        epochs: dict[str, int] = event.data["leader_epochs"]
        leaders: dict[str, str] = event.data["leaders"]
        led = self.led
        for key, leader in leaders.items():
            known = led.get(key)
            if known is None or known.leader_epoch != epochs[key] or known.leader != leader:
                led[key] = row = Leader(key, leader, epochs[key], event.step, event.at_ms)
                self.leaders.append(row)

    def _poll(self, event: Event) -> None:
        data, consumer = event.data, event.data["consumer"]
        number = self._polled[consumer] = self._polled.get(consumer, 0) + 1
        same: dict[str, Any] = {"consumer": consumer, "process": event.node, "poll": number, "step": event.step}
        same["isolation_level"] = data["isolation_level"]
        for key, start in data["from"].items():
            end, moved = data["to"].get(key, -1), data["moved"].get(key, "")
            self.polls.append(Poll(group=data["group_id"], key=key, start=start, end=end, moved=moved, **same))
        for index, (key, offset, value) in enumerate(data["records"]):
            read = Read(index=index, key=key, offset=offset, value=text_of(value), at_ms=event.at_ms, **same)
            self.reads.append(read)

    def collect_removed(self, logs: dict[str, PartitionLog] | None) -> dict[Place, tuple[str, int]]:
        """Return why and when records left the last leader's log; only the logs say what cleaning removed."""
        found: dict[Place, tuple[str, int]] = {}
        last_leader = {row.key: row.leader for row in self.leaders if row.leader}
        for place in self.appends:
            key, offset, epoch = place
            held = self.replicas.get((last_leader.get(key, self.appends[place][0].node), key), {})
            if held.get(offset, epoch) != epoch or (offset not in held and not self._cleaned_before(place, held)):
                steps = [step for cut, step in self.cuts.get(key, ()) if cut <= offset]
                found[place] = ("truncated", max(steps, default=-1))
        if logs is None:
            return found
        there: dict[str, set[int]] = {}
        for place in self.appends:
            key, offset, _ = place
            log = logs[key]
            if key not in there:
                there[key] = {o for batch in log.batches for o in batch.offsets if o >= log.log_start_offset}
            if offset not in there[key] and place not in found:
                found[place] = ("deleted" if offset < log.log_start_offset else "compacted", -1)
        return found

    def _cleaned_before(self, place: Place, held: dict[int, int]) -> bool:
        """Return True if a log without the offset goes back to one that had it: it read that when it was cleaned."""
        key, offset, epoch = place
        next_epoch = min((e for o, e in held.items() if o > offset and e >= epoch), default=-1)
        if next_epoch in (-1, epoch):
            return next_epoch == epoch
        return all(o > offset for k, o, e in self.appends if (k, e) == (key, next_epoch))

    def log_rows(self, removed: dict[Place, tuple[str, int]]) -> tuple[tuple[LogRecord, ...], tuple[TxnEntry, ...]]:
        """The records by key and order of appending; those of the transaction log apart."""
        records: list[LogRecord] = []
        entries: list[TxnEntry] = []
        for place, (event, batch, i) in self.appends.items():
            why, step = removed.get(place, ("", -1))
            if topic_of(event.name) == TRANSACTION_TOPIC:
                entries.append(_txn_entry(event, batch, i, why))
            else:
                records.append(self._log_record(event, batch, i, why, step))
        records.sort(key=lambda r: (r.key, r.step, r.offset))
        return tuple(records), tuple(entries)

    def _log_record(self, event: Event, batch: Batch, i: int, removed: str, removed_step: int) -> LogRecord:
        record = batch.records[i]
        value, record_key = record.value, record.key
        if isinstance(value, OffsetCommit):
            record_key, value = f"{value.group}/{value.partition}", value.offset
        elif isinstance(value, GroupEntry):
            members = ", ".join(m.member_id for m in value.members)
            record_key, value = None, f"group {value.group}, generation {value.generation}: {members or 'nobody'}"
        elif isinstance(value, GroupRecord):
            record_key, value = None, describe_record(value)
        elif topic_of(event.name) == OFFSETS_TOPIC and record_key and not _is_of_offset(record_key):
            record_key = None  # a group is forgotten
        caused = self.trace.events[event.cause] if event.cause >= 0 else None
        return LogRecord(
            key=event.name,
            offset=batch.offsets[i],
            record_key=record_key if batch.control is None else None,
            value=text_of(value),
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            sequence=sequence_after(batch.base_sequence, batch.offsets[i] - batch.base_offset),
            transactional=batch.in_transaction,
            control=batch.control.name if batch.control else "",
            coordinator_epoch=batch.coordinator_epoch,
            leader_epoch=batch.leader_epoch,
            node=event.node,
            frame=caused.frame if caused and caused.kind == "receive" else "",
            step=event.step,
            at_ms=event.at_ms,
            removed=removed,
            removed_step=removed_step,
            headers=header_texts(record.headers),
        )


def _txn_entry(event: Event, batch: Batch, i: int, removed: str) -> TxnEntry:
    record = batch.records[i]
    same = ("producer_id", "producer_epoch", "partitions", "timeout_ms", "start_ms")
    txn: Txn | None = record.value
    given: dict[str, Any] = {name: getattr(txn, name) for name in same} if txn else {}
    return TxnEntry(
        state=txn.state.label if txn else "Dead",
        key=event.name,
        offset=batch.offsets[i],
        transactional_id=record.key or "",
        coordinator_epoch=batch.leader_epoch,
        node=event.node,
        step=event.step,
        at_ms=event.at_ms,
        removed=removed,
        **given,
    )


def _labels(run: Run) -> tuple[Label, ...]:
    """Return what is known of the run as a whole: of frames alone the title."""
    pairs, cast = [("title", run.trace.title)], run.cast
    if run.logs is not None:
        pairs += [("profile", cast.rules.profile), ("seed", str(cast.seed))]
        pairs += [("rule off", name) for name in cast.rules.off]
        pairs += [("fault", repr(fault)) for fault in cast.faults]
        pairs += [("config", f"{name}={value}") for name, value in cast.config.items()]
        pairs += [(TOO_FEW_IN_SYNC, key) for key in run.refusing]
        pairs.append(("end_ms", str(run.end_ms)))
    return tuple(Label(name=name, value=value) for name, value in pairs)


def text_of(value: Any) -> str | None:
    """Return a record's value as the tables have it."""
    return value if value is None or isinstance(value, str) else str(value)


def _is_of_offset(record_key: str) -> bool:
    """Return True for the key of an offset; the others are of groups."""
    return not record_key.endswith("/") and parse_record_key(record_key) is None
