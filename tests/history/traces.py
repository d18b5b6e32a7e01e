"""Traces made by hand: each event has the next step, and ten milliseconds more than the one before."""

from __future__ import annotations

from typing import Any

from kafkalab.trace import Event, Frame, Trace


class Traced:
    """A trace to which events and frames are added."""

    def __init__(self) -> None:
        self.trace = Trace()

    def note(self, node: str, kind: str, name: str, data: Any, cause: int = -1, frame: str = "") -> int:
        """Add an event, and return its step."""
        step = len(self.trace.events)
        self.trace.events.append(Event(step, 10 * step, node, kind, name, cause, frame, data))
        return step

    def request(self, client: str, body: Any, copy_of: str = "", broker: str = "b1") -> Frame:
        """Send a request; return its frame."""
        name = type(body).__name__
        return self._send(name, "request", client, broker, body, "", copy_of)

    def response(self, request: Frame, body: Any, copy_of: str = "") -> Frame:
        """Send the response of a request; return its frame."""
        name = f"{request.name}Response"
        return self._send(name, "response", request.receiver, request.sender, body, request.id, copy_of)

    def _send(self, name: str, kind: str, sender: str, receiver: str, body: Any, of: str, copy_of: str) -> Frame:
        number = len(self.trace.frames)
        frame = Frame(f"{name}#{number}", name, kind, sender, receiver, "transaction", body, 1, number, of, copy_of)
        self.trace.frames[frame.id] = frame
        self.note(sender, "send", name, frame)
        return frame

    def arrive(self, frame: Frame) -> int:
        """Let the frame arrive, and return the step at which it does."""
        return self.note(frame.receiver, "receive", frame.name, frame, frame=frame.id)

    def ask(self, client: str, body: Any, response: Any = None, copy_of: str = "", broker: str = "b1") -> int:
        """A request that arrives and, if given, its response, which arrives too; return the last step."""
        request = self.request(client, body, copy_of, broker)
        step = self.arrive(request)
        return step if response is None else self.arrive(self.response(request, response, copy_of))
