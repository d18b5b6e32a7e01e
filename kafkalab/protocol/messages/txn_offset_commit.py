"""TxnOffsetCommit: consumed offsets as records of the transaction, pending until its marker
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommit:
    """`generation_id` -1, an empty `member_id` and no instance id mean "no member": nothing is compared then.

    Before version 3 the three do not travel at all. `metadata` and `leader_epochs` are by partition, where given.
    """

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: dict[str, int]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = field(default_factory=dict)


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
)
