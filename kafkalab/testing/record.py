"""The records of a topic as a consumer is given them, with keys and values in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.log.aborted_filter import deliver
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.batch_bytes import record_fields, text_contents
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.wire.batches import ClientBatch, record_bytes

LEVELS = (READ_COMMITTED, READ_UNCOMMITTED)


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record: where it lies, and what its producer sent."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def records_in(log: PartitionLog, isolation_level: str) -> list[TopicRecord]:
    """Return what a consumer of this isolation level is given now, from the start of the log on."""
    committed = isolation_level == READ_COMMITTED
    start, end = log.log_start_offset, log.last_stable_offset if committed else log.high_watermark
    if end <= start:
        return []
    batches = log.read(start, end)
    given, _ = deliver(log.partition, start, batches, log.aborted_between(start, end) if committed else None)
    visible = {record.offset: record.headers for record in given}
    topic, partition = topic_of(log.partition), index_of(log.partition)
    return [
        TopicRecord(topic, partition, offset, key, value, visible[offset])
        for batch in batches
        for offset, (key, value) in zip(batch.offsets, _contents(batch), strict=True)
        if offset in visible
    ]


def _contents(batch: Batch) -> Iterator[tuple[bytes | None, bytes | None]]:
    if isinstance(batch, ClientBatch):
        fields = record_fields(record_bytes(batch.data), 0, len(batch.records))
        return ((key, value) for _, _, key, value, _ in fields)
    return map(text_contents, batch.records)
