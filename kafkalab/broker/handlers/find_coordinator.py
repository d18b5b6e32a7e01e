"""FindCoordinator: which broker leads the internal partition that owns a transactional id or a group."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Send, Spawn
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import DESCRIBE, TRANSACTIONAL_ID
from kafkalab.protocol.acls import GROUP as GROUP_RESOURCE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION, FindCoordinator, FindCoordinatorResponse
from kafkalab.protocol.partitions import (
    INTERNAL_PARTITIONS,
    TRANSACTION_TOPIC,
    offsets_partition,
    topic_of,
    transaction_partition,
)


def handle(broker: BrokerState, request: FindCoordinator, header: Header) -> Effects[FindCoordinatorResponse]:
    """The leader; COORDINATOR_NOT_AVAILABLE while there is none, or while the topic is being created
    (docs/protocol.md#loading)."""
    if (refused := _find_denial(broker, request, header)) is not Error.NONE:
        return FindCoordinatorResponse(error=refused)
    if request.key_type not in (GROUP, TRANSACTION):
        return FindCoordinatorResponse(error=Error.INVALID_REQUEST)
    partition = (offsets_partition if request.key_type == GROUP else transaction_partition)(request.key)
    topic = topic_of(partition)
    if not broker.metadata.has_topic(topic):
        copies = broker.config.transaction_state_log_replication_factor if topic == TRANSACTION_TOPIC else 0
        new = NewTopic(name=topic, num_partitions=INTERNAL_PARTITIONS, replication_factor=copies or -1)
        yield Spawn(_create(new))
        return FindCoordinatorResponse(error=Error.COORDINATOR_NOT_AVAILABLE)
    leader = broker.metadata.leader(partition)
    if leader not in broker.metadata.alive:
        return FindCoordinatorResponse(error=Error.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(node_id=leader, partition=partition)


def _create(topic: NewTopic) -> Effects[None]:
    """The client asks again until the topic is there, so the controller's answer is not looked at."""
    yield Send("controller", CreateTopics(topics=(topic,)))


def _find_denial(broker: BrokerState, request: FindCoordinator, header: Header) -> Error:
    if request.key_type == GROUP and broker.denies(header.sender, DESCRIBE, GROUP_RESOURCE, request.key):
        return Error.GROUP_AUTHORIZATION_FAILED
    if request.key_type == TRANSACTION and broker.denies(header.sender, DESCRIBE, TRANSACTIONAL_ID, request.key):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return Error.NONE
