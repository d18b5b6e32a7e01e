"""ListOffsets: the earliest offset, or the latest as the isolation level sees it (facts 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.fetch import READ_UNCOMMITTED, upper_bound
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error

LATEST, EARLIEST = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets:
    """`timestamp` is LATEST, EARLIEST, or milliseconds: then the first record at or after it."""

    partitions: tuple[str, ...]
    timestamp: int
    isolation_level: str = READ_UNCOMMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsReply:
    """`offsets` holds -1 where there is none, and with every error."""

    offsets: dict[str, int]
    errors: dict[str, Error]


def handle(broker: BrokerState, request: ListOffsets, now: int, header: Header) -> list[Effect]:
    """One offset per partition that this broker leads."""
    errors = {p: _error(broker, p, request.timestamp) for p in request.partitions}
    offsets = {p: _offset(broker, p, request) if errors[p] is Error.NONE else -1 for p in request.partitions}
    return [Reply(ListOffsetsReply(offsets=offsets, errors=errors))]


def _error(broker: BrokerState, partition: str, timestamp: int) -> Error:
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not broker.leads(partition):
        return Error.NOT_LEADER_OR_FOLLOWER
    new_leader = broker.log(partition).high_watermark < broker.epoch_start.get(partition, 0)
    return Error.OFFSET_NOT_AVAILABLE if new_leader and timestamp != EARLIEST else Error.NONE


def _offset(broker: BrokerState, partition: str, request: ListOffsets) -> int:
    log = broker.log(partition)
    if request.timestamp == EARLIEST:
        return log.log_start_offset
    upper = upper_bound(broker, log, request.isolation_level)
    if request.timestamp == LATEST:
        return upper
    found = next((b.base_offset for b in log.batches if b.timestamp_ms >= request.timestamp), -1)
    return found if found < upper else -1


API = Api(
    2,
    range(1, 12),
    ListOffsets,
    ListOffsetsReply,
    handle,
    "transaction",
    "Asks for the first or last offset of a partition, as the isolation level sees it.",
)
