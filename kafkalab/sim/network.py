"""The network: requests and responses with latency, in order per connection; faults on frames; time-outs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.links import Links
from kafkalab.faults.world import Flight
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.frame_faults import FrameFaults
from kafkalab.sim.frame_headers import both_headers
from kafkalab.sim.frame_names import FrameNames
from kafkalab.sim.in_flight_requests import REQUEST_TIMEOUT_MS, HeldFetches, InFlightRequest, ResponseHandler
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.sim.kernel.task import Node, no_requests
from kafkalab.trace import Frame, error_of

LATENCY_MIN_MS, LATENCY_SPREAD_MS = 1, 4
UNDISTURBED = Flight()
NEVER_A_RETRY = ("Fetch", "ReplicaFetch", "Metadata", "ApiVersions")


class Network:
    """Carries frames between nodes. Every latency follows from the seed and the frame's number."""

    def __init__(self, kernel: Kernel, seed: int, rules: Rules, faults: tuple[FrameFault, ...]) -> None:
        self.kernel = kernel
        self._seed_part = seed * 0x9E3779B9  # of every frame's latency
        self.frame_faults = FrameFaults(self, faults)
        self.faults = self.frame_faults.planned
        self.frames_sent = 0
        self.latency_min_ms, self.latency_spread_ms = LATENCY_MIN_MS, LATENCY_SPREAD_MS
        self.breaks_on_drop = False  # over TCP a frame is not lost unless its connection is
        self._outstanding: dict[int, InFlightRequest] = {}
        self._held = HeldFetches(self._outstanding)
        self.names = FrameNames()
        self.count_sent, self.was_sent = self.names.count_sent, self.names.was_sent
        self._arrivals: dict[tuple[str, str], int] = {}
        self._timeouts: dict[tuple[str, bool, int], deque[int]] = {}
        self.links = Links(self.arrive_now)
        self._headers_of_servers, self._headers_of_clients = both_headers(rules)
        self._failed: dict[tuple[str, str], tuple[Any, int]] = {}
        self.quiet = False
        """In real time, with no trace kept, while `is_whole`: frames arrive at once and leave no events."""
        self.timing_out = False  # while a connection is being closed because a request timed out
        self.gate: Callable[[Frame], bool] | None = None
        """The rule that keeps a frame on its way until it is released (sim/gate.py)."""

    @property
    def is_whole(self) -> bool:
        """True if every frame that is sent arrives: no fault, cut or gate awaits it, and all nodes work."""
        waits = self.faults or self.gate or self.links.cuts or self.links.slow or self.links.all_held
        return not waits and all(node.alive and not node.paused for node in self.kernel.nodes.values())

    # sending

    def request(
        self, sender: str, to: str, body: object, then: ResponseHandler | None, cause: int, background: bool = False,
        asked_version: int | None = None, timeout_ms: int = 0,
    ) -> None:  # fmt: skip
        """Send a request, if the sender is alive; call `then(response, step)` once, with None if the connection breaks.

        It breaks after `timeout_ms`, or 30 s where 0 is given; some requests say themselves how long they may take.
        Below 0 it never does: the sender has a clock of its own. Without `then` no answer is expected.
        """
        node = self.kernel.nodes[sender]
        if not node.alive:
            return
        is_client = node.receive is no_requests
        headers = self._headers_of_clients if is_client else self._headers_of_servers
        name, version, category = headers[type(body)]
        version = version if asked_version is None else asked_version
        self.frames_sent += 1
        frame = Frame(self.names.add(name), name, "request", sender, to, category, body, version, self.frames_sent)
        if is_client:
            frame.client_number = self.names.add_at(sender, name)
        if self._failed:
            frame.attempt = self._attempt(sender, name, body)
        timeout_ms = getattr(body, "request_timeout_ms", 0) or timeout_ms or REQUEST_TIMEOUT_MS
        if then is not None:
            deadline = self.kernel.schedule.now + timeout_ms
            waiting = InFlightRequest(sender, node.incarnation, to, body, then, deadline, cause, background)
            self._outstanding[frame.correlation_id] = waiting
            if timeout_ms > 0:
                self._watch(sender, background, timeout_ms, frame.correlation_id)
        self._transmit(frame, cause)

    def respond(self, request: Frame, body: object, cause: int) -> None:
        """Send the response of a request back to where it came from."""
        if self.frame_faults.answers and (body := self.frame_faults.replace(request, body)) is None:
            return
        self.frames_sent += 1
        name = f"{request.name}Response"
        frame = Frame(
            self.names.add(name), name, "response", request.receiver, request.sender, request.category, body,
            request.version, request.correlation_id,
        )  # fmt: skip
        frame.of = request.copy_of or request.id
        if request.client_number:
            frame.client_number = self.names.add_at(request.sender, name)
        frame.attempt = request.attempt
        if request.category == "replication" and (waiting := self._outstanding.get(request.correlation_id)):
            self._held.let_go(waiting, self.kernel.now)
        self._transmit(frame, cause)
        self.frame_faults.end(request)

    def _attempt(self, sender: str, name: str, body: object) -> int:
        failed = self._failed.get((sender, name))
        return failed[1] + 1 if failed is not None and failed[0] == body else 1

    def _transmit(self, frame: Frame, cause: int) -> None:
        kernel = self.kernel
        receiver, trace = kernel.nodes[frame.receiver], kernel.trace
        frame.receiver_incarnation = receiver.incarnation
        if self.quiet and not self.faults:
            kernel.schedule.at(kernel.schedule.now, frame.receiver, -1, partial(self._deliver, frame))
            return
        frame.sent_ms = kernel.schedule.now
        if trace.keep and not trace.full:
            trace.frames[frame.id] = frame
        frame.sent_step = trace.steps
        kernel.record(frame.sender, "send", frame.name, cause, frame, frame.id)
        if kernel.interrupted and not (sender := kernel.nodes[frame.sender]).alive and not sender.last_frame_leaves:
            frame.fate = "lost"  # the sender died in the moment of sending
            return
        flight = UNDISTURBED
        if self.faults and (planned := self._faults_of(frame)):
            flight = self.frame_faults.meet(frame, planned)
        if not flight.copies:
            return
        if self.links.cuts and self.links.is_cut(frame.sender, frame.receiver):
            self._never_arrives(frame)
            return
        if not receiver.alive:
            frame.fate = "lost"
            if frame.kind == "request":
                self._break(frame.correlation_id, frame.sent_step)
            return
        if self.gate is not None and flight == UNDISTURBED and self.gate(frame):
            self.links.hold(frame)
            return
        self.fly(frame, flight.extra_ms, flight.copies)

    def fly(self, frame: Frame, extra_ms: int = 0, copies: int = 1) -> None:
        """Let the frame arrive after its latency and `extra_ms`; with two `copies` once more."""
        self._schedule(frame, extra_ms)
        if copies == 2:
            copy = replace(frame, id=f"{frame.id}~copy", copy_of=frame.id)
            if self.kernel.trace.keep and not self.kernel.trace.full:
                self.kernel.trace.frames[copy.id] = copy
            self._schedule(copy, extra_ms)

    def lose(self, frame: Frame) -> None:
        """Let the frame never arrive; the connection breaks where frames are not lost otherwise."""
        self._never_arrives(frame)
        if self.breaks_on_drop:
            self._break(frame.correlation_id, frame.sent_step)

    def _never_arrives(self, frame: Frame) -> None:
        frame.fate = "dropped"
        self.links.release_followers(frame)
        self.frame_faults.let_in(frame)

    def _faults_of(self, frame: Frame) -> list[FrameFault]:
        """Return the faults that await the frame, under either of its names."""
        found = self.faults.get(frame.id, [])
        return found + self.faults.get(frame.name_at_client, []) if frame.client_number else found

    def arrive_now(self, frame: Frame) -> None:
        """Let the frame arrive at this moment."""
        self.kernel.schedule.at(self.kernel.now, frame.receiver, -1, lambda: self._deliver(frame))

    def find_request(self, response: Frame) -> Any:
        """Return the body of the request that the response answers, None if nobody waits for it any more."""
        return getattr(self._outstanding.get(response.correlation_id), "body", None)

    def _schedule(self, frame: Frame, extra_ms: int) -> None:
        schedule = self.kernel.schedule
        number = frame.correlation_id * 2 + (frame.kind == "response")
        mixed = (self._seed_part + number * 0x85EBCA6B) & 0xFFFFFFFF
        mixed = ((mixed ^ mixed >> 15) * 0xC2B2AE35) & 0xFFFFFFFF
        at = schedule.now + self.latency_min_ms + (mixed >> 16) % self.latency_spread_ms
        connection = (frame.sender, frame.receiver)
        gap_ms = self.links.slow.get(connection, 0) if self.links.slow else 0
        if extra_ms:
            at += extra_ms + gap_ms
        else:
            at += gap_ms
            earliest = self._arrivals.get(connection, 0) + (gap_ms or (1 if frame.copy_of else 0))
            if at < earliest:
                at = earliest
            self._arrivals[connection] = at
        schedule.at(at, frame.receiver, -1, partial(self._deliver, frame))

    # arriving

    def _deliver(self, frame: Frame) -> None:
        node, quiet, faults = self.kernel.nodes[frame.receiver], self.quiet and not self.faults, self.frame_faults
        if (faults.before or faults.kept) and faults.keeps(frame):
            return
        if not quiet and not self._has_arrived(frame, node):
            return
        waiting = self._outstanding.get(frame.correlation_id)
        if frame.kind == "request":
            if waiting is not None and waiting.background:
                self._held.hold(frame.correlation_id, waiting)
            if not (faults.arrivals and faults.intercept(frame)):
                node.receive(frame)
        elif waiting is not None and waiting.sender == frame.receiver and waiting.incarnation == node.incarnation:
            del self._outstanding[frame.correlation_id]
            if not quiet:
                self._remember_failure(waiting, frame.body)
            waiting.then(frame.body, frame.received_step)

    def _has_arrived(self, frame: Frame, node: Node) -> bool:
        """Record that the frame has arrived; return whether its receiver still runs."""
        kernel, links = self.kernel, self.links
        if links.followers:
            links.release_followers(frame)
        if not node.alive or node.incarnation != frame.receiver_incarnation:
            frame.fate = "lost"
        elif links.cuts and links.is_cut(frame.sender, frame.receiver):
            frame.fate = "dropped"
        if frame.fate != "in flight":
            self.frame_faults.end(frame)
            return False
        if not kernel.trace.full:  # else it stays in flight in what is recorded
            frame.fate, frame.received_ms = "delivered", kernel.schedule.now
            frame.received_step = kernel.trace.steps
        incarnation = node.incarnation
        kernel.record(frame.receiver, "receive", frame.name, frame.sent_step, frame, frame.id)
        return not kernel.interrupted or kernel.running(frame.receiver, incarnation)

    def part(self, a: str, b: str) -> bool:
        """Cut the link both ways; return whether it was whole before."""
        self._held.release_between(a, b, self.kernel.now)
        return self.links.cut(a, b)

    # time-outs and broken connections

    def _remember_failure(self, waiting: InFlightRequest, response: object = None) -> None:
        name = type(waiting.body).__name__
        if name not in NEVER_A_RETRY and (response is None or error_of(response) != "NONE"):
            self._failed[waiting.sender, name] = (waiting.body, self._attempt(waiting.sender, name, waiting.body))

    def _watch(self, sender: str, background: bool, timeout_ms: int, correlation_id: int) -> None:
        """Watch the oldest request with one timer per node and time-out: it is due first."""
        key = (sender, background, timeout_ms)
        queue = self._timeouts.get(key)
        if queue is None:
            queue = self._timeouts[key] = deque()
        queue.append(correlation_id)
        if len(queue) == 1:
            self._arm(key, self.kernel.schedule.now + timeout_ms)

    def _arm(self, key: tuple[str, bool, int], at_ms: int) -> None:
        node = self.kernel.nodes[key[0]]
        self.kernel.schedule.at(at_ms, node.name, node.incarnation, lambda: self._expire(key), True)

    def _expire(self, key: tuple[str, bool, int]) -> None:
        sender, background, _ = key
        queue = self._timeouts[key]
        if background:
            self._held.renew(queue, self.kernel.nodes, self.kernel.now)
        while queue:
            waiting = self._outstanding.get(queue[0])
            if waiting is None:
                queue.popleft()
                continue
            if waiting.deadline_ms > self.kernel.now:
                self._arm(key, waiting.deadline_ms)
                return
            correlation_id = queue.popleft()
            told = {"to": waiting.to, "request": type(waiting.body).__name__}
            self.kernel.record(sender, "timer", "request timeout", waiting.cause, told)
            self.timing_out = True
            self._fail(correlation_id, self.kernel.trace.steps - 1)
            if not background:
                self._fail_connection(sender, waiting.to)
            self.timing_out = False

    def _fail(self, correlation_id: int, cause: int) -> None:
        waiting = self._outstanding.pop(correlation_id, None)
        if waiting is not None:  # else its sender died, or the answer came
            self._remember_failure(waiting)
            waiting.then(None, cause)

    def _fail_connection(self, sender: str, to: str) -> None:
        """Fail everything outstanding between the two: a request that times out closes its connection."""
        for correlation_id, waiting in list(self._outstanding.items()):
            if waiting.sender == sender and waiting.to == to and not waiting.background:
                self._fail(correlation_id, waiting.cause)

    def _break(self, correlation_id: int, cause: int) -> None:
        """Fail the request after a moment: the receiver's process is gone."""
        waiting = self._outstanding.get(correlation_id)
        if waiting is None:
            return  # its sender is gone, too
        at = self.kernel.now + LATENCY_MIN_MS
        self.kernel.schedule.at(at, waiting.sender, waiting.incarnation, lambda: self._fail(correlation_id, cause))

    def node_died(self, node: str, cause: int) -> None:
        """Break the node's connections: forget its own requests, and fail those sent to it."""
        for correlation_id, waiting in list(self._outstanding.items()):
            if waiting.sender == node:
                del self._outstanding[correlation_id]
            elif waiting.to == node and not self.links.is_cut(waiting.sender, node):
                self._break(correlation_id, cause)
        for key in [k for k in self._timeouts if k[0] == node]:
            del self._timeouts[key]
        self.frame_faults.node_died(node)
