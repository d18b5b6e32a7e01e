"""ConsumerGroupDescribe: epochs, members and partitions of groups of the consumer protocol, for administrators."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.consumer.heartbeat import preferred_assignor
from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import offsets_of
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup, ConsumerMember
from kafkalab.protocol.acls import DESCRIBE, GROUP, TOPIC
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_describe import (
    CONSUMER_MEMBER,
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
)
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.rules import GROUP_LOG_WAITS


def handle(broker: BrokerState, request: ConsumerGroupDescribe, header: Header) -> ConsumerGroupDescribeResponse:
    """Each group as far as it is replicated; a classic one is GROUP_ID_NOT_FOUND.

    A group is told of as a whole or, if one of its topics may not be described, not at all
    (`KafkaApis.handleConsumerGroupDescribe`).
    """
    return ConsumerGroupDescribeResponse(groups=tuple(_describe(broker, name, header) for name in request.group_ids))


def _describe(broker: BrokerState, name: str, header: Header) -> DescribedConsumerGroup:
    error = _error(broker, name, header)
    group = offsets_of(broker, name).consumer_groups.get(name) if error is Error.NONE else None
    if error is Error.NONE and group is None:
        error = Error.GROUP_ID_NOT_FOUND
    if group is None:
        return DescribedConsumerGroup(error=error, group_id=name)
    if any(broker.denies(header.sender, DESCRIBE, TOPIC, topic) for topic in _topics_of(group)):
        return DescribedConsumerGroup(error=Error.TOPIC_AUTHORIZATION_FAILED, group_id=name)
    return DescribedConsumerGroup(
        group_id=name,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group.members),
        members=tuple(_member(group, member) for member in group.members.values()),
    )


def _error(broker: BrokerState, name: str, header: Header) -> Error:
    if not broker.rules.on(GROUP_LOG_WAITS):
        return Error.UNSUPPORTED_VERSION
    if broker.denies(header.sender, DESCRIBE, GROUP, name):
        return Error.GROUP_AUTHORIZATION_FAILED
    return group_error(broker, name)


def _topics_of(group: ConsumerGroup) -> list[str]:
    wanted = [topic for member in group.members.values() for topic in member.subscribed_topic_names]
    return wanted + [topic_of(p) for member in group.members.values() for p in member.assigned]


def _member(group: ConsumerGroup, member: ConsumerMember) -> DescribedConsumer:
    return DescribedConsumer(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        subscribed_topic_names=member.subscribed_topic_names,
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=tuple({**member.assigned, **member.pending_revocation}),
        target_assignment=group.targets.get(member.member_id, ()),
        member_type=CONSUMER_MEMBER,
    )
