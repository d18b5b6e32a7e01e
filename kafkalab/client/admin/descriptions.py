"""Descriptions that the admin client takes and returns; the names are those of Java's `Admin`."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.messages.describe_producers import ActiveProducer


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
    """One transactional id in a list; `coordinator` is the broker that listed it."""

    transactional_id: str
    coordinator: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """The identity that `fence_producers` took; no producer holds it."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The live brokers, and the one that takes the controller's requests."""

    cluster_id: str
    controller: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AbortTransactionSpec:
    """The transaction to end: its partition, and the ids of the marker."""

    partition: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """An open transaction of a partition for which no coordinator will ever write a marker."""

    partition: str
    producer: ActiveProducer
    duration_ms: int

    def spec(self) -> AbortTransactionSpec:
        """Return what `abort_transaction` takes to end it. A coordinator epoch that no marker has set yet (-1) becomes
        0, which no leader's epoch is below.
        """
        p = self.producer
        return AbortTransactionSpec(self.partition, p.producer_id, p.producer_epoch, max(p.coordinator_epoch, 0))
