"""Messages between the grader and a notebook's process: objects of JSON, each after its length, over a socket."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

from kafkalab.grading.values import UnreadableError, message_of

MESSAGE_MAX = 2_000_000
LENGTH = struct.Struct(">I")


class Channel:
    """One end. `idle` is called whenever nothing could be read or written for a while; what it raises ends the wait."""

    def __init__(self, end: socket.socket, idle: Callable[[], None] | None = None, look_s: float | None = None) -> None:
        self.end, self.idle = end, idle
        self.received = 0  # bytes
        end.settimeout(look_s)

    def send(self, message: dict[str, Any]) -> None:
        """Send the message; UnreadableError if it is too long."""
        data = json.dumps(message).encode()
        if len(data) > MESSAGE_MAX:
            raise UnreadableError(f"it is larger than {MESSAGE_MAX // 1_000_000} MB")
        rest = memoryview(LENGTH.pack(len(data)) + data)
        while rest:
            try:
                rest = rest[self.end.send(rest) :]
            except TimeoutError:
                self._look()

    def receive(self) -> dict[str, Any]:
        """Return the next message; EOFError if there is none any more, UnreadableError if it is none."""
        (length,) = LENGTH.unpack(self._bytes(LENGTH.size))
        if length > MESSAGE_MAX:
            raise UnreadableError(f"its answer is larger than {MESSAGE_MAX // 1_000_000} MB")
        return message_of(self._bytes(length))

    def _bytes(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                more = self.end.recv(min(count - len(data), 1 << 16))
            except TimeoutError:
                self._look()
                continue
            except ConnectionError:
                raise EOFError from None
            if not more:
                raise EOFError
            data += more
            self._look()
        self.received += count
        return bytes(data)

    def _look(self) -> None:
        if self.idle is not None:
            self.idle()
