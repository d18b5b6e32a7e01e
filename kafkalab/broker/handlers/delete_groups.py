"""DeleteGroups: an empty group goes with all its offsets (`GroupCoordinatorShard.deleteGroups`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, all_of
from kafkalab.broker.group_coordinator.consumer.changes import delete_group
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import (
    append_tombstones,
    declare_dead,
    find_consumer_group,
    find_group,
    newest_offsets_of,
)
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import DELETE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_groups import DeleteGroups, DeleteGroupsResponse
from kafkalab.protocol.transition_tables.group import GroupAsk, GroupState, Move


def handle(broker: BrokerState, request: DeleteGroups, header: Header) -> Effects[DeleteGroupsResponse]:
    """Every group that is empty goes with all its offsets, the pending ones too; answered when that is replicated."""
    names = tuple(dict.fromkeys(request.groups))
    errors = yield from all_of(*(_delete(broker, name, header) for name in names))
    return DeleteGroupsResponse(errors=dict(zip(names, errors, strict=True)))


def _delete(broker: BrokerState, name: str, header: Header) -> Effects[Error]:
    if broker.denies(header.sender, DELETE, GROUP, name):
        return Error.GROUP_AUTHORIZATION_FAILED
    error = group_error(broker, name, may_be_empty=True)
    consumers = find_consumer_group(broker, name) if error is Error.NONE else None
    if consumers is not None:
        return Error.NON_EMPTY_GROUP if consumers.members else (yield from delete_group(broker, consumers))
    group = find_group(broker, name) if error is Error.NONE else None
    if error is Error.NONE:
        error = _cannot_delete(group)
    if group is None or error is not Error.NONE:
        return error
    partitions = newest_offsets_of(broker, name).partitions_of(name)
    yield from declare_dead(broker, group)
    return (yield from append_tombstones(broker, name, partitions, with_group=True))


def _cannot_delete(group: ClassicGroup | None) -> Error:
    if group is None or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    return Error.NONE if isinstance(group.ask(GroupAsk.EXPIRE), Move) else Error.NON_EMPTY_GROUP
