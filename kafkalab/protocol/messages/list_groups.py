"""ListGroups: all groups that one broker coordinates, through filters (KIP-518, KIP-848)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups:
    """Empty filters let all through."""

    states_filter: tuple[str, ...] = since(4, ())
    types_filter: tuple[str, ...] = since(5, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str = since(4, "")
    group_type: str = since(5, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse:
    error: Error = Error.NONE
    groups: tuple[ListedGroup, ...] = ()


API = Api(
    16,
    range(0, 6),
    ListGroups,
    ListGroupsResponse,
    "metadata",
    "Asks one broker which groups it coordinates. The tool asks every broker.",
)
