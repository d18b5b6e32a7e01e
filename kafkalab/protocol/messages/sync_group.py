"""SyncGroup: the leader sends the assignment, and every member receives its part."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    """`assignment` lists the partitions of this member."""

    error: Error = Error.NONE
    protocol_type: str = since(5, "")
    protocol_name: str = since(5, "")
    assignment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """`assignments` maps every member id to its partitions; only the leader sends any."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = since(3, None)
    protocol_type: str | None = since(5, None)
    protocol_name: str | None = since(5, None)
    assignments: dict[str, tuple[str, ...]] = field(default_factory=dict)


API = Api(
    14,
    range(0, 6),
    SyncGroup,
    SyncGroupResponse,
    "transaction",
    "Asks for the partitions of this member in the new generation; the leader sends everybody's along.",
)
