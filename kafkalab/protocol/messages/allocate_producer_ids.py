"""AllocateProducerIds: a broker asks the controller for a block of producer ids."""

from __future__ import annotations

from kafkalab.protocol.api import BETWEEN_SERVERS, Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIds:
    """A broker asks for a block of producer ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsResponse:
    error: Error = Error.NONE
    producer_id_start: int
    producer_id_len: int


API = Api(
    67,
    range(0, 1),
    AllocateProducerIds,
    AllocateProducerIdsResponse,
    "metadata",
    "A broker asks for 1000 producer ids.",
    offered=BETWEEN_SERVERS,
)
