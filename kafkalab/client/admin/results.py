"""What the admin client's methods take and return; the names are those of Java's `Admin`."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.messages.create_topics import NewTopic
from kafkalab.protocol.messages.describe_producers import ActiveProducer

__all__ = [
    "AbortTransactionSpec",
    "ClusterDescription",
    "HangingTransaction",
    "NewTopic",
    "ProducerIdAndEpoch",
    "ProducerState",
    "TransactionDescription",
    "TransactionListing",
]

ProducerState = ActiveProducer


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """One transactional id; `transaction_start_time_ms` is None outside a transaction."""

    coordinator: str
    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One transactional id, in a few words; `coordinator` is the broker that listed it."""

    transactional_id: str
    coordinator: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """What nobody but the caller of `fence_producers` holds now."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The live brokers, and the one that is asked for what only a controller can do."""

    cluster_id: str
    controller: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AbortTransactionSpec:
    """The transaction to end: where, and whose."""

    partition: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """An open transaction of a partition for which no coordinator will ever write a marker."""

    partition: str
    producer: ProducerState
    duration_ms: int

    def spec(self) -> AbortTransactionSpec:
        """What `abort_transaction` takes to end it. A coordinator epoch that no marker has told yet (-1) becomes 0,
        which no leader's epoch is below.
        """
        p = self.producer
        return AbortTransactionSpec(self.partition, p.producer_id, p.producer_epoch, max(p.coordinator_epoch, 0))
