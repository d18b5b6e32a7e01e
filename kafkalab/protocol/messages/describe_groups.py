"""DescribeGroups: a group's state, generation's protocol and members, as administrators see them."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.group_record import MemberEntry
from kafkalab.protocol.lazy_dataclass import dataclass


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
class DescribeGroupsResponse:
    groups: dict[str, DescribedGroup]

    @property
    def errors(self) -> dict[str, Error]:
        """Each group's error."""
        return {name: group.error for name, group in self.groups.items()}


API = Api(
    15,
    range(0, 7),
    DescribeGroups,
    DescribeGroupsResponse,
    "metadata",
    "Asks in which state groups are, and who their members are.",
)
