"""Refusals that several handlers share: some partitions of a request, or idempotence."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import CLUSTER, IDEMPOTENT_WRITE, READ, TOPIC, WRITE, is_denied_everywhere
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.rules import TOPIC_WRITE_SUFFICES


def refused_partitions(
    broker: BrokerState, header: Header, operation: str, partitions: Iterable[str]
) -> tuple[str, ...]:
    """Those on whose topic the sender may not do this."""
    if not broker.acls:
        return ()
    return tuple(p for p in partitions if broker.denies(header.sender, operation, TOPIC, topic_of(p)))


def unreadable(broker: BrokerState, header: Header, partitions: Iterable[str]) -> dict[str, Error]:
    """TOPIC_AUTHORIZATION_FAILED for those of which the sender may not commit an offset: it needs READ."""
    return dict.fromkeys(refused_partitions(broker, header, READ, partitions), Error.TOPIC_AUTHORIZATION_FAILED)


def may_not_be_idempotent(broker: BrokerState, header: Header) -> bool:
    """Neither IDEMPOTENT_WRITE on the cluster nor WRITE on some topic is allowed; once the first was asked for."""
    if not broker.denies(header.sender, IDEMPOTENT_WRITE, CLUSTER):
        return False
    if not broker.rules.on(TOPIC_WRITE_SUFFICES):
        return True
    return is_denied_everywhere(broker.acls, header.sender, WRITE, TOPIC)
