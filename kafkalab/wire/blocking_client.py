"""A connection that asks a broker one thing at a time and waits for the answer."""

from __future__ import annotations

import socket
from typing import Any

from kafkalab.wire.codec import read_response, request_bytes
from kafkalab.wire.names import Names

TIMEOUT_S = 30


class BlockingClient:
    """One connection to the broker at `place`. OSError, or EOFError if the broker closes it, where it breaks."""

    def __init__(self, place: tuple[str, int], names: Names, client_id: str) -> None:
        self.names, self.client_id, self.count = names, client_id, 0
        self.socket = socket.create_connection(place, timeout=TIMEOUT_S)

    def ask(self, body: object, version: int) -> Any:
        """Send a request in this version; return its response as kafkalab's message."""
        return read_response(type(body).__name__, version, self.exchange(body, version), self.names)[1]

    def exchange(self, body: object, version: int) -> bytes:
        """Send a request; return the bytes of its response, without their length."""
        self.count += 1
        api = type(body).__name__
        self.socket.sendall(request_bytes(api, version, self.count, self.client_id, body, self.names))
        return self._read(int.from_bytes(self._read(4), "big"))

    def _read(self, count: int) -> bytes:
        data = bytearray(count)
        view, place = memoryview(data), 0
        while place < count:
            got = self.socket.recv_into(view[place:])
            if not got:
                raise EOFError("the broker has closed the connection")
            place += got
        return bytes(data)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()
