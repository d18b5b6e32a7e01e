"""DescribeTopicPartitions (KIP-966): topics with leaders and replicas, page by page."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Name the topic and partition with which the next page begins."""

    topic_name: str
    partition_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitions:
    """Without topics it is about all of them."""

    topics: tuple[TopicRequest, ...] = ()
    response_partition_limit: int = 2_000
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedPartition:
    """Brokers by name. The lab's controller keeps no eligible leader replicas outside of the in-sync set."""

    partition_index: int
    leader_id: str
    leader_epoch: int
    replica_nodes: tuple[str, ...]
    isr_nodes: tuple[str, ...]
    offline_replicas: tuple[str, ...] = ()
    error: Error = Error.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopic:
    """`topic_authorized_operations` has a bit for each operation that the sender may do."""

    name: str
    error: Error = Error.NONE
    is_internal: bool = False
    partitions: tuple[DescribedPartition, ...] = ()
    topic_authorized_operations: int = -(2**31)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponse:
    """`next_cursor` is None on the last page."""

    topics: tuple[DescribedTopic, ...]
    next_cursor: Cursor | None = None


API = Api(
    75,
    range(0, 1),
    DescribeTopicPartitions,
    DescribeTopicPartitionsResponse,
    "metadata",
    "Asks where the partitions of topics are, page by page.",
)
