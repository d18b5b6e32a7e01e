"""ListOffsets: first or last offset of a partition, or that of a time, as an isolation level sees it
(docs/protocol.md#list-offsets)."""

from __future__ import annotations

from collections import Counter

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.handlers.fetch import leader_error, upper_bound
from kafkalab.broker.state import BrokerState
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.acls import DESCRIBE
from kafkalab.protocol.api import Header
from kafkalab.protocol.batch_bytes import CorruptBatchError
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    SINCE,
    UNKNOWN,
    ListOffsets,
    ListOffsetsResponse,
)

OFFSET_NOT_AVAILABLE_SINCE = 5
"""The first version that knows OFFSET_NOT_AVAILABLE; older ones get LEADER_NOT_AVAILABLE."""


def handle(broker: BrokerState, request: ListOffsets, header: Header) -> ListOffsetsResponse:
    """Return one offset per partition that this broker leads; INVALID_REQUEST for one that is named twice."""
    offsets: dict[str, int] = {}
    errors: dict[str, Error] = {}
    timestamps: dict[str, int] = {}
    hidden = refused_partitions(broker, header, DESCRIBE, request.partitions)
    for partition, count in Counter(request.partitions).items():
        found = Error.INVALID_REQUEST if count > 1 else _find(broker, partition, request, header.version)
        if partition in hidden:
            found = Error.TOPIC_AUTHORIZATION_FAILED
        if found is Error.OFFSET_NOT_AVAILABLE and header.version < OFFSET_NOT_AVAILABLE_SINCE:
            found = Error.LEADER_NOT_AVAILABLE
        errors[partition] = found if isinstance(found, Error) else Error.NONE
        offsets[partition], timestamp = (UNKNOWN, UNKNOWN) if isinstance(found, Error) else found
        if timestamp != UNKNOWN:
            timestamps[partition] = timestamp
    return ListOffsetsResponse(offsets=offsets, errors=errors, timestamps=timestamps)


def _find(broker: BrokerState, partition: str, request: ListOffsets, version: int) -> tuple[int, int] | Error:
    """The offset and, if a record was looked for, its timestamp.

    A new leader whose high watermark is still below where its epoch began cannot tell a consumer an end that was not
    told before it already (KIP-207); it can tell what lies below the high watermark.
    """
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if request.timestamp < 0 and version < SINCE.get(request.timestamp, version + 1):
        return Error.UNSUPPORTED_VERSION
    known_epoch = request.current_leader_epochs.get(partition, UNKNOWN)
    error = leader_error(broker, partition, known_epoch if known_epoch != UNKNOWN else None)
    if error is not Error.NONE:
        return error
    log = broker.log(partition)
    if request.timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, UNKNOWN
    upper = log.log_end_offset if request.replica else upper_bound(broker, log, request.isolation_level)
    if request.timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN, UNKNOWN
    lags = not request.replica and log.high_watermark < broker.epoch_start.get(partition, 0)
    if request.timestamp == LATEST:
        return Error.OFFSET_NOT_AVAILABLE if lags else (upper, UNKNOWN)
    found = _record_at(log, request.timestamp)
    if isinstance(found, Error) or UNKNOWN != found[0] < upper:
        return found
    return Error.OFFSET_NOT_AVAILABLE if lags else (UNKNOWN, UNKNOWN)


def _record_at(log: PartitionLog, timestamp: int) -> tuple[int, int] | Error:
    """Return the first record at or after the timestamp, or the first one with the largest; markers are records, too.

    The largest timestamp is that of all records that are still stored, deleted ones included (`LogSegment`). Of
    compressed records a leader checks less than this reads; where they are none, the answer is INVALID_RECORD.
    """
    start = log.log_start_offset
    if timestamp == MAX_TIMESTAMP:
        start, timestamp = 0, max((b.timestamp_ms for b in log.batches), default=0)
    for batch in log.batches:
        if batch.timestamp_ms >= timestamp:
            try:
                times = batch.timestamps()
            except CorruptBatchError:
                return Error.INVALID_RECORD
            for offset, time in zip(batch.offsets, times, strict=True):
                if offset >= start and time >= timestamp:
                    return offset, time
    return UNKNOWN, UNKNOWN
