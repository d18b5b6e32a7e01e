"""Produce: the leader verifies, checks, appends, and answers once all in-sync replicas have the batch
(docs/protocol.md#produce)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.records import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """One batch per partition."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    batches: dict[str, Batch]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProduced:
    """A recognised duplicate is answered as the first time, with the offset and, in `log_append_time_ms`, the time."""

    error: Error
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = since(5, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse:
    partitions: dict[str, PartitionProduced]


API = Api(
    0,
    range(3, 14),
    Produce,
    ProduceResponse,
    "transaction",
    "Writes one batch per partition; an idempotent producer numbers it (id, epoch, sequence). With acks=-1 the leader "
    "answers when all in-sync replicas have it, with acks=1 at once.",
)
