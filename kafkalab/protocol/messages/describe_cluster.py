"""DescribeCluster (KIP-700): the brokers that are alive, as the answering one knows them. Nobody is refused it."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.cluster_metadata import CLUSTER_ID
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCluster:
    """Nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse:
    """Simplified: a KRaft broker names some live broker as controller, to which it forwards what is meant for one."""

    error: Error = Error.NONE
    cluster_id: str = CLUSTER_ID
    controller: str = "controller"
    brokers: tuple[str, ...] = ()


API = Api(
    60,
    range(0, 3),
    DescribeCluster,
    DescribeClusterResponse,
    "metadata",
    "Asks which brokers there are.",
)
