"""WriteTxnMarkers: the coordinator tells a leader how a transaction ended; the leader appends COMMIT or ABORT."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.acls import ALTER, CLUSTER, CLUSTER_ACTION
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.producer_append import Origin
from kafkalab.core.records import ControlType, marker


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkers:
    """One transaction's markers for one broker (Kafka batches several transactions; simplified)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    transaction_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersReply:
    errors: dict[str, Error]


def handle(broker: BrokerState, request: WriteTxnMarkers, now: int, header: Header) -> list[Effect]:
    """A marker appended to every partition that this broker leads; answered once all are replicated or refused."""
    if all(broker.denies(header.sender, o, CLUSTER) for o in (ALTER, CLUSTER_ACTION)):
        refused = dict.fromkeys(request.partitions, Error.CLUSTER_AUTHORIZATION_FAILED)
        return [Reply(WriteTxnMarkersReply(errors=refused))]
    errors: dict[str, Error] = {}
    effects: list[Effect] = []
    control = ControlType.COMMIT if request.committed else ControlType.ABORT
    batch = marker(request.producer_id, request.producer_epoch, control, request.coordinator_epoch, now)
    for partition in request.partitions:
        error = _refusal(broker, partition, request, now)
        if error is not Error.NONE:
            errors[partition] = error
            continue
        timeout = broker.config.request_timeout_ms
        effects.append(Append(partition, batch, timeout, Then(_appended, (partition, request, errors))))
    return effects or [Reply(WriteTxnMarkersReply(errors=errors))]


def _refusal(broker: BrokerState, partition: str, request: WriteTxnMarkers, now: int) -> Error:
    info = broker.metadata.partitions.get(partition)
    if info is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if info.leader != broker.name or partition in broker.offsets_loading:
        return Error.NOT_LEADER_OR_FOLLOWER
    control = ControlType.COMMIT if request.committed else ControlType.ABORT
    batch = marker(request.producer_id, request.producer_epoch, control, request.coordinator_epoch, now)
    return broker.log(partition).producers.marker_error(batch, Origin.COORDINATOR, request.transaction_version)


def _appended(
    broker: BrokerState, result: Appended, now: int, partition: str, request: WriteTxnMarkers, errors: dict[str, Error]
) -> list[Effect]:
    errors[partition] = result.error
    if len(errors) < len(request.partitions):
        return []
    return [Reply(WriteTxnMarkersReply(errors={p: errors[p] for p in request.partitions}))]


API = Api(
    27,
    range(1, 3),
    WriteTxnMarkers,
    WriteTxnMarkersReply,
    handle,
    "transaction",
    "The coordinator tells a partition leader the outcome. The leader appends a COMMIT or ABORT marker to each "
    "partition of the transaction.",
)
