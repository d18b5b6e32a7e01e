"""AddPartitionsToTxn: from a client (up to version 3) or from a leader on a client's behalf (4 and later, KIP-890)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxn:
    """`verify_only` asks whether the partitions are in the transaction and adds none.

    From version 4 on one request may be about several transactions: this one, and those of `further` (Kafka has an
    array of them from version 4 on, and fields of the request itself before).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = since(4, False)
    further: tuple[AddPartitionsToTxn, ...] = since(4, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnResponse:
    """`error` is about the whole request (from version 4 on), `errors` about each partition.

    `further` has the errors of each further transaction, in the order of the request.
    """

    errors: dict[str, Error]
    error: Error = since(4, Error.NONE)
    further: tuple[dict[str, Error], ...] = since(4, ())


API = Api(
    24,
    range(0, 6),
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    "transaction",
    "Tells the coordinator that the transaction reaches these partitions, before anything is written to them.",
    offered=range(0, 4),
)
