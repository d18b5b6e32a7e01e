"""Metadata: which broker leads which partition, as the answering broker knows it."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.cluster_metadata import ClusterMetadata
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataReply:
    error: Error = Error.NONE
    metadata: ClusterMetadata


def handle(broker: BrokerState, request: Metadata, now: int, header: Header) -> list[Effect]:
    """The whole image, whatever topics were asked for: small clusters only (simplified)."""
    return [Reply(MetadataReply(metadata=broker.metadata))]


API = Api(3, range(0, 14), Metadata, MetadataReply, handle, "metadata", "Asks which broker leads which partition.")
