"""Rows of a history's tables out of the batches of a captured partition, column by column."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafkalab.history.schema import LogRecord
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.records import Batch, sequence_after
from kafkalab.wire.batches import ClientBatch
from kafkalab.wire.capture.internal import EntryError, committed_offset, txn_entry
from kafkalab.wire.capture.records import append_time, raw_records
from kafkalab.wire.capture.state import PartitionState

STEPS_A_MS = 1_000
DECIDED, IN_LOG, AT_REST = 0, 400, 800
"""A step is a time of brokers: so many steps a millisecond. Within one millisecond a decision comes before a record
or a marker, and these before the state that follows, as the coordinator waits for the markers."""
SKEW_MS = 5_000
"""A marker's leader may be so much behind its coordinator: then it still counts as after its decision."""

Columns = dict[str, list[Any]]
Decisions = dict[tuple[int, int, str, str], int]
"""By producer id, epoch, COMMIT or ABORT, and key: the step of the first decision of that kind."""


def empty(row: type) -> Columns:
    """Return empty columns of a table's row class."""
    return {name: [] for name in row._fields}  # type: ignore[attr-defined]


def add_row(columns: Columns, row: Any) -> int:
    """Add one row; return 1."""
    for name, value in row._asdict().items():
        columns[name].append(value)
    return 1


def add_log(
    columns: Columns, key: str, node: str, batch: Batch, state: PartitionState, decisions: Decisions,
    topics: Collection[str] = (),
) -> int:  # fmt: skip
    """Add the rows of a batch of a data partition, or of `__consumer_offsets`; return how many.

    Of `__consumer_offsets` only markers and the offsets of `topics` become rows, unless it is one of them; the other
    entries, such as those of members and of KIP-848, are counted.

    The step of a record is that of the last marker before it, or of its own append where the leader says when that
    was: it is known to be later, and nothing more is.
    """
    if batch.control is not None:
        own = batch.timestamp_ms * STEPS_A_MS + IN_LOG
        state.clock = max(state.clock, own)
        state.open.pop(batch.producer_id, None)
        decided = decisions.get((batch.producer_id, batch.producer_epoch, batch.control.name, key), -1)
        after = decided + 1 if own <= decided <= own + SKEW_MS * STEPS_A_MS else own
        return add_row(
            columns,
            LogRecord(
                key=key,
                offset=batch.base_offset,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                transactional=True,
                control=batch.control.name,
                coordinator_epoch=batch.coordinator_epoch,
                leader_epoch=batch.leader_epoch,
                node=node,
                step=after,
                at_ms=batch.timestamp_ms,
            ),
        )
    if not isinstance(batch, ClientBatch):
        return 0
    if batch.in_transaction:
        state.open.setdefault(batch.producer_id, batch.base_offset)
    appended = append_time(batch)
    if appended >= 0:
        state.clock = max(state.clock, appended * STEPS_A_MS + IN_LOG)
    topic = topic_of(key)
    offsets_of = topics if topic == OFFSETS_TOPIC and topic not in topics else None
    return _add_records(columns, key, node, batch, state, offsets_of)


def _add_records(
    columns: Columns, key: str, node: str, batch: ClientBatch, state: PartitionState, offsets_of: Collection[str] | None
) -> int:
    texts = _offset_texts if topic_of(key) == OFFSETS_TOPIC else _texts
    offsets, count = columns["offset"], 0
    times, keys, values, headers, sequences = (
        columns[name] for name in ("at_ms", "record_key", "value", "headers", "sequence")
    )
    base, base_sequence = batch.base_offset, batch.base_sequence
    for offset, at_ms, record_key, value, pairs in raw_records(batch):
        key_text, value_text = texts(record_key, value)
        if offsets_of is not None and topic_of((key_text or "").rpartition("/")[2]) not in offsets_of:
            state.skipped += 1
            continue
        offsets.append(offset)
        times.append(at_ms)
        keys.append(key_text)
        values.append(value_text)
        headers.append([f"{_text(k)}={'' if v is None else _text(v)}" for k, v in pairs] if pairs else ())
        sequences.append(sequence_after(base_sequence, offset - base))
        count += 1
    for name, one in (
        ("key", key), ("producer_id", batch.producer_id), ("producer_epoch", batch.producer_epoch),
        ("transactional", batch.in_transaction), ("control", ""), ("coordinator_epoch", -1),
        ("leader_epoch", batch.leader_epoch), ("node", node), ("frame", ""), ("step", state.clock), ("removed", ""),
        ("removed_step", -1),
    ):  # fmt: skip
        columns[name].extend([one] * count)
    return count


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def _texts(key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    return _text(key), _text(value)


def _offset_texts(key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    """Of a committed offset the group, partition and offset; other entries keep no text."""
    try:
        return committed_offset(key or b"", value)
    except EntryError:
        return None, None


def add_entries(columns: Columns, key: str, node: str, batch: Batch, state: PartitionState) -> int:
    """Add the rows of a batch of `__transaction_state`; return how many. EntryError for one that cannot be read."""
    count = 0
    if isinstance(batch, ClientBatch):
        for record in raw_records(batch):
            entry = txn_entry(record.key or b"", record.value)
            at_ms = entry.at_ms if entry.at_ms >= 0 else record.at_ms
            order = DECIDED if entry.state.startswith("Prepare") else AT_REST
            state.clock = max(at_ms * STEPS_A_MS + order, state.clock + 1)
            place: Any = {"key": key, "offset": record.offset, "coordinator_epoch": batch.leader_epoch, "node": node}
            row = entry._replace(**place, step=state.clock, at_ms=at_ms)
            count += add_row(columns, row)
    return count


def is_transaction_log(key: str) -> bool:
    """Return whether a key is a partition of `__transaction_state`."""
    return topic_of(key) == TRANSACTION_TOPIC
