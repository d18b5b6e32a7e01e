"""A tap before brokers, and raw bytes through it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkalab.limits import place_of
from kafkalab.live.tap import Tap
from kafkalab.wire.blocking_client import BlockingClient
from kafkalab.wire.learned_names import LearnedNames

OPEN: list[BlockingClient] = []
"""The connections of a test."""


@contextmanager
def start_tap(servers: str, **more: Any) -> Iterator[Tap]:
    """Give a tap before these brokers."""
    with Tap(servers.split(",")[0], **more) as tap:
        yield tap


def exchange(place: str, data: bytes) -> bytes:
    """Send bytes to "host:port"; return the response without its length, b"" if the connection is closed."""
    host, port = place.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as one:
        one.sendall(data)
        with one.makefile("rb") as answers:
            head = answers.read(4)
            return answers.read(int.from_bytes(head, "big")) if len(head) == 4 else b""


def asker(tap: Tap, broker: int = 1, client_id: str = "app") -> BlockingClient:
    """Return a connection to a broker's door."""
    OPEN.append(BlockingClient(place_of(tap.bootstrap_servers.split(",")[broker - 1]), LearnedNames(), client_id))
    return OPEN[-1]


def until(done: Callable[[], object]) -> None:
    """Wait until something is so, half a minute at most."""
    last = time.monotonic() + 30
    while not done():
        assert time.monotonic() < last, "it has not come true in 30 s"
        time.sleep(0.01)
