"""CreateTopics: a broker passes what a client asks for on to the controller, which places the replicas.

Simplified: Kafka wraps the forwarded request in an Envelope, and the controller asks who may create; here the broker
that a client speaks to asks, and sends the same request on.
"""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """-1 stands for the cluster's default."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopics:
    """With `validate_only` nothing is created, but the answer is the same."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse:
    """One error for each name."""

    errors: dict[str, Error]


API = Api(
    19,
    range(2, 8),
    CreateTopics,
    CreateTopicsResponse,
    "metadata",
    "Asks for new topics. The broker passes it on to the controller.",
)
