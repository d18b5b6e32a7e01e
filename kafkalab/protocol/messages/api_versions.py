"""ApiVersions: what the broker speaks, and the finalized level of `transaction.version`."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersions:
    client_software_name: str = since(3, "kafkalab")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    error: Error = Error.NONE
    transaction_version: int = since(3, 0)


API = Api(18, range(0, 5), ApiVersions, ApiVersionsResponse, "metadata", "Asks what the broker can speak.")
