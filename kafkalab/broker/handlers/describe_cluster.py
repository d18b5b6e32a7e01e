"""DescribeCluster (KIP-700): the brokers that are alive, as the answering one knows them. Nobody is refused it."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.describe_cluster import DescribeCluster, DescribeClusterResponse


def handle(broker: BrokerState, request: DescribeCluster, header: Header) -> DescribeClusterResponse:
    """The image at hand."""
    return DescribeClusterResponse(brokers=broker.metadata.alive)
