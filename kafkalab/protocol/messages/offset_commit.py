"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """`generation_id` -1 and no member: a consumer that does not share a group with others."""

    group_id: str
    offsets: dict[str, int]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = since(7, None)
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = since(6, {})
    retention_time_ms: int = since(2, -1, until=4)
    """The time for which the offsets shall be kept, -1 for as long as the broker says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    errors: dict[str, Error]


API = Api(
    8,
    range(2, 11),
    OffsetCommit,
    OffsetCommitResponse,
    "transaction",
    "Commits consumed offsets outside any transaction.",
)
