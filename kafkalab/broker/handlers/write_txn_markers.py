"""WriteTxnMarkers: the coordinator tells a leader how transactions ended; the leader appends COMMIT or ABORT."""

from __future__ import annotations

from kafkalab.broker.effects import Append, AppendResult, Effects, Readmit, Spawn, all_of
from kafkalab.broker.state import BrokerState
from kafkalab.log.producer_state.append import Origin
from kafkalab.protocol.acls import ALTER, CLUSTER, CLUSTER_ACTION
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error, IllegalArgumentError
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.protocol.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Batch, ControlType, marker
from kafkalab.protocol.rules import GROUP_LOG_WAITS


def handle(broker: BrokerState, request: WriteTxnMarkers, header: Header) -> Effects[WriteTxnMarkersResponse]:
    """A marker appended to every partition that this broker leads; answered once all are replicated or refused.

    Markers in `__consumer_offsets` are answered after the group coordinator has made the offsets visible, or has
    dropped them. It appends below min.insync.replicas too, and waits offsets.commit.timeout.ms, then answers
    REQUEST_TIMED_OUT (`KafkaApis.handleWriteTxnMarkersRequest`).
    """
    if all(broker.denies(header.sender, operation, CLUSTER) for operation in (ALTER, CLUSTER_ACTION)):
        return _all_failed(request, Error.CLUSTER_AUTHORIZATION_FAILED)
    thrown = next((n for n, m in enumerate(request.markers) if _throws(broker, m)), None)
    if thrown is not None:
        for written in request.markers[:thrown]:
            for partition in written.partitions:
                yield Spawn(_write(broker, written, partition, {}))
        return _all_failed(request, Error.UNKNOWN_SERVER_ERROR)
    errors: dict[int, dict[str, Error]] = {m.producer_id: {} for m in request.markers}
    yield from all_of(
        *(_write(broker, m, p, errors[m.producer_id]) for m in request.markers for p in m.partitions)
    )
    return WriteTxnMarkersResponse(markers=errors)


def _all_failed(request: WriteTxnMarkers, error: Error) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(markers={m.producer_id: dict.fromkeys(m.partitions, error) for m in request.markers})


def _throws(broker: BrokerState, entry: TxnMarkers) -> bool:
    """Return whether Kafka cannot build the marker for a partition of this broker, so that all of the request fails.

    What came before it in the request is in the log all the same (`MemoryRecordsBuilder.validateProducerState`).
    """
    return _is_nobodys(entry) and any(broker.holds(p) and topic_of(p) != OFFSETS_TOPIC for p in entry.partitions)


def _is_nobodys(entry: TxnMarkers | Batch) -> bool:
    return entry.producer_id == NO_PRODUCER_ID or entry.producer_epoch == NO_PRODUCER_EPOCH


def _write(broker: BrokerState, entry: TxnMarkers, partition: str, errors: dict[str, Error]) -> Effects[None]:
    """Append one marker; each is checked after the previous one is in the log."""
    control = ControlType.COMMIT if entry.committed else ControlType.ABORT
    batch = marker(entry.producer_id, entry.producer_epoch, control, entry.coordinator_epoch, broker.now)
    error = _refusal(broker, partition, batch, entry.transaction_version)
    if error is Error.NONE:
        by_group, config = _by_group_coordinator(broker, partition), broker.config
        timeout_ms = config.offsets_commit_timeout_ms if by_group else config.request_timeout_ms
        appended: AppendResult = yield Append(partition, batch, timeout_ms, below_min_isr=by_group)
        error = appended.error
    elif error is Error.NOT_ENOUGH_REPLICAS:
        yield Readmit(partition)
    errors[partition] = error


def _refusal(broker: BrokerState, partition: str, batch: Batch, version: int) -> Error:
    """NONE, or why this broker does not append the marker, in Kafka's order."""
    if not broker.holds(partition):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not broker.leads(partition) or partition in broker.offsets_loading:
        return Error.NOT_LEADER_OR_FOLLOWER
    if _is_nobodys(batch):
        return Error.UNKNOWN_SERVER_ERROR
    if broker.is_under_min_isr(partition) and not _by_group_coordinator(broker, partition):
        return Error.NOT_ENOUGH_REPLICAS
    try:
        return broker.log(partition).producers.marker_error(batch, Origin.COORDINATOR, version)
    except IllegalArgumentError:  # a version that no coordinator of today sends (`ReplicaManager.appendToLocalLog`)
        return Error.UNKNOWN_SERVER_ERROR


def _by_group_coordinator(broker: BrokerState, partition: str) -> bool:
    return topic_of(partition) == OFFSETS_TOPIC and broker.rules.on(GROUP_LOG_WAITS)
