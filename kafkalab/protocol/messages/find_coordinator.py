"""FindCoordinator: which broker leads the internal partition that owns a transactional id or a group."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

GROUP, TRANSACTION = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    key: str
    key_type: int = since(1, GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    error: Error = Error.NONE
    node_id: str = ""
    partition: str = ""


API = Api(
    10,
    range(0, 7),
    FindCoordinator,
    FindCoordinatorResponse,
    "transaction",
    "Asks any broker who is responsible for this id: the leader of partition abs(hash(id)) % 50 of an internal topic.",
)
