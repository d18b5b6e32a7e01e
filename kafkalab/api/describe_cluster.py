"""DescribeCluster (KIP-700): the brokers that are alive, as the answering one knows them. Nobody is refused it."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error

CLUSTER_ID = "kafkalab"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCluster:
    """Nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterReply:
    """Simplified: a KRaft broker names some live broker as controller, to which it forwards what is meant for one."""

    error: Error = Error.NONE
    cluster_id: str = CLUSTER_ID
    controller: str = "controller"
    brokers: tuple[str, ...] = ()


def handle(broker: BrokerState, request: DescribeCluster, now: int, header: Header) -> list[Effect]:
    """The image at hand."""
    return [Reply(DescribeClusterReply(brokers=broker.metadata.alive))]


API = Api(
    60,
    range(0, 3),
    DescribeCluster,
    DescribeClusterReply,
    handle,
    "metadata",
    "Asks which brokers there are.",
)
