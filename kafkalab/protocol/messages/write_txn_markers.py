"""WriteTxnMarkers: the coordinator tells a leader how transactions ended; the leader appends COMMIT or ABORT."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnMarkers:
    """The end of one transaction, for the partitions of it that the asked broker leads."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    transaction_version: int = since(2, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkers:
    """The markers of one or more transactions for one broker."""

    markers: tuple[TxnMarkers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersResponse:
    """An error for every partition, by producer id."""

    markers: dict[int, dict[str, Error]]

    @property
    def errors(self) -> dict[str, Error]:
        """Every error in one table, by producer id and partition: "7/t-0"."""
        return {f"{pid}/{p}": error for pid, errors in self.markers.items() for p, error in errors.items()}


API = Api(
    27,
    range(1, 3),
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    "transaction",
    "The coordinator tells a partition leader the outcome. The leader appends a COMMIT or ABORT marker to each "
    "partition of the transaction.",
)
