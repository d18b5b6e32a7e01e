"""DeleteGroups and OffsetDelete: what administrators take away from groups (`GroupCoordinatorShard.deleteGroups`)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete:
    group_id: str
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    error: Error = Error.NONE
    errors: dict[str, Error] = field(default_factory=dict)


API = Api(
    47,
    range(0, 1),
    OffsetDelete,
    OffsetDeleteResponse,
    "metadata",
    "Removes a group's offsets of topics that its members do not read.",
)
