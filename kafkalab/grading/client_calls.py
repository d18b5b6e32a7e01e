"""The calls of a student's program on its clients, done by the grader's simulator, one call after the other.

The program runs in the notebook's process and has only numbers for its clients. `CALLS` says what it may use; nothing
else of the simulator can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from kafkalab.client.admin.admin import Admin
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.producer.producer import Producer
from kafkalab.client.promise import Promise
from kafkalab.grading.values import Reader, UnreadableError
from kafkalab.programs.database import Database, database
from kafkalab.sim.app import App

CALLS: dict[type, frozenset[str]] = {
    App: frozenset({"producer", "consumer", "admin", "leader", "sleep", "database"}),
    Producer: frozenset({
        "init_transactions", "begin_transaction", "send", "flush", "send_offsets_to_transaction",
        "prepare_transaction", "complete_transaction", "commit_transaction", "abort_transaction", "close",
    }),
    Consumer: frozenset({
        "subscribe", "assign", "unsubscribe", "assignment", "subscription", "pause", "resume", "paused", "seek",
        "seek_to_beginning", "seek_to_end", "position", "poll", "commit_sync", "commit_async", "committed",
        "group_metadata", "end_offset", "end_offsets", "beginning_offsets", "offsets_for_times", "close",
        "has_all_fetch_positions",
    }),
    Admin: frozenset({
        "describe_cluster", "describe_transactions", "list_transactions", "describe_producers", "fence_producers",
        "find_hanging_transactions",
    }),
    Database: frozenset({"begin", "execute", "commit", "rollback"}),
    Promise: frozenset({"result"}),
}  # fmt: skip
BESIDE: dict[tuple[type, str], Callable[[Any], Any]] = {(App, "database"): database}
"""The names that are called like methods, and are none."""
READS: dict[type, frozenset[str]] = {
    App: frozenset({"now", "name", "brokers"}),
    Producer: frozenset({"state"}),
    Consumer: frozenset({"name"}),
    Promise: frozenset({"done"}),
}
"""The attributes that may be read without a call."""

USES_MAX, CLIENTS_MAX, BYTES_MAX = 20_000, 4_000, 8_000_000
"""Of one program: its uses of clients, the clients and promises that it has, and the bytes that it sends for them."""


class Clients:
    """The clients of one program, and the calls that it has not awaited yet, by their numbers."""

    def __init__(self, reader: Callable[[], Reader]) -> None:
        self._reader = reader
        self._there: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._uses = 0
        self._first_byte = -1

    def number_of(self, value: Any) -> int | None:
        """Return the number of a client, a promise or a call, a new one if need be; None for anything else."""
        if type(value) not in CALLS and not isinstance(value, Coroutine):
            return None
        if id(value) not in self._numbers:
            if len(self._there) >= CLIENTS_MAX:
                raise UnreadableError(f"the program has more than {CLIENTS_MAX} clients and promises")
            self._numbers[id(value)] = len(self._there)
            self._there.append(value)
        return self._numbers[id(value)]

    def use(self, row: Any, received: int) -> Any:
        """Read an attribute, or call a method, as the program wants; return the result, or raise its error."""
        self._count(received)
        match row:
            case [int(number), str(name)]:
                return getattr(self._find_allowed(number, name, READS), name)
            case [int(number), str(name), given, named]:
                there = self._find_allowed(number, name, CALLS)
                beside = BESIDE.get((type(there), name))
                method = partial(beside, there) if beside else getattr(there, name)
                reader = self._reader()
                reader.specials = {**reader.specials, "listener": _listener}
                args, options = reader.read(given), reader.read(named)
                if isinstance(args, list) and isinstance(options, dict) and all(isinstance(k, str) for k in options):
                    return method(*args, **options)
        raise UnreadableError("this is no use of a client")

    async def wait_for(self, row: Any) -> Any:
        """Wait, in the simulator, for a promise or a call; return its result, or raise its error."""
        waiting = self._at(row) if isinstance(row, int) else None
        if not isinstance(waiting, (Promise, Coroutine)):
            raise UnreadableError("there is nothing to wait for")
        return await waiting

    def close(self) -> None:
        """Forget the calls that were never awaited."""
        for value in self._there:
            if isinstance(value, Coroutine):
                value.close()

    def _count(self, received: int) -> None:
        self._uses += 1
        self._first_byte = received if self._first_byte < 0 else self._first_byte
        if self._uses > USES_MAX or received - self._first_byte > BYTES_MAX:
            raise UnreadableError(f"the program has used its clients more than {USES_MAX} times, or for too much data")

    def _at(self, number: int) -> Any:
        return self._there[number] if 0 <= number < len(self._there) else None

    def _find_allowed(self, number: int, name: str, names: dict[type, frozenset[str]]) -> Any:
        found = self._at(number)
        if name not in names.get(type(found), ()):
            raise AttributeError(f"in a graded program a {type(found).__name__} has no {name!r}")
        return found


def _listener(functions: Any) -> RebalanceListener:
    """Return a listener whose methods are these functions of the notebook."""
    match functions:
        case [revoked, assigned, lost] if callable(revoked) and callable(assigned) and callable(lost):
            listener = RebalanceListener()
            for name, function in (("revoked", revoked), ("assigned", assigned), ("lost", lost)):
                setattr(listener, f"on_partitions_{name}", function)
            return listener
    raise UnreadableError("this is no listener")
