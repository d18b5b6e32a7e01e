"""Fetch by a consumer: what is below the high watermark, or below the last stable offset (docs/protocol.md#fetch)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.records import Batch

READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """`current_leader_epochs` has the leader epochs that the sender knows, by partition, `last_fetched_epochs` those of
    the batches that it has fetched last (KIP-320, KIP-595). A limit that is not given is none.
    """

    isolation_level: str
    positions: dict[str, int]
    max_wait_ms: int = 500
    min_bytes: int = 1
    current_leader_epochs: dict[str, int] = since(9, {}, unless_empty=True)
    last_fetched_epochs: dict[str, int] = since(12, {}, unless_empty=True)
    max_bytes: int | None = field(default=None, metadata={"unless_empty": True})
    partition_max_bytes: dict[str, int] = field(default_factory=dict, metadata={"unless_empty": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFetched:
    """`aborted_transactions` is None for read_uncommitted. The broker sends aborted records and markers too.

    `diverging` is the newest epoch up to the sender's last one, and its end, if the sender's log goes on there.
    """

    error: Error = Error.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = since(5, -1)
    aborted_transactions: tuple[AbortedTxn, ...] | None = None
    batches: tuple[Batch, ...] = ()
    diverging: tuple[int, int] | None = since(12, None, unless_empty=True)


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
