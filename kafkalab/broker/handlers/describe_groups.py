"""DescribeGroups: a group's state, generation's protocol and members, as administrators see them."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import find_group
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import DESCRIBE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_groups import DescribedGroup, DescribeGroups, DescribeGroupsResponse
from kafkalab.protocol.transition_tables.group import GroupState


def handle(broker: BrokerState, request: DescribeGroups, header: Header) -> DescribeGroupsResponse:
    """Every group that this broker coordinates; from version 6 on one that does not exist is GROUP_ID_NOT_FOUND."""
    return DescribeGroupsResponse(groups={g: _describe(broker, g, header) for g in request.groups})


def _describe(broker: BrokerState, group_id: str, header: Header) -> DescribedGroup:
    if broker.denies(header.sender, DESCRIBE, GROUP, group_id):
        return DescribedGroup(error=Error.GROUP_AUTHORIZATION_FAILED)
    version = header.version
    error = group_error(broker, group_id, may_be_empty=True)
    if error is not Error.NONE:
        return DescribedGroup(error=error)
    group: ClassicGroup | None = find_group(broker, group_id)
    if group is None or group.state is GroupState.DEAD:
        missing = Error.GROUP_ID_NOT_FOUND if version >= 6 else Error.NONE
        return DescribedGroup(error=missing, state=GroupState.DEAD.value)
    stable = group.state is GroupState.STABLE
    return DescribedGroup(
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol=group.protocol if stable else "",
        members=group.entry().members,
    )
