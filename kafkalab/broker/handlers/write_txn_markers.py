"""WriteTxnMarkers: the coordinator tells a leader how transactions ended; the leader appends COMMIT or ABORT."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.broker.effects import Append, Appended, Effect, Respond, Resume, Suspend, Suspended, Then
from kafkalab.broker.state import BrokerState
from kafkalab.log.producer_state.append import Origin
from kafkalab.protocol.acls import ALTER, CLUSTER, CLUSTER_ACTION
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.protocol.records import Batch, ControlType, marker

AS_NOT_LEADER = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.NOT_ENOUGH_REPLICAS,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Error.REQUEST_TIMED_OUT,
    Error.KAFKA_STORAGE_ERROR,
)
"""How an append to `__consumer_offsets` may fail that is answered with NOT_LEADER_OR_FOLLOWER."""


@dataclass(slots=True)
class _Work:
    """One request under way: its answers so far, and how many partitions have none."""

    errors: dict[int, dict[str, Error]]
    waiting: int


def handle(broker: BrokerState, request: WriteTxnMarkers, now: int, header: Header) -> list[Effect]:
    """A marker appended to every partition that this broker leads; answered once all are replicated or refused.

    Markers in `__consumer_offsets` are answered after the group coordinator has made the offsets visible, or has
    dropped them (`KafkaApis.handleWriteTxnMarkersRequest`).
    """
    if all(broker.denies(header.sender, operation, CLUSTER) for operation in (ALTER, CLUSTER_ACTION)):
        error = Error.CLUSTER_AUTHORIZATION_FAILED
        refused = {m.producer_id: dict.fromkeys(m.partitions, error) for m in request.markers}
        return [Respond(WriteTxnMarkersResponse(markers=refused))]
    work = _Work({m.producer_id: {} for m in request.markers}, sum(len(m.partitions) for m in request.markers))
    if work.waiting == 0:
        return [Respond(WriteTxnMarkersResponse(markers=work.errors))]
    return _write(broker, None, now, work, request.markers)


def _write(broker: BrokerState, result: None, now: int, work: _Work, entries: tuple[TxnMarkers, ...]) -> list[Effect]:
    """The markers of the first entry, then the other entries: each is checked after the one before is in the log."""
    entry = entries[0]
    control = ControlType.COMMIT if entry.committed else ControlType.ABORT
    batch = marker(entry.producer_id, entry.producer_epoch, control, entry.coordinator_epoch, now)
    effects: list[Effect] = []
    for partition in entry.partitions:
        error = _refusal(broker, partition, batch, entry.transaction_version)
        if error is Error.NONE:
            then = Then(_appended, (work, entry.producer_id, partition))
            effects.append(Append(partition, batch, broker.config.request_timeout_ms, then))
        else:
            effects += _ended(work, entry.producer_id, partition, error)
    if len(entries) > 1:
        place = Suspended()
        effects += [Suspend(place, Then(_write, (work, entries[1:]))), Resume(place, None)]
    return effects


def _refusal(broker: BrokerState, partition: str, batch: Batch, version: int) -> Error:
    """NONE, or why this broker does not append the marker, in Kafka's order."""
    info = broker.metadata.partitions.get(partition)
    if info is None or broker.name not in info.replicas:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if info.leader != broker.name or partition in broker.offsets_loading:
        return Error.NOT_LEADER_OR_FOLLOWER
    if broker.is_under_min_isr(partition):
        return _as_leader(partition, Error.NOT_ENOUGH_REPLICAS)
    return broker.log(partition).producers.marker_error(batch, Origin.COORDINATOR, version)


def _appended(
    broker: BrokerState, result: Appended, now: int, work: _Work, producer_id: int, partition: str
) -> list[Effect]:
    return _ended(work, producer_id, partition, _as_leader(partition, result.error))


def _as_leader(partition: str, error: Error) -> Error:
    """An append to `__consumer_offsets` fails in the group coordinator's words, which are put back into a leader's."""
    return Error.NOT_LEADER_OR_FOLLOWER if topic_of(partition) == OFFSETS_TOPIC and error in AS_NOT_LEADER else error


def _ended(work: _Work, producer_id: int, partition: str, error: Error) -> list[Effect]:
    work.errors[producer_id][partition] = error
    work.waiting -= 1
    return [] if work.waiting else [Respond(WriteTxnMarkersResponse(markers=work.errors))]
