"""The handlers of a broker by the type of the request that they serve."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.registry import ALL

Handler = Callable[[BrokerState, Any, Header], Any]
"""`handle(broker, request, header)` returns the response, or a generator of effects that returns it (`effects`)."""

ELSEWHERE = ("ReplicaFetch", "UpdateMetadata", "AlterPartition", "AllocateProducerIds", "BrokerRegistration")
"""The messages between brokers, and to the controller: `Replication`, `Leadership` and `Controller` serve it."""


def _handler_of(request: type) -> Handler:
    """Return `handle` of the module that has the name of the request's own: `broker/handlers/end_txn.py`."""
    handler: Handler = import_module(request.__module__.replace("protocol.messages", "broker.handlers")).handle
    return handler


HANDLERS: dict[type, Handler] = {api.request: _handler_of(api.request) for api in ALL if api.name not in ELSEWHERE}
