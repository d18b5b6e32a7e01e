"""AddOffsetsToTxn: the group's `__consumer_offsets` partition joins the transaction (TV0/TV1 clients only)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxn:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxnResponse:
    error: Error = Error.NONE


API = Api(
    25,
    range(0, 5),
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    "transaction",
    "Tells the coordinator that the consumed offsets of a group belong to the transaction.",
)
