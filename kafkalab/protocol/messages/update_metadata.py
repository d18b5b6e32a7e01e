"""UpdateMetadata: the controller sends its newest image to a broker. Simplified: KRaft brokers fetch it."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.api import Api
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """The controller's newest image, for one broker."""

    metadata: ClusterMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataResponse:
    error: Error = Error.NONE


API = Api(
    6, range(0, 9), UpdateMetadata, UpdateMetadataResponse, "metadata", "The controller tells a broker who leads what."
)
