"""What several handlers need to refuse what a client may not do: some partitions of a request, or idempotence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kafkalab.broker.effects import Append, AwaitDurable, Effect, Park, Respond, Send, SetTimer, Then
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


def with_refused(effects: list[Effect], field: str, refused: dict[str, Any]) -> list[Effect]:
    """The effects of the permitted rest of a request; `refused` is in its response too, whenever that comes."""
    return [_with_refused(effect, field, refused) for effect in effects]


def _with_refused(effect: Effect, field: str, refused: dict[str, Any]) -> Effect:
    if isinstance(effect, Respond):
        return Respond(replace(effect.body, **{field: {**refused, **getattr(effect.body, field)}}))
    if isinstance(effect, (Append, AwaitDurable, Park, SetTimer, Send)) and effect.then is not None:
        return effect._replace(then=Then(_go_on, (effect.then, field, refused)))
    return effect


def _go_on(broker: BrokerState, result: Any, now: int, then: Then, field: str, refused: dict[str, Any]) -> list[Effect]:
    return with_refused(then.function(broker, result, now, *then.args), field, refused)
