"""ConsumerGroupHeartbeat: how a consumer with `group.protocol=consumer` joins, stays and leaves (KIP-848)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2
"""The member epochs that are no epochs of a member: to join, to leave, and of a static member that will come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat:
    """None, and -1 for a time, say that nothing changed since the last heartbeat.

    `topic_partitions` are what the member has, `subscribed_topic_names` are what it wants.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = since(1, None)
    server_assignor: str | None = None
    topic_partitions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    """`assignment` are the partitions that the member may read, None if they are the same as before."""

    error: Error = Error.NONE
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[str, ...] | None = None


API = Api(
    68,
    range(0, 2),
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
    "transaction",
    "Joins a group under the consumer protocol, stays in it, and leaves it. The answer brings the partitions.",
)
