"""OffsetDelete: an administrator deletes a group's offsets (`GroupCoordinatorShard.deleteOffsets`)."""

from __future__ import annotations

from kafkalab.broker.authorization import unreadable
from kafkalab.broker.effects import Effects
from kafkalab.broker.group_coordinator.consumer.topics import is_subscribed
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import append_tombstones, find_any_group, newest_offsets_of
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.protocol.acls import DELETE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_delete import OffsetDelete, OffsetDeleteResponse
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.transition_tables.group import GroupState


def handle(broker: BrokerState, request: OffsetDelete, header: Header) -> Effects[OffsetDeleteResponse]:
    """The group's offsets of these partitions are gone, the pending ones too, except of topics that members read."""
    name = request.group_id
    if broker.denies(header.sender, DELETE, GROUP, name):
        return OffsetDeleteResponse(error=Error.GROUP_AUTHORIZATION_FAILED)
    error = group_error(broker, name)
    group = find_any_group(broker, name) if error is Error.NONE else None
    if error is Error.NONE and (group is None or group.state is GroupState.DEAD):
        error = Error.GROUP_ID_NOT_FOUND
    if isinstance(group, ClassicGroup) and group.members and group.protocol_type != "consumer":
        error = Error.NON_EMPTY_GROUP
    if group is None or error is not Error.NONE:
        return OffsetDeleteResponse(error=error)
    known = newest_offsets_of(broker, name)
    errors = {**dict.fromkeys(request.partitions, Error.NONE), **unreadable(broker, header, request.partitions)}
    for partition in request.partitions:
        if errors[partition] is not Error.NONE:
            continue
        if partition not in broker.metadata.partitions:
            errors[partition] = Error.UNKNOWN_TOPIC_OR_PARTITION
        elif _is_subscribed(broker, group, topic_of(partition)):
            errors[partition] = Error.GROUP_SUBSCRIBED_TO_TOPIC
    there = known.partitions_of(name)
    gone = [p for p, e in errors.items() if e is Error.NONE and p in there]
    if gone:
        error = yield from append_tombstones(broker, name, gone)
    return OffsetDeleteResponse(error=error, errors=errors if error is Error.NONE else {})


def _is_subscribed(broker: BrokerState, group: ClassicGroup | ConsumerGroup, topic: str) -> bool:
    return group.subscribed_to(topic) if isinstance(group, ClassicGroup) else is_subscribed(broker, group, topic)
