"""DescribeTopicPartitions (KIP-966): topics by name, as many partitions of them as a page holds."""

from __future__ import annotations

from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import ALTER, ALTER_CONFIGS, CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS, READ, TOPIC, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribedPartition,
    DescribedTopic,
    DescribeTopicPartitions,
    DescribeTopicPartitionsResponse,
)
from kafkalab.protocol.partitions import INTERNAL_TOPICS, index_of, topic_of

MOST_PARTITIONS = 2_000
"""max.request.partition.size.limit."""
BITS = {READ: 3, WRITE: 4, CREATE: 5, DELETE: 6, ALTER: 7, DESCRIBE: 8, DESCRIBE_CONFIGS: 10, ALTER_CONFIGS: 11}
"""Kafka's numbers of what can be done with a topic (`AclOperation`)."""


def handle(broker: BrokerState, request: DescribeTopicPartitions, header: Header) -> DescribeTopicPartitionsResponse:
    """One page (`DescribeTopicPartitionsRequestHandler`, `KRaftMetadataCache.describeTopicResponse`).

    The cursor's topic has to be among those that are asked for. Topics that the sender may not describe come last, or
    not at all if it asks for every topic.
    """
    cursor, asked = request.cursor, [topic.name for topic in request.topics]
    if cursor is not None and ((asked and cursor.topic_name not in asked) or cursor.partition_index < 0):
        refused = tuple(DescribedTopic(name=name, error=Error.INVALID_REQUEST) for name in asked)
        return DescribeTopicPartitionsResponse(topics=refused)
    begin = cursor.topic_name if cursor else ""
    every = dict.fromkeys(map(topic_of, broker.metadata.partitions))
    names = sorted(name for name in dict.fromkeys(asked or every) if name >= begin)
    hidden = [name for name in names if broker.denies(header.sender, DESCRIBE, TOPIC, name)]
    response = _page(broker, request, [name for name in names if name not in hidden], header)
    denied = Error.TOPIC_AUTHORIZATION_FAILED
    rest = tuple(DescribedTopic(name=name, error=denied) for name in hidden if asked)
    return DescribeTopicPartitionsResponse(topics=(*response.topics, *rest), next_cursor=response.next_cursor)


def _page(
    broker: BrokerState, request: DescribeTopicPartitions, names: list[str], header: Header
) -> DescribeTopicPartitionsResponse:
    left = max(min(MOST_PARTITIONS, request.response_partition_limit), 1)
    topics: list[DescribedTopic] = []
    for name in names:
        if left == 0:
            return _until(topics, name, 0)
        known = broker.metadata.partitions_of(name)
        begins = request.cursor is not None and request.cursor.topic_name == name
        start = request.cursor.partition_index if begins and request.cursor else 0
        shown = [_describe(broker, p) for p in known if index_of(p) >= start][:left]
        unknown = Error.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else Error.INVALID_TOPIC_EXCEPTION
        topics.append(
            DescribedTopic(
                name=name, error=Error.NONE if known else unknown, is_internal=name in INTERNAL_TOPICS,
                partitions=tuple(shown), topic_authorized_operations=_operations(broker, name, header),
            )
        )  # fmt: skip
        if start + len(shown) < len(known):
            return _until(topics, name, start + len(shown))
        left -= len(shown)
    return DescribeTopicPartitionsResponse(topics=tuple(topics))


def _until(topics: list[DescribedTopic], name: str, index: int) -> DescribeTopicPartitionsResponse:
    cursor = Cursor(topic_name=name, partition_index=index)
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=cursor)


def _describe(broker: BrokerState, partition: str) -> DescribedPartition:
    info, alive = broker.metadata.partitions[partition], broker.metadata.alive
    leads = info.leader in alive
    return DescribedPartition(
        partition_index=index_of(partition),
        leader_id=info.leader if leads else "",
        leader_epoch=info.leader_epoch,
        replica_nodes=info.replicas,
        isr_nodes=info.isr,
        offline_replicas=tuple(replica for replica in info.replicas if replica not in alive),
        error=Error.NONE if leads else Error.LEADER_NOT_AVAILABLE,
    )


def _operations(broker: BrokerState, topic: str, header: Header) -> int:
    """Return a bit for each operation that the sender may do."""
    allowed = (bit for operation, bit in BITS.items() if not broker.denies(header.sender, operation, TOPIC, topic))
    return sum(1 << bit for bit in allowed)
