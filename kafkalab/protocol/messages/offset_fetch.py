"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch:
    """With `require_stable` a partition with a pending commit answers UNSTABLE_OFFSET_COMMIT (KIP-447).

    `partitions` None asks for all that the group has. A member of a consumer group names itself and its epoch.
    """

    group_id: str
    partitions: tuple[str, ...] | None
    require_stable: bool = since(7, False)
    member_id: str | None = since(9, None, unless_empty=True)
    member_epoch: int | None = since(9, None, unless_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    """`offsets` holds -1 where nothing is committed, and with every error; `metadata` and `leader_epochs` likewise."""

    error: Error = since(2, Error.NONE)
    offsets: dict[str, int]
    errors: dict[str, Error]
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = since(5, {})


API = Api(
    9,
    range(1, 11),
    OffsetFetch,
    OffsetFetchResponse,
    "transaction",
    "Asks the group coordinator where the group had got to.",
)
