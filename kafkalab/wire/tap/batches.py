"""Batches in frames as pictures need them: with their records read, instead of a client's bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalab.protocol.batch_bytes import CorruptBatchError
from kafkalab.protocol.messages.fetch import FetchResponse
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import ClientBatch

UNREADABLE = Record(None, "(records that cannot be read)")


def readable(batch: Batch) -> Batch:
    """Return the batch with its records decoded; one that cannot be decompressed keeps its header."""
    if not isinstance(batch, ClientBatch):
        return batch
    try:
        records = tuple(batch.records)
    except CorruptBatchError:
        records = (UNREADABLE,) * len(batch.records)
    return Batch(
        records=records,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        timestamp_ms=batch.timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        last_offset_delta=batch.last_offset_delta if batch.last_offset_delta != len(records) - 1 else -1,
    )


def with_records(body: Any) -> Any:
    """Return a body whose batches, if it has any, are readable."""
    if isinstance(body, Produce):
        return replace(body, batches={p: readable(b) for p, b in body.batches.items()})
    if isinstance(body, FetchResponse):
        parts = {p: replace(f, batches=tuple(map(readable, f.batches))) for p, f in body.partitions.items()}
        return replace(body, partitions=parts)
    return body
