"""ListOffsets: first or last offset of a partition, or that of a time, as an isolation level sees it (facts 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.api.api import Api, Header
from kafkalab.api.fetch import READ_UNCOMMITTED, upper_bound
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.partition_log import PartitionLog

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
UNKNOWN = -1
OFFSET_NOT_AVAILABLE_SINCE = 5
"""The first version that knows OFFSET_NOT_AVAILABLE; older ones get LEADER_NOT_AVAILABLE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets:
    """`timestamp` is LATEST, EARLIEST, MAX_TIMESTAMP, or milliseconds: then the first record at or after it.

    A replica (its name in `replica`) sees all of the log; a consumer what its isolation level lets it.
    """

    partitions: tuple[str, ...]
    timestamp: int
    isolation_level: str = READ_UNCOMMITTED
    replica: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsReply:
    """`offsets` holds -1 where there is none, and with every error; `timestamps` those of records that were found."""

    offsets: dict[str, int]
    errors: dict[str, Error]
    timestamps: dict[str, int] = field(default_factory=dict)


def handle(broker: BrokerState, request: ListOffsets, now: int, header: Header) -> list[Effect]:
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
    return [Reply(ListOffsetsReply(offsets=offsets, errors=errors, timestamps=timestamps))]


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


API = Api(
    2,
    range(1, 12),
    ListOffsets,
    ListOffsetsReply,
    handle,
    "transaction",
    "Asks for the first or last offset of a partition, as the isolation level sees it.",
)
