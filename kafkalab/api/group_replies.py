"""The replies that wait: a JoinGroup is answered when the join phase ends, a SyncGroup when partitions are assigned."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.core.errors import Error


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader is told of it: what it wants to read."""

    member_id: str
    group_instance_id: str | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupReply:
    """Only the leader is told the members; with `skip_assignment` it need not assign (a static leader came back)."""

    error: Error = Error.NONE
    generation_id: int = -1
    protocol_type: str = ""
    protocol_name: str = ""
    leader: str = ""
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupReply:
    """`assignment` lists the partitions of this member."""

    error: Error = Error.NONE
    protocol_type: str = ""
    protocol_name: str = ""
    assignment: tuple[str, ...] = ()
