"""EndTxn: the producer asks for a commit or an abort; PrepareCommit or PrepareAbort, once replicated, is the decision.
"""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxn:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxnResponse:
    """Up to version 4 the producer id and epoch are -1; from version 5 they are those of the next transaction."""

    error: Error = Error.NONE
    producer_id: int = since(5, -1)
    producer_epoch: int = since(5, -1)


API = Api(
    26,
    range(0, 6),
    EndTxn,
    EndTxnResponse,
    "transaction",
    "The producer asks for a commit or an abort. The coordinator's log decides: once PrepareCommit or PrepareAbort is "
    "replicated, the outcome can no longer change.",
)
