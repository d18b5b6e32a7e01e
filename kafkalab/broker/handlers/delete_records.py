"""DeleteRecords: a partition begins later from now on; what lies below is gone for readers (KIP-107,
docs/protocol.md#retention).

The answer waits until every live replica begins there too.
"""

from __future__ import annotations

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.effects import Effects, FeedFollowers, Note, Park
from kafkalab.broker.state import BrokerState
from kafkalab.log.segments import delete_old_segments
from kafkalab.protocol.acls import DELETE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_records import DeleteRecords, DeleteRecordsResponse
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of

UP_TO_HIGH_WATERMARK = -1
INVALID_LOW_WATERMARK = -1


def handle(broker: BrokerState, request: DeleteRecords, header: Header) -> Effects[DeleteRecordsResponse]:
    """Each partition's log start moves at once, or has an error; an offset below it changes nothing.

    The response comes when every low watermark has reached it, a partition has another leader, or the time is over:
    then with the low watermark that was there at first (`DelayedDeleteRecords`).
    """
    until_ms = broker.now + request.timeout_ms
    forbidden = refused_partitions(broker, header, DELETE, request.offsets)
    errors = {
        p: Error.TOPIC_AUTHORIZATION_FAILED if p in forbidden else _error(broker, p, asked)
        for p, asked in request.offsets.items()
    }
    wanted: dict[str, int] = {}
    for partition, asked in request.offsets.items():
        if errors[partition] is Error.NONE:
            log = broker.log(partition)
            wanted[partition] = log.high_watermark if asked == UP_TO_HIGH_WATERMARK else asked
            if log.raise_log_start(wanted[partition]):
                yield from log_start_moved(broker, partition)
    before = {p: low_watermark(broker, p) for p in wanted}
    while True:
        lost = {p: Error.NOT_LEADER_OR_FOLLOWER for p in wanted if not broker.leads(p)}
        behind = tuple(p for p, offset in wanted.items() if p not in lost and low_watermark(broker, p) < offset)
        if not behind or broker.now >= until_ms:
            break
        yield Park(behind, until_ms - broker.now)
    found = {**errors, **lost, **dict.fromkeys(behind, Error.REQUEST_TIMED_OUT)}
    marks = {p: low_watermark(broker, p) if e is Error.NONE else INVALID_LOW_WATERMARK for p, e in found.items()}
    marks |= {p: before[p] for p in behind}
    return DeleteRecordsResponse(low_watermarks=marks, errors=found)


def _error(broker: BrokerState, partition: str, offset: int) -> Error:
    if topic_of(partition) in INTERNAL_TOPICS:
        return Error.INVALID_TOPIC_EXCEPTION
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not broker.leads(partition):
        return Error.NOT_LEADER_OR_FOLLOWER
    if offset < UP_TO_HIGH_WATERMARK or offset > broker.log(partition).high_watermark:
        return Error.OFFSET_OUT_OF_RANGE
    return Error.NONE


def low_watermark(broker: BrokerState, partition: str) -> int:
    """The log start that is reached on every live replica, as the leader knows it."""
    starts = [broker.log(partition).log_start_offset]
    for replica in broker.metadata.partitions[partition].replicas:
        if replica != broker.name and replica in broker.metadata.alive:
            session = broker.sessions.get(replica)
            starts.append(session.log_starts.get(partition, 0) if session else 0)
    return min(starts)


def log_start_note(broker: BrokerState, partition: str) -> Note:
    """The state event of a log start that has moved."""
    log = broker.log(partition)
    data = {"partition": partition, "log_start_offset": log.log_start_offset, "high_watermark": log.high_watermark}
    return Note("log start", {**data, "last_stable_offset": log.last_stable_offset})


def log_start_moved(broker: BrokerState, partition: str) -> Effects[None]:
    """Record that the log starts later; if this broker leads the partition, its followers learn it at once."""
    yield log_start_note(broker, partition)
    if broker.leads(partition):
        yield FeedFollowers(partition)


def apply_retention(broker: BrokerState) -> Effects[None]:
    """Delete segments that are too old, too much, or below the log start. The internal topics are compacted only."""
    config = broker.config
    for partition, log in list(broker.logs.items()):
        before, compacted = log.log_start_offset, topic_of(partition) in INTERNAL_TOPICS
        limits = (-1, -1) if compacted else (config.log_retention_ms, config.log_retention_bytes)
        gone = delete_old_segments(log, broker.now, *limits)
        if gone:
            yield Note("segments deleted", {"partition": partition, "base_offsets": gone})
        if log.log_start_offset != before:
            yield from log_start_moved(broker, partition)
