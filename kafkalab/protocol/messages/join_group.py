"""JoinGroup: a consumer asks to be a member of a group; the coordinator responds when the join phase ends."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

Subscriptions = dict[str, tuple[str, ...]]
"""A protocol's name ("range") -> the topics that the member wants under it; the order is the member's preference."""


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader is told of it: what it wants to read."""

    member_id: str
    group_instance_id: str | None = since(5, None)
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    """Only the leader is told the members; with `skip_assignment` it need not assign (a static leader came back)."""

    error: Error = Error.NONE
    generation_id: int = -1
    protocol_type: str = since(7, "")
    protocol_name: str = ""
    leader: str = ""
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = since(9, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """`protocols` maps an assignor's name to the topics wanted, in order of preference; an empty `member_id` is new."""

    group_id: str
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    member_id: str = ""
    group_instance_id: str | None = since(5, None)
    protocol_type: str = "consumer"
    protocols: Subscriptions

    @property
    def request_timeout_ms(self) -> int:
        """The time that its sender waits: the answer may take as long as the rebalance does, and 5 s more."""
        return max(30_000, self.rebalance_timeout_ms + 5_000)


API = Api(
    11,
    range(2, 10),
    JoinGroup,
    JoinGroupResponse,
    "transaction",
    "Asks to be a member of the group. The answer comes when all have joined: the generation, and who leads.",
)
