"""ListOffsets: first or last offset of a partition, or that of a time, as an isolation level sees it
(docs/protocol.md#list-offsets)."""

from __future__ import annotations

from kafkalab.broker.handlers.fetch import upper_bound
from kafkalab.broker.state import BrokerState
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.list_offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    UNKNOWN,
    ListOffsets,
    ListOffsetsResponse,
)

OFFSET_NOT_AVAILABLE_SINCE = 5
"""The first version that knows OFFSET_NOT_AVAILABLE; older ones get LEADER_NOT_AVAILABLE."""


def handle(broker: BrokerState, request: ListOffsets, header: Header) -> ListOffsetsResponse:
    """One offset per partition that this broker leads."""
    offsets: dict[str, int] = {}
    errors: dict[str, Error] = {}
    timestamps: dict[str, int] = {}
    for partition in request.partitions:
        found = _find(broker, partition, request)
        if found is Error.OFFSET_NOT_AVAILABLE and header.version < OFFSET_NOT_AVAILABLE_SINCE:
            found = Error.LEADER_NOT_AVAILABLE
        errors[partition] = found if isinstance(found, Error) else Error.NONE
        offsets[partition], timestamp = (UNKNOWN, UNKNOWN) if isinstance(found, Error) else found
        if timestamp != UNKNOWN:
            timestamps[partition] = timestamp
    return ListOffsetsResponse(offsets=offsets, errors=errors, timestamps=timestamps)


def _find(broker: BrokerState, partition: str, request: ListOffsets) -> tuple[int, int] | Error:
    """The offset and, if a record was looked for, its timestamp.

    A new leader whose high watermark is still below where its epoch began cannot tell a consumer an end that was not
    told before it already (KIP-207); it can tell what lies below the high watermark.
    """
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not broker.leads(partition):
        return Error.NOT_LEADER_OR_FOLLOWER
    log = broker.log(partition)
    if request.timestamp == EARLIEST:
        return log.log_start_offset, UNKNOWN
    upper = log.log_end_offset if request.replica else upper_bound(broker, log, request.isolation_level)
    lags = not request.replica and log.high_watermark < broker.epoch_start.get(partition, 0)
    if request.timestamp == LATEST:
        return Error.OFFSET_NOT_AVAILABLE if lags else (upper, UNKNOWN)
    found = _record_at(log, request.timestamp)
    if found[0] != UNKNOWN and found[0] < upper:
        return found
    return Error.OFFSET_NOT_AVAILABLE if lags else (UNKNOWN, UNKNOWN)


def _record_at(log: PartitionLog, timestamp: int) -> tuple[int, int]:
    """The first record at or after the timestamp, or the first one with the largest; markers are records, too."""
    dated = [b for b in log.batches if any(o >= log.log_start_offset for o in b.offsets)]
    if timestamp == MAX_TIMESTAMP:
        timestamp = max((b.timestamp_ms for b in dated), default=0)
    batch = next((b for b in dated if b.timestamp_ms >= timestamp), None)
    if batch is None:
        return UNKNOWN, UNKNOWN
    return next(o for o in batch.offsets if o >= log.log_start_offset), batch.timestamp_ms
