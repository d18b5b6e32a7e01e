"""Fetch by a consumer: what is below the high watermark, or below the last stable offset (docs/protocol.md#fetch)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Park
from kafkalab.broker.state import BrokerState
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.rules import HIGH_WATERMARK, LSO_BOUND


def handle(broker: BrokerState, request: Fetch, header: Header) -> Effects[FetchResponse]:
    """Answered at once if there are `min_bytes` or an error, or later: a watermark moved, max_wait is over."""
    fetched, until_ms = _read(broker, request), broker.now + request.max_wait_ms
    while not _enough(fetched, request):
        yield Park(tuple(request.positions), until_ms - broker.now)
        fetched = _read(broker, request)
        if broker.now >= until_ms:
            break
    return FetchResponse(partitions=fetched)


def _enough(fetched: dict[str, PartitionFetched], request: Fetch) -> bool:
    """Whether the answer need not wait for more."""
    size = sum(b.size_bytes for f in fetched.values() for b in f.batches)
    return size >= request.min_bytes or any(f.error is not Error.NONE for f in fetched.values())


def upper_bound(broker: BrokerState, log: PartitionLog, isolation_level: str) -> int:
    """Where a consumer's reading ends: the high watermark, or the last stable offset (docs/protocol.md#fetch)."""
    if isolation_level == READ_COMMITTED and broker.rules.on(LSO_BOUND):
        return log.last_stable_offset
    return log.high_watermark if broker.rules.on(HIGH_WATERMARK) else log.log_end_offset


def _read(broker: BrokerState, request: Fetch) -> dict[str, PartitionFetched]:
    return {p: _read_one(broker, p, o, request.isolation_level) for p, o in request.positions.items()}


def _read_one(broker: BrokerState, partition: str, offset: int, isolation_level: str) -> PartitionFetched:
    if partition not in broker.metadata.partitions:
        return PartitionFetched(error=Error.UNKNOWN_TOPIC_OR_PARTITION)
    if not broker.leads(partition):
        return PartitionFetched(error=Error.NOT_LEADER_OR_FOLLOWER)
    log = broker.log(partition)
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return PartitionFetched(error=Error.OFFSET_OUT_OF_RANGE)
    upper = upper_bound(broker, log, isolation_level)
    batches = tuple(log.read(offset, upper)) if offset < upper else ()
    aborted = None
    if isolation_level == READ_COMMITTED:
        aborted = log.aborted_between(offset, upper) if batches else ()
    return PartitionFetched(
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        batches=batches,
    )
