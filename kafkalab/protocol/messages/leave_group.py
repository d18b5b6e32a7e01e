"""LeaveGroup: members go at once instead of by their session's end (`classicGroupLeaveToClassicGroup`)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LeavingMember:
    """An empty `member_id` with an instance id removes the static member, whatever its member id."""

    member_id: str
    group_instance_id: str | None = since(3, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    group_id: str
    members: tuple[LeavingMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """`errors` are per member, by member id, or by instance id where that is empty."""

    error: Error = Error.NONE
    errors: dict[str, Error] = since(3, {})


API = Api(
    13,
    range(0, 6),
    LeaveGroup,
    LeaveGroupResponse,
    "transaction",
    "Says that members leave the group now, so that the others need not wait for their session to end.",
)
