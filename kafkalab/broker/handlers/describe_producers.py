"""DescribeProducers (KIP-664): what a replica remembers of the producers that wrote to a partition."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import READ, TOPIC
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    PartitionProducers,
)
from kafkalab.protocol.partitions import topic_of


def handle(broker: BrokerState, request: DescribeProducers, header: Header) -> DescribeProducersResponse:
    """Each partition of which this broker has a replica, leader or not."""
    return DescribeProducersResponse(partitions={p: _one(broker, p, header) for p in request.partitions})


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
