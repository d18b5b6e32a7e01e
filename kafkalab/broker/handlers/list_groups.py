"""ListGroups: all groups that one broker coordinates, through filters (`GroupMetadataManager.listGroups`)."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.log import find_any_group
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.protocol.acls import CLUSTER, DESCRIBE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.list_groups import ListedGroup, ListGroups, ListGroupsResponse
from kafkalab.protocol.partitions import offsets_partition

CLASSIC, CONSUMER = "classic", "consumer"
"""The types of groups: those of the protocol before KIP-848, and those of KIP-848."""


def handle(broker: BrokerState, request: ListGroups, header: Header) -> ListGroupsResponse:
    """The groups of this broker by id; names of states and types count without regard to capitals.

    Without the right to describe the cluster a client is told of the groups only that it may describe.
    """
    if broker.offsets_loading:
        return ListGroupsResponse(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    names = {*broker.groups, *(group for offsets in broker.newest_offsets.values() for group in offsets.groups)}
    states = [state.strip().lower() for state in request.states_filter]
    types = [kind.strip().lower() for kind in request.types_filter]
    some = broker.denies(header.sender, DESCRIBE, CLUSTER)
    shown = (
        name for name in sorted(names)
        if broker.leads(offsets_partition(name)) and not (some and broker.denies(header.sender, DESCRIBE, GROUP, name))
    )  # fmt: skip
    listed = (_describe(group) for name in shown if (group := find_any_group(broker, name)))
    return ListGroupsResponse(
        groups=tuple(
            group for group in listed
            if (not states or group.group_state.lower() in states) and (not types or group.group_type in types)
        )
    )  # fmt: skip


def _describe(group: ClassicGroup | ConsumerGroup) -> ListedGroup:
    if isinstance(group, ConsumerGroup):
        return ListedGroup(group_id=group.group, protocol_type=CONSUMER, group_state=group.state, group_type=CONSUMER)
    same = {"group_id": group.group, "protocol_type": group.protocol_type}
    return ListedGroup(**same, group_state=group.state.value, group_type=CLASSIC)
