"""ConsumerGroupHeartbeat: how a consumer with `group.protocol=consumer` joins and stays (KIP-848)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat:
    group_id: str
    member_id: str
    member_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    error: Error = Error.NONE


API = Api(
    68,
    range(0, 2),
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
    "metadata",
    "Joins a group under the consumer protocol. Refused: these brokers have the classic protocol only.",
)
