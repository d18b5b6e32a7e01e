"""DescribeCluster (KIP-700): the brokers that are alive, as the answering one knows them. Nobody is refused it."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Respond
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.describe_cluster import DescribeCluster, DescribeClusterResponse


def handle(broker: BrokerState, request: DescribeCluster, now: int, header: Header) -> list[Effect]:
    """The image at hand."""
    return [Respond(DescribeClusterResponse(brokers=broker.metadata.alive))]
