"""DeleteRecords: a partition begins later from now on; what lies below is gone for readers (KIP-107,
docs/protocol.md#retention).

The answer waits until every live replica begins there too.
"""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords:
    """`offsets` maps a partition to the first offset that stays; UP_TO_HIGH_WATERMARK deletes all that is committed."""

    offsets: dict[str, int]
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsResponse:
    """`low_watermarks` has the first offset that every live replica still holds, -1 with an error."""

    low_watermarks: dict[str, int]
    errors: dict[str, Error] = field(default_factory=dict)


API = Api(
    21,
    range(0, 3),
    DeleteRecords,
    DeleteRecordsResponse,
    "transaction",
    "Moves the start of a partition: all records below an offset are deleted, on every replica.",
)
