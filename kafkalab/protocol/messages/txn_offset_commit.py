"""TxnOffsetCommit: consumed offsets as records of the transaction, pending until its marker
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

BY_TOPIC_ID = 6
"""From this version on topics are named by their ids, and errors of groups answered as they are (KIP-1319)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommit:
    """`generation_id` -1, an empty `member_id` and no instance id mean "no member": nothing is compared then.

    `metadata` and `leader_epochs` are by partition, where given.
    """

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: dict[str, int]
    generation_id: int = since(3, -1)
    member_id: str = since(3, "")
    group_instance_id: str | None = since(3, None)
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = since(2, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse:
    errors: dict[str, Error]


API = Api(
    28,
    range(0, 7),
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    "transaction",
    "Writes the consumed offsets as records of the transaction. They stay pending until the marker comes.",
    since={"4.4": BY_TOPIC_ID},
)
