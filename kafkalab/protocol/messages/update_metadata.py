"""UpdateMetadata: the controller sends its newest image to a broker. Simplified: KRaft brokers fetch it."""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import BETWEEN_SERVERS, Api
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """The controller's newest image, for one broker."""

    metadata: ClusterMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataResponse:
    """`empty` names partitions without records whose leader, the sender, has taken a replica that is back into the
    in-sync set. Simplified: in Kafka the replica's first fetch makes the leader send AlterPartition.
    """

    error: Error = Error.NONE
    empty: tuple[str, ...] = field(default=(), metadata={"unless_empty": True})


API = Api(
    6,
    range(0, 9),
    UpdateMetadata,
    UpdateMetadataResponse,
    "metadata",
    "The controller tells a broker who leads what.",
    offered=BETWEEN_SERVERS,
)
