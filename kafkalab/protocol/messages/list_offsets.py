"""ListOffsets: first or last offset of a partition, or that of a time, as an isolation level sees it
(docs/protocol.md#list-offsets)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.messages.fetch import READ_UNCOMMITTED

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
SINCE = {EARLIEST: 1, LATEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""The first version that knows a negative timestamp; no other one is known (`ReplicaManager`)."""

UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets:
    """`timestamp` is LATEST, EARLIEST, MAX_TIMESTAMP, or milliseconds: then the first record at or after it.

    The three others ask for storage elsewhere (KIP-405), which is never there.

    A replica (its name in `replica`) sees all of the log; a consumer what its isolation level lets it.
    `current_leader_epochs` has the leader epochs that the sender knows, by partition (KIP-320).
    """

    partitions: tuple[str, ...]
    timestamp: int
    isolation_level: str = since(2, READ_UNCOMMITTED)
    replica: str = ""
    current_leader_epochs: dict[str, int] = since(4, {}, unless_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    """`offsets` holds -1 where there is none, and with every error; `timestamps` those of records that were found."""

    offsets: dict[str, int]
    errors: dict[str, Error]
    timestamps: dict[str, int] = field(default_factory=dict)


API = Api(
    2,
    range(1, 12),
    ListOffsets,
    ListOffsetsResponse,
    "transaction",
    "Asks for the first or last offset of a partition, as the isolation level sees it.",
)
