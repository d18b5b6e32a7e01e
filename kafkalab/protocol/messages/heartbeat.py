"""Heartbeat: a member says that it lives, and learns whether the group rebalances (`classicGroupHeartbeat`)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = since(3, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error: Error = Error.NONE


API = Api(
    12,
    range(0, 5),
    Heartbeat,
    HeartbeatResponse,
    "metadata",
    "Says that the member lives, and asks whether the group rebalances.",
)
