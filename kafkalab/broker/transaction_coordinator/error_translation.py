"""Two words for one thing: coordinators say PRODUCER_FENCED, old clients hear INVALID_PRODUCER_EPOCH (facts 1.5)."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.rules import FENCED_CODE


def as_told(broker: BrokerState, error: Error, version: int, since: int = 2) -> Error:
    """The error for a client that speaks this version of an API whose versions know PRODUCER_FENCED from `since` on."""
    if error is Error.PRODUCER_FENCED and (version < since or not broker.rules.on(FENCED_CODE)):
        return Error.INVALID_PRODUCER_EPOCH
    return error
