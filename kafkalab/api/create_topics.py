"""CreateTopics: a broker passes what a client asks for on to the controller, which places the replicas.

Simplified: Kafka wraps the forwarded request in an Envelope, and the controller asks who may create; here the broker
that a client speaks to asks, and sends the same request on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import with_refused
from kafkalab.core.acls import CLUSTER, CREATE, TOPIC
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply, Send, Then
from kafkalab.core.errors import Error

NAME_MAX = 249
LEGAL_NAME = re.compile(r"[A-Za-z0-9._-]+")
METADATA_TOPIC = "__cluster_metadata"


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
class CreateTopicsReply:
    """One error for each name."""

    errors: dict[str, Error]


def handle(broker: BrokerState, request: CreateTopics, now: int, header: Header) -> list[Effect]:
    """A name given twice is an invalid request, one that may not be created is refused; the rest goes on."""
    names = [t.name for t in request.topics]
    refused = {n: Error.INVALID_REQUEST for n in names if names.count(n) > 1 or n == METADATA_TOPIC}
    if broker.denies(header.sender, CREATE, CLUSTER):
        forbidden = [n for n in names if n not in refused and broker.denies(header.sender, CREATE, TOPIC, n)]
        refused.update(dict.fromkeys(forbidden, Error.TOPIC_AUTHORIZATION_FAILED))
    rest = CreateTopics(
        topics=tuple(t for t in request.topics if t.name not in refused), validate_only=request.validate_only
    )
    if not rest.topics:
        return [Reply(CreateTopicsReply(errors=refused))]
    return with_refused([Send("controller", rest, Then(_created, (rest,)))], "errors", refused)


def _created(broker: BrokerState, reply: CreateTopicsReply | None, now: int, request: CreateTopics) -> list[Effect]:
    if reply is None:
        return [Reply(CreateTopicsReply(errors={t.name: Error.REQUEST_TIMED_OUT for t in request.topics}))]
    return [Reply(reply)]


def shape_error(topic: NewTopic, known: list[str], registered: int) -> Error:
    """Why a topic cannot be, in the controller's order (`ReplicationControlManager.createTopic`); NONE if it can.

    Names that differ in "." and "_" only would have the same metrics, so the second one is refused.
    """
    name = topic.name
    if name in ("", ".", "..") or len(name) > NAME_MAX or LEGAL_NAME.fullmatch(name) is None:
        return Error.INVALID_TOPIC_EXCEPTION
    if name in known:
        return Error.TOPIC_ALREADY_EXISTS
    if name.replace(".", "_") in [k.replace(".", "_") for k in known]:
        return Error.INVALID_TOPIC_EXCEPTION
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        return Error.INVALID_REPLICATION_FACTOR
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        return Error.INVALID_PARTITIONS
    return Error.INVALID_REPLICATION_FACTOR if topic.replication_factor > registered else Error.NONE


API = Api(
    19,
    range(2, 8),
    CreateTopics,
    CreateTopicsReply,
    handle,
    "metadata",
    "Asks for new topics. The broker passes it on to the controller.",
)
