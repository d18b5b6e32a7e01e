"""DescribeProducers (KIP-664): what a replica remembers of the producers that wrote to a partition."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


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
class DescribeProducersResponse:
    partitions: dict[str, PartitionProducers]


API = Api(
    61,
    range(0, 1),
    DescribeProducers,
    DescribeProducersResponse,
    "transaction",
    "Asks a replica which producers it knows of, and where their open transactions begin.",
)
