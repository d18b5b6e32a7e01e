"""The filter of fetched batches: no markers are delivered, to read_committed no aborted records
(docs/protocol.md#aborted-filter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.records import Batch, ControlType, Headers


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A record that an application gets."""

    partition: str
    offset: int
    key: str | None
    value: str
    headers: Headers = ()


def deliver(
    partition: str, position: int, batches: Sequence[Batch], aborted: Sequence[AbortedTxn] | None
) -> tuple[list[ConsumerRecord], int]:
    """Return the records from `position` on, and the next position.

    `aborted` is None for read_uncommitted; it may name transactions that begin behind the batches.
    """
    waiting = sorted(aborted or (), key=lambda a: a.first_offset)
    aborting: dict[int, None] = {}
    records: list[ConsumerRecord] = []
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            aborting[waiting.pop(0).producer_id] = None
        if batch.control is not None:
            if batch.control is ControlType.ABORT and batch.records:
                aborting.pop(batch.producer_id, None)
        elif not (batch.transactional and batch.producer_id in aborting):
            for offset, record in zip(batch.offsets, batch.records, strict=True):
                if offset >= position:
                    records.append(ConsumerRecord(partition, offset, record.key, record.value, record.headers))
        position = max(position, batch.last_offset + 1)
    return records, position
