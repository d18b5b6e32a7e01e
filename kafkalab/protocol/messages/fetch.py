"""Fetch by a consumer: what is below the high watermark, or below the last stable offset (docs/protocol.md#fetch)."""

from __future__ import annotations

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.records import Batch

READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """`current_leader_epochs` has the leader epochs that the sender knows, by partition (KIP-320)."""

    isolation_level: str
    positions: dict[str, int]
    max_wait_ms: int = 500
    min_bytes: int = 1
    current_leader_epochs: dict[str, int] = since(9, {}, unless_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFetched:
    """`aborted_transactions` is None for read_uncommitted. The broker sends aborted records and markers too."""

    error: Error = Error.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = since(5, -1)
    aborted_transactions: tuple[AbortedTxn, ...] | None = None
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    partitions: dict[str, PartitionFetched]


API = Api(
    1,
    range(4, 19),
    Fetch,
    FetchResponse,
    "transaction",
    "Reads records. For read_committed the answer ends at the last stable offset and lists aborted transactions.",
)
