"""One connection to one broker. Requests may be sent ahead; their answers come in the same order."""

from __future__ import annotations

import socket
import struct
from typing import Any

from tests.kafka.schema import Protocol

HOST = "127.0.0.1"


class Connection:
    """Send requests to the broker at a port of this machine, from the address `source`, which ACLs may name."""

    def __init__(self, protocol: Protocol, port: int, client_id: str = "oracle", source: str = HOST) -> None:
        self.protocol, self.port, self.client_id, self.correlation = protocol, port, client_id, 0
        self.socket = socket.create_connection((HOST, port), timeout=60, source_address=(source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting: list[tuple[int, str, int]] = []
        self._buffer = b""

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def send(self, api: str, version: int, values: dict[str, Any]) -> None:
        """Send a request; `receive` returns its answer."""
        self.correlation += 1
        self.socket.sendall(self.protocol.request_bytes(api, version, self.correlation, self.client_id, values))
        self.waiting.append((self.correlation, api, version))

    def receive(self) -> dict[str, Any]:
        """Wait for the answer to the oldest request that has none; ConnectionError if the broker hangs up."""
        correlation, api, version = self.waiting.pop(0)
        size = struct.unpack(">i", self._read(4))[0]
        got, response = self.protocol.response_of(api, version, self._read(size))
        assert got == correlation, f"an answer to {got} where that to {correlation} was due"
        return response

    def ask(self, api: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self.send(api, version, values)
        return self.receive()

    def _read(self, count: int) -> bytes:
        while len(self._buffer) < count:
            part = self.socket.recv(65536)
            if not part:
                raise ConnectionError("the broker closed the connection")
            self._buffer += part
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data
