"""CreateTopics: a broker passes what a client asks for on to the controller, which places the replicas.

Simplified: Kafka wraps the forwarded request in an Envelope, and the controller asks who may create; here the broker
that a client speaks to asks, and sends the same request on.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kafkalab.broker.effects import Effects, Send
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import CLUSTER, CREATE, TOPIC
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, CreateTopicsResponse, NewTopic

NAME_MAX = 249
LEGAL_NAME = re.compile(r"[A-Za-z0-9._-]+")
METADATA_TOPIC = "__cluster_metadata"


def handle(broker: BrokerState, request: CreateTopics, header: Header) -> Effects[CreateTopicsResponse]:
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
        return CreateTopicsResponse(errors=refused)
    response: CreateTopicsResponse | None = yield Send("controller", rest)
    if response is None:
        response = CreateTopicsResponse(errors={t.name: Error.REQUEST_TIMED_OUT for t in rest.topics})
    return replace(response, errors={**refused, **response.errors})


def is_legal(name: str) -> bool:
    """Return whether a topic may have this name (`Topic.validate`)."""
    return name not in ("", ".", "..") and len(name) <= NAME_MAX and LEGAL_NAME.fullmatch(name) is not None


def shape_error(topic: NewTopic, known: list[str], registered: int) -> Error:
    """Return why a topic cannot be created, in the order of `ReplicationControlManager.createTopic`; NONE if it can.

    `registered` is the number of brokers, 0 if all of them are fenced: then no factor is valid, the default neither
    (`StripedReplicaPlacer.place`). Names that differ in "." and "_" only would have the same metrics, so the second
    one is refused.
    """
    name = topic.name
    if not is_legal(name):
        return Error.INVALID_TOPIC_EXCEPTION
    if name in known:
        return Error.TOPIC_ALREADY_EXISTS
    if name.replace(".", "_") in [k.replace(".", "_") for k in known]:
        return Error.INVALID_TOPIC_EXCEPTION
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        return Error.INVALID_REPLICATION_FACTOR
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        return Error.INVALID_PARTITIONS
    if registered == 0 or topic.replication_factor > registered:
        return Error.INVALID_REPLICATION_FACTOR
    return Error.NONE
