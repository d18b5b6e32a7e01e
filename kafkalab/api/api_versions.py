"""ApiVersions: what the broker speaks, and the finalized level of `transaction.version`."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersions:
    client_software_name: str = "kafkalab"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsReply:
    error: Error = Error.NONE
    transaction_version: int = 2


def handle(broker: BrokerState, request: ApiVersions, now: int, header: Header) -> list[Effect]:
    """The cluster's finalized features; a client of an older kind ignores them."""
    return [Reply(ApiVersionsReply(transaction_version=broker.transaction_version))]


API = Api(18, range(0, 5), ApiVersions, ApiVersionsReply, handle, "metadata", "Asks what the broker can speak.")
