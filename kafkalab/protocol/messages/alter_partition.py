"""AlterPartition: a leader asks the controller to change the in-sync replicas of a partition."""

from __future__ import annotations

from kafkalab.protocol.api import BETWEEN_SERVERS, Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartition:
    """A leader asks to change the in-sync replicas of one partition that it leads under `leader_epoch`."""

    partition: str
    leader_epoch: int
    isr: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionResponse:
    error: Error = Error.NONE


API = Api(
    56,
    range(2, 4),
    AlterPartition,
    AlterPartitionResponse,
    "metadata",
    "A leader asks to change the in-sync replicas.",
    offered=BETWEEN_SERVERS,
)
