"""Fetch by a consumer: what is below the high watermark, or below the last stable offset (docs/protocol.md#fetch)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.effects import Effects, Park, PassWindow
from kafkalab.broker.state import BrokerState
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.acls import READ
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.rules import HIGH_WATERMARK, LSO_BOUND, LSO_FOR_ALL, WATERMARK_ONCE
from kafkalab.protocol.windows import FETCH_BOUND


def handle(broker: BrokerState, request: Fetch, header: Header) -> Effects[FetchResponse]:
    """Answered at once if there are `min_bytes` or an error, or later: a watermark moved, max_wait is over.

    Topics that are unknown, or that the sender may not read, keep nobody from waiting for the others
    (`KafkaApis.handleFetchRequest`).
    """
    refused = _find_refused(broker, request, header)
    if refused:
        request = replace(request, positions={p: o for p, o in request.positions.items() if p not in refused})
    until_ms = broker.now + request.max_wait_ms
    fetched = _read(broker, request, (yield from _pass_window(broker, request)) if broker.stalls else {})
    while request.positions and not _enough(broker, fetched, request):
        yield Park(tuple(request.positions), until_ms - broker.now)
        fetched = _read(broker, request, {})
        if broker.now >= until_ms:
            break
    return FetchResponse(partitions={**fetched, **refused})


def _find_refused(broker: BrokerState, request: Fetch, header: Header) -> dict[str, PartitionFetched]:
    found = dict.fromkeys(refused_partitions(broker, header, READ, request.positions), Error.TOPIC_AUTHORIZATION_FAILED)
    known = broker.metadata.partitions
    found |= {p: Error.UNKNOWN_TOPIC_OR_PARTITION for p in request.positions if p not in known and p not in found}
    return {p: PartitionFetched(error=e, aborted_transactions=()) for p, e in found.items()}


def _enough(broker: BrokerState, fetched: dict[str, PartitionFetched], request: Fetch) -> bool:
    """Return True if the answer need not wait for more: there is enough, or an error, or a segment was read to its end
    (`DelayedFetch`)."""
    if any(f.error is not Error.NONE or f.diverging for f in fetched.values()):
        return True
    if request.min_bytes <= 1:
        return request.min_bytes <= 0 or any(f.batches for f in fetched.values())
    if sum(b.size_bytes for f in fetched.values() for b in f.batches) >= request.min_bytes:
        return True
    return any(_reads_older_segment(broker, p, o, request.isolation_level) for p, o in request.positions.items())


def _reads_older_segment(broker: BrokerState, partition: str, offset: int, isolation_level: str) -> bool:
    log = broker.log(partition)
    upper = upper_bound(broker, log, isolation_level)
    return offset < upper and log.segment_of(offset) < log.segment_of(upper)


def upper_bound(broker: BrokerState, log: PartitionLog, isolation_level: str) -> int:
    """Return the end of a consumer's reading: high watermark or last stable offset (docs/protocol.md#fetch)."""
    if isolation_level == READ_COMMITTED and broker.rules.on(LSO_BOUND):
        return log.last_stable_offset
    return log.high_watermark if broker.rules.on(HIGH_WATERMARK) else log.log_end_offset


def _pass_window(broker: BrokerState, request: Fetch) -> Effects[dict[str, int]]:
    """Let other threads come in between the two steps of a bounded read; return where each partition's reading ends.

    The first step compares the first undecided offset with the high watermark; if it is the smaller one the read ends
    there, else at the high watermark. Without rule WATERMARK_ONCE that is read again (`Log.lastStableOffset`).
    """
    logs = [broker.log(partition) for partition in request.positions if broker.leads(partition)]
    ends = {log.partition: upper_bound(broker, log, request.isolation_level) for log in logs}
    at_the_mark = [log for log in logs if ends[log.partition] == log.high_watermark]
    yield PassWindow(FETCH_BOUND)
    if not broker.rules.on(WATERMARK_ONCE):
        ends |= {log.partition: log.high_watermark for log in at_the_mark}
    return ends


def _read(broker: BrokerState, request: Fetch, ends: dict[str, int]) -> dict[str, PartitionFetched]:
    """Read each partition. A limit below 0 is an error where there is something to read; that of the whole response
    is 0 at least for all partitions but the first (`ReplicaManager.readFromLog`)."""
    found, limit = {}, request.max_bytes or 0
    for partition, offset in request.positions.items():
        one = _read_one(broker, partition, offset, request, ends.get(partition))
        if one.batches and min(limit, request.partition_max_bytes.get(partition, 0)) < 0:
            one = PartitionFetched(error=Error.UNKNOWN_SERVER_ERROR)
        found[partition], limit = one, 0
    return found


def leader_error(broker: BrokerState, partition: str, known_epoch: int | None) -> Error:
    """Return NONE, or why this broker does not answer for the partition.

    A sender that says which leader epoch it knows is told if that one is over, or new to this replica
    (`Partition.checkCurrentLeaderEpoch`); after that the broker must be the leader. In a Fetch each number below 0 says
    nothing (`FetchRequest.optionalEpoch`), in a ListOffsets only -1 (`RequestUtils.getLeaderEpoch`).
    """
    if known_epoch is not None and broker.holds(partition):
        epoch = broker.metadata.partitions[partition].leader_epoch
        if known_epoch != epoch:
            return Error.FENCED_LEADER_EPOCH if known_epoch < epoch else Error.UNKNOWN_LEADER_EPOCH
    return Error.NONE if broker.leads(partition) else Error.NOT_LEADER_OR_FOLLOWER


def _read_one(broker: BrokerState, partition: str, offset: int, request: Fetch, end: int | None) -> PartitionFetched:
    known_epoch, isolation_level = request.current_leader_epochs.get(partition, -1), request.isolation_level
    error = leader_error(broker, partition, known_epoch if known_epoch >= 0 else None)
    if error is not Error.NONE:
        return PartitionFetched(error=error)
    log = broker.log(partition)
    fetched_epoch = request.last_fetched_epochs.get(partition, -1)
    leader_epoch = broker.metadata.partitions[partition].leader_epoch
    diverging = _diverging_epoch(log, fetched_epoch, leader_epoch, offset)
    is_beyond = diverging is None and offset > log.log_end_offset
    if fetched_epoch > leader_epoch or offset < log.log_start_offset or is_beyond:
        return PartitionFetched(error=Error.OFFSET_OUT_OF_RANGE)
    upper = upper_bound(broker, log, isolation_level) if end is None else end
    batches = tuple(log.read_segment(offset, upper)) if offset < upper and diverging is None else ()
    aborted = log.aborted_for(offset, batches) if isolation_level == READ_COMMITTED else None
    tells = isolation_level == READ_COMMITTED or broker.rules.on(LSO_FOR_ALL)
    return PartitionFetched(
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset if tells else -1,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        batches=batches,
        diverging=diverging,
    )


def _diverging_epoch(log: PartitionLog, epoch: int, leader_epoch: int, offset: int) -> tuple[int, int] | None:
    """Return the newest epoch up to `epoch` that the log has, and its end, if a log whose last batch before `offset` is
    of `epoch` is another one (`Partition.readRecords`)."""
    if epoch < 0:
        return None
    known, end = (epoch, log.log_end_offset) if epoch == leader_epoch else log.epoch_and_end(epoch)
    return (known, end) if known < epoch or end < offset else None
