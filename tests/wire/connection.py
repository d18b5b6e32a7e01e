"""A client that speaks kafkalab's messages over a socket."""

from __future__ import annotations

import socket
from typing import Any

from kafkalab.wire.codec import read_response, request_bytes
from kafkalab.wire.names import Names


class Connection:
    """A connection to one broker, which waits for each answer."""

    def __init__(self, servers: str, broker: int = 1, client_id: str = "test") -> None:
        places = [server.rsplit(":", 1) for server in servers.split(",")]
        self.names = Names({f"b{n}": (host, int(port)) for n, (host, port) in enumerate(places, 1)})
        self.client_id, self.count = client_id, 0
        self.socket = socket.create_connection(self.names.address(f"b{broker}"), timeout=30)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, body: Any, version: int) -> None:
        """Send a request and do not wait."""
        self.count += 1
        api = type(body).__name__
        self.socket.sendall(request_bytes(api, version, self.count, self.client_id, body, self.names))

    def ask(self, body: Any, version: int) -> Any:
        """Send a request; return its response."""
        self.send(body, version)
        number, response = read_response(type(body).__name__, version, self.answer(), self.names)
        assert number == self.count
        return response

    def answer(self) -> bytes:
        """Return the bytes of the next response; ConnectionError if the server has closed the connection."""
        return self._read(int.from_bytes(self._read(4), "big"))

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("closed by the server")
            data += part
        return data
