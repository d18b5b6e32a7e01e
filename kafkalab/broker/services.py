"""The calls of a broker's helpers, replication and leadership, on the broker that owns them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from kafkalab.broker.effects import Effects
from kafkalab.broker.port import Port
from kafkalab.broker.state import BrokerState
from kafkalab.trace import Frame


class Context(NamedTuple):
    """For whom a generator runs: the request to respond to, if any, and the event that caused the present step."""

    request: Frame | None
    cause: int


class Services(Protocol):
    """The broker as its helpers see it."""

    name: str
    state: BrokerState
    port: Port
    incarnation: int

    def run(self, effects: Effects[Any], context: Context) -> None:
        """Run a generator until it ends or waits."""

    def wake(self, partition: str, cause: int) -> None:
        """Let the parked fetches of this partition read again."""

    def watermark_moved(self, partition: str, before: int, cause: int) -> None:
        """The high watermark of the partition has risen from `before`: release what waited for that."""

    def fail_waiters(self, partition: str) -> None:
        """This broker no longer leads the partition: every append that still waits has failed."""
