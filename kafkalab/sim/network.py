"""The network: requests and responses with latency, in order per connection; faults on frames; time-outs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.sim.faults import Delay, Drop, FrameFault, Hold, Reorder
from kafkalab.sim.frame_kinds import frame_kinds
from kafkalab.sim.obstacles import Obstacles
from kafkalab.trace import Frame, error_of

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

LATENCY_MIN_MS, LATENCY_SPREAD_MS = 1, 4
REQUEST_TIMEOUT_MS = 30_000
NEVER_A_RETRY = ("Fetch", "ReplicaFetch", "Metadata", "ApiVersions")

Answered = Callable[[Any, int], None]


@dataclass(slots=True, eq=False)
class Outstanding:
    """A request that has no answer yet."""

    sender: str
    life: int
    to: str
    body: Any
    answered: Answered
    deadline_ms: int
    cause: int
    background: bool


class Network:
    """Carries frames between nodes. Every latency follows from the seed and the frame's number."""

    def __init__(self, cluster: Cluster, seed: int, faults: tuple[FrameFault, ...]) -> None:
        self.cluster = cluster
        self.seed = seed
        self.faults: dict[str, list[FrameFault]] = {}
        for fault in faults:
            self.faults.setdefault(fault.frame, []).append(fault)
        self.used: list[FrameFault] = []
        self.frames_sent = 0
        self._outstanding: dict[int, Outstanding] = {}
        self._counts: dict[str, int] = {}
        self._arrivals: dict[tuple[str, str], int] = {}
        self._timeouts: dict[tuple[str, bool, int], deque[int]] = {}
        self.obstacles = Obstacles(self._arrive_now)
        self._kinds_of_servers = frame_kinds(None)
        self._kinds_of_clients = frame_kinds(cluster.rules.client_version)
        self._failed: dict[tuple[str, str], tuple[Any, int]] = {}

    # sending

    def request(
        self, sender: str, to: str, body: Any, answered: Answered, cause: int, background: bool,
        asked_version: int | None = None, timeout_ms: int = 0,
    ) -> None:  # fmt: skip
        """Send a request; `answered(response, step)` is called once, with None if the connection breaks.

        It breaks after `timeout_ms`, or 30 s where 0 is given; some requests say themselves how long they may take.
        """
        kinds = self._kinds_of_servers if self.cluster.is_server(sender) else self._kinds_of_clients
        name, version, category = kinds[type(body)]
        if asked_version is not None:
            version = asked_version
        self.frames_sent += 1
        frame = Frame(self._id(name), name, "request", sender, to, category, body, version, self.frames_sent)
        if self._failed:
            frame.attempt = self._attempt(sender, name, body)
        timeout_ms = getattr(body, "request_timeout_ms", 0) or timeout_ms or REQUEST_TIMEOUT_MS
        deadline = self.cluster.schedule.now + timeout_ms
        life = self.cluster.nodes[sender].life
        waiting = Outstanding(sender, life, to, body, answered, deadline, cause, background)
        self._outstanding[frame.correlation_id] = waiting
        self._watch(sender, background, timeout_ms, frame.correlation_id)
        self._transmit(frame, cause)

    def respond(self, request: Frame, body: Any, cause: int) -> None:
        """Send the response of a request back to where it came from."""
        self.frames_sent += 1
        name = f"{request.name}Response"
        frame = Frame(
            self._id(name), name, "response", request.receiver, request.sender, request.category, body, request.version,
            request.correlation_id,
        )  # fmt: skip
        frame.of = request.copy_of or request.id
        frame.attempt = request.attempt
        self._transmit(frame, cause)

    def _id(self, name: str) -> str:
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return f"{name}#{count}"

    def _attempt(self, sender: str, name: str, body: Any) -> int:
        failed = self._failed.get((sender, name))
        return failed[1] + 1 if failed is not None and failed[0] == body else 1

    def _transmit(self, frame: Frame, cause: int) -> None:
        cluster = self.cluster
        receiver = cluster.nodes[frame.receiver]
        frame.receiver_life = receiver.life
        frame.sent_ms = cluster.schedule.now
        if cluster.trace.keep:
            cluster.trace.frames[frame.id] = frame
        frame.sent_step = cluster.trace.steps
        cluster.record(frame.sender, "send", frame.name, cause, frame, frame.id)
        if cluster.failures.struck and not cluster.running(frame.sender, -1):
            frame.fate = "lost"  # the sender died in the moment of sending
            return
        extra_ms, copies = self._meet_faults(frame) if frame.id in self.faults else (0, 1)
        if not copies:
            return
        if self.obstacles.cuts and self.obstacles.is_cut(frame.sender, frame.receiver):
            frame.fate = "dropped"
            self.obstacles.flown(frame)
            return
        if not receiver.alive:
            frame.fate = "lost"
            if frame.kind == "request":
                self._break(frame.correlation_id, frame.sent_step)
            return
        self._schedule(frame, extra_ms)
        if copies == 2:
            copy = replace(frame, id=f"{frame.id}~copy", copy_of=frame.id)
            if cluster.trace.keep:
                cluster.trace.frames[copy.id] = copy
            self._schedule(copy, extra_ms)

    def _meet_faults(self, frame: Frame) -> tuple[int, int]:
        """How much longer the frame flies, and how often: 0 for one that is dropped or kept, 2 for a doubled one."""
        extra_ms, copies = 0, 1
        for fault in self.faults[frame.id]:
            if isinstance(fault, Reorder) and self._was_sent(fault.after):
                continue
            self.used.append(fault)
            if isinstance(fault, Hold | Reorder):
                self.obstacles.keep(frame, fault)
            self.cluster.record(
                frame.sender, "fault", type(fault).__name__, frame.sent_step, {"fault": repr(fault)}, frame.id
            )
            if isinstance(fault, Drop):
                frame.fate = "dropped"
                self.obstacles.flown(frame)
                return extra_ms, 0
            if isinstance(fault, Hold | Reorder):
                return extra_ms, 0
            extra_ms, copies = (fault.delay_ms, copies) if isinstance(fault, Delay) else (extra_ms, 2)
        return extra_ms, copies

    def _arrive_now(self, frame: Frame) -> None:
        self.cluster.schedule.at(self.cluster.now, frame.receiver, -1, lambda: self._deliver(frame))

    def _was_sent(self, frame_id: str) -> bool:
        name, _, number = frame_id.partition("#")
        return self._counts.get(name, 0) >= int(number)

    def _schedule(self, frame: Frame, extra_ms: int) -> None:
        schedule = self.cluster.schedule
        at = schedule.now + self._latency(frame.correlation_id * 2 + (frame.kind == "response"))
        connection = (frame.sender, frame.receiver)
        if extra_ms:
            at += extra_ms
        else:
            earliest = self._arrivals.get(connection, 0) + (1 if frame.copy_of else 0)
            if at < earliest:
                at = earliest
            self._arrivals[connection] = at
        schedule.at(at, frame.receiver, -1, partial(self._deliver, frame))

    def _latency(self, number: int) -> int:
        mixed = (self.seed * 0x9E3779B9 + number * 0x85EBCA6B) & 0xFFFFFFFF
        mixed ^= mixed >> 15
        mixed = (mixed * 0xC2B2AE35) & 0xFFFFFFFF
        return LATENCY_MIN_MS + (mixed >> 16) % LATENCY_SPREAD_MS

    # arriving

    def _deliver(self, frame: Frame) -> None:
        cluster = self.cluster
        node = cluster.nodes[frame.receiver]
        if self.obstacles.behind:
            self.obstacles.flown(frame)
        if not node.alive or node.life != frame.receiver_life:
            frame.fate = "lost"
            return
        if self.obstacles.cuts and self.obstacles.is_cut(frame.sender, frame.receiver):
            frame.fate = "dropped"
            return
        frame.fate, frame.received_ms = "delivered", cluster.schedule.now
        frame.received_step = cluster.trace.steps
        life = node.life
        cluster.record(frame.receiver, "receive", frame.name, frame.sent_step, frame, frame.id)
        if cluster.failures.struck and not cluster.running(frame.receiver, life):
            return
        if frame.kind == "request":
            node.receive(frame)
            return
        waiting = self._outstanding.get(frame.correlation_id)
        if waiting is not None and waiting.sender == frame.receiver and waiting.life == life:
            del self._outstanding[frame.correlation_id]
            if error_of(frame.body) != "NONE":
                self._remember_failure(waiting)
            waiting.answered(frame.body, frame.received_step)

    # time-outs and broken connections

    def _remember_failure(self, waiting: Outstanding) -> None:
        name = type(waiting.body).__name__
        if name not in NEVER_A_RETRY:
            self._failed[waiting.sender, name] = (waiting.body, self._attempt(waiting.sender, name, waiting.body))

    def _watch(self, sender: str, background: bool, timeout_ms: int, correlation_id: int) -> None:
        """One timer per node and time-out watches the oldest request: it is due first."""
        key = (sender, background, timeout_ms)
        queue = self._timeouts.get(key)
        if queue is None:
            queue = self._timeouts[key] = deque()
        queue.append(correlation_id)
        if len(queue) == 1:
            self._arm(key, self.cluster.schedule.now + timeout_ms)

    def _arm(self, key: tuple[str, bool, int], at_ms: int) -> None:
        life = self.cluster.nodes[key[0]].life
        self.cluster.schedule.at(at_ms, key[0], life, lambda: self._expire(key), True)

    def _expire(self, key: tuple[str, bool, int]) -> None:
        sender, background, _ = key
        queue = self._timeouts[key]
        while queue:
            waiting = self._outstanding.get(queue[0])
            if waiting is None:
                queue.popleft()
                continue
            if waiting.deadline_ms > self.cluster.now:
                self._arm(key, waiting.deadline_ms)
                return
            correlation_id = queue.popleft()
            self.cluster.record(
                sender,
                "timer",
                "request timeout",
                waiting.cause,
                {"to": waiting.to, "request": type(waiting.body).__name__},
            )
            self._fail(correlation_id, self.cluster.trace.steps - 1)
            if not background:
                self._fail_connection(sender, waiting.to)

    def _fail(self, correlation_id: int, cause: int) -> None:
        waiting = self._outstanding.pop(correlation_id, None)
        if waiting is not None and self.cluster.running(waiting.sender, waiting.life):
            self._remember_failure(waiting)
            waiting.answered(None, cause)

    def _fail_connection(self, sender: str, to: str) -> None:
        """A request that timed out closes its connection: everything under way on it fails."""
        for correlation_id, waiting in list(self._outstanding.items()):
            if waiting.sender == sender and waiting.to == to and not waiting.background:
                self._fail(correlation_id, waiting.cause)

    def _break(self, correlation_id: int, cause: int) -> None:
        """The other side is gone: the sender notices after a moment."""
        waiting = self._outstanding.get(correlation_id)
        if waiting is None:
            return  # its sender is gone, too
        at = self.cluster.now + LATENCY_MIN_MS
        self.cluster.schedule.at(at, waiting.sender, waiting.life, lambda: self._fail(correlation_id, cause))

    def node_died(self, node: str, cause: int) -> None:
        """Its connections break: what it asked is forgotten, what was asked of it fails."""
        for correlation_id, waiting in list(self._outstanding.items()):
            if waiting.sender == node:
                del self._outstanding[correlation_id]
            elif waiting.to == node and not self.obstacles.is_cut(waiting.sender, node):
                self._break(correlation_id, cause)
        for key in [k for k in self._timeouts if k[0] == node]:
            del self._timeouts[key]
