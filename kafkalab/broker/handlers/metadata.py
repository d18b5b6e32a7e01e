"""Metadata: which broker leads which partition, as the answering broker knows it."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse


def handle(broker: BrokerState, request: Metadata, header: Header) -> MetadataResponse:
    """The whole image, whatever topics were asked for: small clusters only (simplified)."""
    return MetadataResponse(metadata=broker.metadata)
