"""DeleteGroups and OffsetDelete: what administrators take away from groups (`GroupCoordinatorShard.deleteGroups`)."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroups:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    """`errors` are by group."""

    errors: dict[str, Error] = field(default_factory=dict)


API = Api(
    42,
    range(0, 4),
    DeleteGroups,
    DeleteGroupsResponse,
    "metadata",
    "Removes groups that nobody is in, with their offsets.",
    since={"4.4": 3},
)
