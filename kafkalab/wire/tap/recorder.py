"""Records what passes a tap as a trace: frames with the simulator's names, and the events that they tell of.

It reads no clock and no socket: the same bytes at the same times give the same trace, so a saved session is recorded
again when it is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkalab.protocol.acls import is_server
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import INTERNAL_TOPICS, split
from kafkalab.protocol.profiles import Rules
from kafkalab.run.run import Cast, Run
from kafkalab.sim.frame_names import FrameNames
from kafkalab.sim.network import NEVER_A_RETRY
from kafkalab.trace import Event, Frame, Trace, error_of
from kafkalab.wire.codec import ReadRequest
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.tap.cluster_view import Knowledge
from kafkalab.wire.tap.frames import Answer

log = logging.getLogger("kafkalab.tap")

MOST_EVENTS, MOST_BYTES = 100_000, 256 * 1024 * 1024
"""The most of a session that is kept for pictures: what passes after that is counted, and still saved."""
WHY = "these frames were recorded before a running Kafka: they cannot be run again with a change"
OTHER = "metadata"
"""The category of frames of which the lab has no message."""


class Recorder:
    """`trace` has what has passed by now; `frames_seen` counts on when it is full."""

    def __init__(
        self,
        title: str,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
        on_frame: Callable[[Frame], None] | None = None,
    ) -> None:
        self.trace, self.on_frame = Trace(title=title), on_frame
        self.names = LearnedNames()
        self.knowledge = Knowledge(self.names, self.note)
        self.most_events, self.most_bytes = most_events, most_bytes
        self.bytes = self.frames_seen = 0
        self.on_change: Callable[[], None] = lambda: None
        """Called after every change of the trace."""
        self.now_ms = 0
        self.clients: dict[str, None] = {}
        self.frame_names = FrameNames()
        self._failed: dict[tuple[str, str], tuple[Any, int]] = {}

    # the trace

    @property
    def full(self) -> bool:
        """True if nothing more is recorded."""
        return self.trace.full

    def note(
        self, node: str, kind: str, name: str, data: object, cause: int = -1, frame: str = ""
    ) -> int:
        """Add an event at this moment; return its step, -1 if the trace is full."""
        if self.full:
            return -1
        step = self.trace.steps
        self.trace.events.append(Event(step, self.now_ms, node, kind, name, cause, frame, data))
        self.trace.steps += 1
        self.on_change()
        return step

    def _limit(self, broker: str) -> None:
        """Stop recording when there is no more room; the last event says so."""
        if not self.full and (self.trace.steps >= self.most_events or self.bytes > self.most_bytes):
            what = f"{self.trace.steps:,} events" if self.trace.steps >= self.most_events else f"{self.bytes:,} bytes"
            self.trace.stop(self.now_ms, broker, what)
            self.on_change()

    def client(self, client_id: str) -> str:
        """Return the node that stands for a client of this id: its own name, unless a server could have it."""
        name = f"client {client_id}" if not client_id or is_server(client_id) else client_id
        if not self.full:
            self.clients[name] = None
        return name

    def _frame(self, **fields: Any) -> Frame:
        name, client = fields["name"], fields["sender"] if fields["kind"] == "request" else fields["receiver"]
        frame = Frame(id=self.frame_names.add(name), sent_ms=self.now_ms, **fields)
        frame.client_number = self.frame_names.add_at(client, name)
        self.frames_seen += 1
        if not self.full:
            self.trace.frames[frame.id] = frame
        frame.sent_step = self.note(frame.sender, "send", frame.name, frame, -1, frame.id)
        if self.on_frame is not None:
            self.on_frame(frame)
        return frame

    # a request and its answer

    def on_request(self, at_ms: int, broker: str, asked: ReadRequest, size: int) -> list[Frame]:
        """Record that a client sent a request; return its frames, one for each body."""
        self.now_ms = max(self.now_ms, at_ms)
        self.bytes += size
        self._limit(broker)
        client, api = self.client(asked.client_id), BY_NAME.get(asked.api)
        category = api.category if api else OTHER
        known: dict[str, Any] = {"kind": "request", "sender": client, "receiver": broker, "category": category}
        known |= {"version": asked.version, "correlation_id": asked.correlation_id, "name": asked.api}
        return [
            self._frame(**known, body=body, attempt=self._attempt(client, asked.api, body)) for body in asked.bodies
        ]

    def on_arrival(self, at_ms: int, frames: list[Frame]) -> None:
        """Record that a request went on to its broker, or a response to its client."""
        self.now_ms = max(self.now_ms, at_ms)
        for frame in frames:
            frame.fate, frame.received_ms = "delivered", self.now_ms
            frame.received_step = self.note(frame.receiver, "receive", frame.name, frame, frame.sent_step, frame.id)
            request = self.trace.frames.get(frame.of)
            if frame.kind == "response" and request is not None:
                self._learn(self.knowledge.client_has, request, frame)

    def on_response(self, at_ms: int, frames: list[Frame], answer: Answer) -> list[Frame]:
        """Record that a broker answered; return the frames of the answer, one for each frame of the request."""
        self.now_ms = max(self.now_ms, at_ms)
        self.bytes += len(answer.data)
        self.knowledge.learn_names(answer)
        found = []
        for request, body in zip(frames, answer.bodies(self.names), strict=False):
            self._learn(self.knowledge.broker_did, request, body)
            known: dict[str, Any] = {"kind": "response", "sender": request.receiver, "receiver": request.sender}
            known |= {name: getattr(request, name) for name in ("category", "version", "attempt", "correlation_id")}
            found.append(self._frame(**known, name=f"{request.name}Response", of=request.id, body=body))
            if error_of(body) != "NONE":
                self._remember_failure(request)
            elif self._failed.get((request.sender, request.name), ((), 0))[0] == request.body:
                del self._failed[request.sender, request.name]
        return found

    def _learn(self, learn: Callable[[Frame, Any], None], request: Frame, answer: object) -> None:
        """Learn from an answer while there is room; a mistake of ours must not keep the answer from its client."""
        if not self.full:
            try:
                learn(request, answer)
            except Exception:
                log.exception("what the answer to %s tells is not shown", request.id)

    def on_loss(self, at_ms: int, frames: list[Frame], fate: str = "lost") -> None:
        """Record that frames never arrive, or are never answered: the connection broke, or a fault dropped them."""
        self.now_ms = max(self.now_ms, at_ms)
        for frame in frames:
            if frame.fate == "in flight":
                frame.fate = fate
            self.on_change()
            self._remember_failure(frame if frame.kind == "request" else self.trace.frames.get(frame.of, frame))

    def fault(self, at_ms: int, frame: Frame, fault: Any) -> None:
        """Record that the tap did something to a frame."""
        self.now_ms = max(self.now_ms, at_ms)
        self.note(frame.sender, "fault", type(fault).__name__, {"fault": repr(fault)}, frame.sent_step, frame.id)

    def _attempt(self, sender: str, name: str, body: object) -> int:
        failed = self._failed.get((sender, name))
        return failed[1] + 1 if failed is not None and failed[0] == body else 1

    def _remember_failure(self, frame: Frame) -> None:
        if frame.name not in NEVER_A_RETRY and not self.full:
            self._failed[frame.sender, frame.name] = (frame.body, frame.attempt)

    # views

    def recording(self) -> Run:
        """Return a copy of what was recorded by now, for views, histories and checks."""
        trace = Trace(events=list(self.trace.events), frames=dict(self.trace.frames), title=self.trace.title)
        trace.steps = len(trace.events)
        return replace(self.run, trace=trace)

    @property
    def run(self) -> Run:
        """The run with the trace itself, which grows."""
        known, topics = self.knowledge, dict[str, int]()
        for topic, index in map(split, known.metadata.partitions):
            if topic not in INTERNAL_TOPICS:
                topics[topic] = max(topics.get(topic, 0), index + 1)
        brokers = tuple(sorted(known.brokers, key=self.names.node_id))
        nodes, rules = (*self.clients, *brokers), Rules(known.profile)
        cast = Cast(rules=rules, topics=topics, nodes=nodes, brokers=brokers, metadata=known.metadata)
        return Run(trace=self.trace, cast=cast, why=WHY)
