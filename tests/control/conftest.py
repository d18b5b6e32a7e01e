"""A controlled lab, and requests to it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from kafkalab.control.http_server import ControlServer
from kafkalab.control.of_lab import OPERATIONS
from kafkalab.testing.kafka_lab import KafkaLab
from tests.testing.conftest import connect

__all__ = ["connect"]
JSON = {"Content-Type": "application/json"}


class Control:
    """Asks a control server: each call is a connection of its own and returns status and answer."""

    def __init__(self, server: ControlServer) -> None:
        self.server = server
        self.port = server.server_address[1]

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers["Content-Type"] == "application/json"
            return response.status, json.loads(data) if data and is_json else data.decode()
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer; AssertionError, with its sentence, for an error."""
        status, found = self.ask("GET", f"{path}?{urlencode(query, doseq=True)}" if query else path)
        assert status == 200, found
        return found

    def post(self, path: str, **body: Any) -> Any:
        """Return the answer; AssertionError, with its sentence, for an error."""
        status, found = self.ask("POST", path, json.dumps(body).encode(), JSON)
        assert status == 200, found
        return found

    def refusal(self, method: str, path: str, **body: Any) -> str:
        """Return the sentence with which a request is refused."""
        data = json.dumps(body).encode() if method == "POST" else None
        status, found = self.ask(method, path, data, JSON if method == "POST" else {})
        assert status >= 400
        return f"{status} {found['error']}"


@pytest.fixture
def lab() -> Iterator[KafkaLab]:
    with KafkaLab(topics={"in": 1, "out": 1}, allow_unused_faults=True) as made:
        yield made


Serve = Callable[..., Control]


@pytest.fixture
def serve(lab: KafkaLab) -> Iterator[Serve]:
    """Start a control server of the lab, on a host and with names."""
    servers: list[ControlServer] = []

    def start(host: str = "127.0.0.1", *names: str) -> Control:
        servers.append(ControlServer(lab, OPERATIONS, "kafkalab serve", host, 0, names))
        return Control(servers[-1])

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def control(serve: Serve) -> Control:
    return serve()
