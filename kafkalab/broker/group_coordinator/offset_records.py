"""A commit on its way into `__consumer_offsets`: what is refused per partition, and the batch of the rest."""

from __future__ import annotations

from typing import Protocol

from kafkalab.broker.state import BrokerState
from kafkalab.log.group_offsets import OffsetCommit, offset_key
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import Batch, Record


class CommitFields(Protocol):
    """The fields that OffsetCommit and TxnOffsetCommit have in common."""

    @property
    def group_id(self) -> str: ...

    @property
    def offsets(self) -> dict[str, int]: ...

    @property
    def metadata(self) -> dict[str, str]: ...

    @property
    def leader_epochs(self) -> dict[str, int]: ...


def unknown_partitions(broker: BrokerState, request: CommitFields) -> dict[str, Error]:
    """UNKNOWN_TOPIC_OR_PARTITION for each partition that the cluster does not have; the others go on."""
    known = broker.metadata.partitions
    return {p: Error.UNKNOWN_TOPIC_OR_PARTITION for p in request.offsets if p not in known}


def too_large(broker: BrokerState, request: CommitFields) -> dict[str, Error]:
    """OFFSET_METADATA_TOO_LARGE for each partition whose text is longer than offset.metadata.max.bytes."""
    most = broker.config.offset_metadata_max_bytes
    return {p: Error.OFFSET_METADATA_TOO_LARGE for p, text in request.metadata.items() if len(text) > most}


def offsets_batch(
    request: CommitFields,
    refused: dict[str, Error],
    now: int,
    producer_id: int = -1,
    epoch: int = -1,
    expires_ms: int = -1,
) -> Batch:
    """The records of what is not refused; a transactional batch has sequence 0, and no check looks at it
    (docs/protocol.md#offset-records).

    The epoch of the leader that the record was read from goes along (KIP-320).
    """
    entries = (
        OffsetCommit(
            group=request.group_id,
            partition=p,
            offset=offset,
            leader_epoch=request.leader_epochs.get(p, -1),
            metadata=request.metadata.get(p, ""),
            commit_timestamp_ms=now,
            expire_timestamp_ms=expires_ms,
        )
        for p, offset in request.offsets.items()
        if p not in refused
    )
    return Batch(
        records=tuple(Record(offset_key(e.group, e.partition), e) for e in entries),
        timestamp_ms=now,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )
