"""InitProducerId: a producer id and an epoch for a transactional id; whoever held the id before is fenced
(docs/protocol.md#init-producer-id)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId:
    """`producer_id` and `producer_epoch` are what the caller believes to hold, -1 for no expectation (v3, KIP-360).

    The last two fields are of version 6, which no broker advertises yet (KIP-939). Its answer has fields for a
    transaction that is kept; as none ever is, they are left out here.
    """

    transactional_id: str | None
    transaction_timeout_ms: int = 60_000
    producer_id: int = since(3, -1)
    producer_epoch: int = since(3, -1)
    enable_2pc: bool = since(6, False)
    keep_prepared_txn: bool = since(6, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse:
    error: Error = Error.NONE
    producer_id: int = -1
    producer_epoch: int = -1


API = Api(
    22,
    range(0, 6),
    InitProducerId,
    InitProducerIdResponse,
    "transaction",
    "Asks for a producer id and an epoch. With a transactional id the epoch rises, so an older instance is fenced.",
)
