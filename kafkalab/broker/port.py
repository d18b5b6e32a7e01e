"""A broker: dispatches requests to handlers and carries their effects out. It does no I/O; its port does."""

from __future__ import annotations

from typing import Any, Protocol

from kafkalab.trace import Frame


class Port(Protocol):
    """A broker's access to the world. The simulator has one; a socket server would have another."""

    now: int

    def request(self, sender: str, to: str, body: Any, then: Any, cause: int, background: bool = False) -> None: ...

    def respond(self, request: Frame, body: Any, cause: int) -> None: ...

    def timer(self, node: str, delay_ms: int, action: Any, background: bool) -> None: ...

    def record(self, node: str, kind: str, name: str, cause: int, data: Any) -> int: ...
