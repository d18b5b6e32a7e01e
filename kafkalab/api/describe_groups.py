"""DescribeGroups: a group's state, generation's protocol and members, as administrators see them."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.group_coordinator import find_group, group_error
from kafkalab.core.acls import DESCRIBE, GROUP
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.group import ClassicGroup, MemberEntry
from kafkalab.core.group_table import GroupState


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroups:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """`state` is Dead for a group that does not exist, and "" with an error of the coordinator."""

    error: Error = Error.NONE
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[MemberEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsReply:
    groups: dict[str, DescribedGroup]

    @property
    def errors(self) -> dict[str, Error]:
        """Each group's error."""
        return {name: group.error for name, group in self.groups.items()}


def handle(broker: BrokerState, request: DescribeGroups, now: int, header: Header) -> list[Effect]:
    """Every group that this broker coordinates; from version 6 on one that does not exist is GROUP_ID_NOT_FOUND."""
    return [Reply(DescribeGroupsReply(groups={g: _described(broker, g, header) for g in request.groups}))]


def _described(broker: BrokerState, group_id: str, header: Header) -> DescribedGroup:
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


API = Api(
    15,
    range(0, 7),
    DescribeGroups,
    DescribeGroupsReply,
    handle,
    "metadata",
    "Asks in which state groups are, and who their members are.",
)
