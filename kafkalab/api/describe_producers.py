"""DescribeProducers (KIP-664): what a replica remembers of the producers that wrote to a partition."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.acls import READ, TOPIC
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.partitions import topic_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducers:
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveProducer:
    """One producer id: `coordinator_epoch` is -1 before its first marker, the start offset outside a transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    current_txn_start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProducers:
    error: Error = Error.NONE
    active_producers: tuple[ActiveProducer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducersReply:
    partitions: dict[str, PartitionProducers]


def handle(broker: BrokerState, request: DescribeProducers, now: int, header: Header) -> list[Effect]:
    """Each partition of which this broker has a replica, leader or not."""
    return [Reply(DescribeProducersReply(partitions={p: _one(broker, p, header) for p in request.partitions}))]


def _one(broker: BrokerState, partition: str, header: Header) -> PartitionProducers:
    if broker.denies(header.sender, READ, TOPIC, topic_of(partition)):
        return PartitionProducers(error=Error.TOPIC_AUTHORIZATION_FAILED)
    info = broker.metadata.partitions.get(partition)
    if info is None:
        return PartitionProducers(error=Error.UNKNOWN_TOPIC_OR_PARTITION)
    if broker.name not in info.replicas:
        return PartitionProducers(error=Error.NOT_LEADER_OR_FOLLOWER)
    entries = broker.log(partition).producers.entries
    active = (
        ActiveProducer(
            producer_id=producer_id,
            producer_epoch=entry.producer_epoch,
            last_sequence=entry.last_sequence,
            last_timestamp_ms=entry.last_timestamp_ms,
            coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=-1 if entry.txn_first_offset is None else entry.txn_first_offset,
        )
        for producer_id, entry in sorted(entries.items())
    )
    return PartitionProducers(active_producers=tuple(active))


API = Api(
    61,
    range(0, 1),
    DescribeProducers,
    DescribeProducersReply,
    handle,
    "transaction",
    "Asks a replica which producers it knows of, and where their open transactions begin.",
)
