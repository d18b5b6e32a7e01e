"""ApiVersions: what the broker speaks, and the finalized level of `transaction.version`."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersions:
    """`cluster_id` and `node_id` say which broker the client expects to reach, if it knows one (KIP-1242)."""

    client_software_name: str = since(3, "kafkalab")
    cluster_id: str | None = since(5, None, unless_empty=True)
    node_id: str = since(5, "", unless_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    error: Error = Error.NONE
    transaction_version: int = since(3, 0)


API = Api(
    18,
    range(0, 6),
    ApiVersions,
    ApiVersionsResponse,
    "metadata",
    "Asks what the broker can speak.",
    since={"4.4": 5},
)
