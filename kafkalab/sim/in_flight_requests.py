"""Requests without an answer yet, and those of them that are held: replicas' fetches that wait for records."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafkalab.sim.kernel.task import Node

REQUEST_TIMEOUT_MS = 30_000
REPLICA_FETCH_WAIT_MS = 500

ResponseHandler: TypeAlias = Callable[[Any, int], None]


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A request that has no answer yet."""

    sender: str
    incarnation: int
    to: str
    body: Any
    then: ResponseHandler
    deadline_ms: int
    cause: int
    background: bool


class HeldFetches:
    """The newest fetch that each replica has at each leader, while the leader has nothing for it.

    Kafka answers such a fetch after `replica.fetch.wait.max.ms`, without records, and the replica sends the next one.
    Here these exchanges are neither frames nor events: the fetch stays held, and does not time out as long as the
    leader runs and no network partition is between the two.
    """

    def __init__(self, outstanding: dict[int, InFlightRequest]) -> None:
        self._outstanding = outstanding
        self._held: dict[tuple[str, str], tuple[int, InFlightRequest]] = {}  # with the request's number

    def hold(self, number: int, waiting: InFlightRequest) -> None:
        """Hold the fetch that has arrived; an older one of the pair is over."""
        pair = waiting.sender, waiting.to
        older = self._held.get(pair)
        if older is not None and older[0] != number:
            self._outstanding.pop(older[0], None)
        self._held[pair] = number, waiting

    def let_go(self, waiting: InFlightRequest, now: int) -> None:
        """Stop holding a fetch that is answered or cut off: it times out as the last of the empty exchanges would."""
        if self._holds(waiting):
            del self._held[waiting.sender, waiting.to]
            waiting.deadline_ms = now - (now - waiting.deadline_ms) % REPLICA_FETCH_WAIT_MS + REQUEST_TIMEOUT_MS

    def release_between(self, a: str, b: str, now: int) -> None:
        """Stop holding the fetches between two nodes that a network partition separates."""
        for held in (self._held.get((a, b)), self._held.get((b, a))):
            if held is not None:
                self.let_go(held[1], now)

    def _holds(self, waiting: InFlightRequest) -> bool:
        held = self._held.get((waiting.sender, waiting.to))
        return held is not None and held[1] is waiting

    def renew(self, queue: deque[int], nodes: dict[str, Node], now: int) -> None:
        """Give what is held and due another 30 s unless its leader is paused; order the queue by deadline."""
        found = {number: self._outstanding[number] for number in queue if number in self._outstanding}
        for waiting in found.values():
            if self._holds(waiting) and waiting.deadline_ms <= now and not nodes[waiting.to].paused:
                waiting.deadline_ms = now + REQUEST_TIMEOUT_MS
        queue.clear()
        queue.extend(sorted(found, key=lambda number: found[number].deadline_ms))
