"""ApiVersions: what the broker speaks, and the finalized level of `transaction.version`."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.api_versions import ApiVersions, ApiVersionsResponse


def handle(broker: BrokerState, request: ApiVersions, header: Header) -> ApiVersionsResponse:
    """The cluster's finalized features; a client of an older kind ignores them."""
    return ApiVersionsResponse(transaction_version=broker.transaction_version)
