"""ApiVersions: what the broker speaks, and the finalized level of `transaction.version`."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.cluster_metadata import CLUSTER_ID
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions, ApiVersionsResponse


def handle(broker: BrokerState, request: ApiVersions, header: Header) -> ApiVersionsResponse:
    """The cluster's finalized features, unless the client expects another cluster or broker (KIP-1242)."""
    if (request.cluster_id is None) != (request.node_id == ""):
        return ApiVersionsResponse(error=Error.INVALID_REQUEST)
    if request.cluster_id is not None and (request.cluster_id, request.node_id) != (CLUSTER_ID, broker.name):
        return ApiVersionsResponse(error=Error.REBOOTSTRAP_REQUIRED)
    return ApiVersionsResponse(transaction_version=broker.transaction_version)
