"""The topics that members of a consumer group want: which of them exist, and what an assignor is given."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from kafkalab.broker.group_coordinator.assignors.assignment import AssignorInput, Subscriber
from kafkalab.broker.patterns import compile_pattern
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup, ConsumerMember
from kafkalab.protocol.acls import DESCRIBE, TOPIC
from kafkalab.protocol.partitions import topic_of


def existing_topics(broker: BrokerState, member: ConsumerMember) -> tuple[str, ...]:
    """Return the topics that the member wants, by name or by its regular expression, and that exist, sorted.

    Kafka looks for the topics of a new expression in the background, and answers the heartbeat before that.
    """
    wanted = [topic for topic in member.subscribed_topic_names if broker.metadata.has_topic(topic)]
    matches = compile_pattern(member.subscribed_topic_regex) if member.subscribed_topic_regex else None
    if matches is not None:
        topics = {topic_of(partition) for partition in broker.metadata.partitions} - {*wanted}
        wanted += [t for t in topics if matches(t) and not broker.denies(member.client_id, DESCRIBE, TOPIC, t)]
    return tuple(sorted(wanted))


def is_subscribed(broker: BrokerState, group: ConsumerGroup, topic: str) -> bool:
    """Return True if a member wants the topic (`ModernGroup.isSubscribedToTopic`)."""
    members = group.members.values()
    return any(topic in m.subscribed_topic_names or topic in existing_topics(broker, m) for m in members)


def metadata_hash(broker: BrokerState, members: Iterable[ConsumerMember]) -> int:
    """Return a number that changes with the topics that the members want and have, and their partitions; 0 for none.

    The number is not Kafka's, whose hash is of topic ids and racks as well (`Utils.computeGroupHash`).
    """
    topics = sorted({topic for member in members for topic in existing_topics(broker, member)})
    said = "\n".join(f"{topic} {len(broker.metadata.partitions_of(topic))}" for topic in topics)
    return crc32(said.encode())


def assignor_input(
    broker: BrokerState, members: dict[str, ConsumerMember], targets: dict[str, tuple[str, ...]]
) -> AssignorInput:
    """Return what an assignor needs to know of the members, whose present targets are in `targets`."""
    subscribers = {
        member_id: Subscriber(existing_topics(broker, member), targets.get(member_id, ()), member.instance_id)
        for member_id, member in members.items()
    }
    topics = {topic for subscriber in subscribers.values() for topic in subscriber.topics}
    partitions = {topic: tuple(broker.metadata.partitions_of(topic)) for topic in sorted(topics)}
    wanted = {(member.subscribed_topic_names, member.subscribed_topic_regex) for member in members.values()}
    return AssignorInput(subscribers, partitions, len(wanted) <= 1)
