"""Processes of a model on the simulator's kernel: messages with latency, logs that survive a crash, time-outs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kafkalab.faults.node import Crash, Restart
from kafkalab.sim.kernel.kernel import LIMIT, Kernel
from kafkalab.sim.kernel.task import no_requests
from kafkalab.trace import Frame

HORIZON_MS = 600_000
"""The length of a run: what has not ended after ten minutes of virtual time waits for a process that is down."""
NOTICED_MS = 500
"""After this time the others notice that a process is down. The heartbeats by which they do are not sent."""
LATENCY_MIN_MS, LATENCY_SPREAD_MS = 1, 4
Body = dict[str, Any]
Strike = Crash | Restart


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log: its kind ("prepared"), and what it says ("-10 on accounts-0"). `txn` is its transaction."""

    log: str
    kind: str
    says: str = ""
    txn: str = ""


class Process:
    """A process of a model. Fields are volatile: `start` builds them again from the logs after a crash."""

    role = ""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name

    def start(self, step: int) -> None:
        """Begin, or begin again: forget everything, then read the logs."""

    def receive(self, frame: Frame, step: int) -> None:
        """Handle a message; `step` is the event of its arrival, the cause of what follows."""
        handler: Callable[[Frame, int], None] = getattr(self, f"on_{frame.name}")
        handler(frame, step)

    def peer_down(self, peer: str) -> None:
        """Notice that another process is down."""

    # what a process does

    def send(self, to: str, name: str, cause: int, answer: bool = False, **body: Any) -> None:
        self.world.send(self.name, to, name, body, cause, answer)

    def append(self, log: str, kind: str, cause: int, says: str = "", txn: str = "") -> int:
        """Append an entry and force it to disk; return the step."""
        return self.world.append(self.name, Entry(log, kind, says, txn), cause)

    def log(self, name: str) -> list[Entry]:
        """The entries of a log of this process, crashes notwithstanding."""
        return self.world.logs.setdefault((self.name, name), [])

    def note(self, name: str, says: str, cause: int, **data: Any) -> int:
        """Record a state of this process; `says` is a sentence without its subject."""
        if not self.world.alive(self.name):
            return cause
        return self.world.kernel.record(self.name, "state", name, cause, {"says": says, **data})

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something after `delay_ms`, unless this process crashes before."""
        if not self.world.alive(self.name):
            return
        self.world.kernel.timer(self.name, delay_ms, action)


@dataclass
class World:
    """Processes, their logs and the trace. The same title, seed and strikes give the same trace on every machine."""

    title: str
    seed: int = 1
    strikes: tuple[Strike, ...] = ()
    logs: dict[tuple[str, str], list[Entry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kernel = Kernel(True, self.title)
        self.trace = self.kernel.trace
        self.processes: dict[str, Process] = {}
        self._counts: dict[str, int] = {}
        self._arrivals: dict[tuple[str, str], int] = {}

    def add(self, process: Process) -> None:
        """Add a process; it starts with the run."""
        self.processes[process.name] = process
        self.kernel.add_node(process.name, no_requests)

    def run(self) -> None:
        """Start every process, then run for `HORIZON_MS`."""
        for strike in self.strikes:
            if strike.at_step >= 0:
                self.kernel.interrupts.setdefault(strike.at_step, []).append(partial(self._strike, strike))
            else:
                self.kernel.schedule.at(strike.at_ms, next(iter(self.processes)), -1, partial(self._strike, strike))
        for process in self.processes.values():
            process.start(-1)
        self.kernel.run_for(HORIZON_MS, LIMIT, next(iter(self.processes)))

    def alive(self, node: str) -> bool:
        """Return True if the process runs now."""
        return self.kernel.nodes[node].alive

    def append(self, node: str, entry: Entry, cause: int) -> int:
        """Append an entry to a log of the process, unless it has crashed in this very moment."""
        if not self.alive(node):
            return cause
        self.logs.setdefault((node, entry.log), []).append(entry)
        return self.kernel.record(node, "append", entry.log, cause, entry)

    def truncate(self, node: str, log: str, length: int, cause: int) -> int:
        """Cut a log off behind its first `length` entries."""
        if not self.alive(node):
            return cause
        gone = self.logs[node, log][length:]
        del self.logs[node, log][length:]
        return self.kernel.record(node, "truncate", log, cause, {"offset": length, "gone": [e.says for e in gone]})

    # messages

    def send(self, sender: str, to: str, name: str, body: Body, cause: int, answer: bool) -> None:
        """Send a message. It is lost if the receiver is down; messages of one connection keep their order."""
        kernel = self.kernel
        node = kernel.nodes[sender]
        if not node.alive:
            return
        self._counts[name] = number = self._counts.get(name, 0) + 1
        kind = "response" if answer else "request"
        frame = Frame(f"{name}#{number}", name, kind, sender, to, "transaction", body, 0, len(self.trace.frames) + 1)
        frame.sent_ms, frame.sent_step = kernel.now, self.trace.steps
        frame.receiver_incarnation = kernel.nodes[to].incarnation
        self.trace.frames[frame.id] = frame
        kernel.record(sender, "send", name, cause, frame, frame.id)
        if not node.alive and not node.last_frame_leaves:
            frame.fate = "lost"
            return
        if not kernel.nodes[to].alive:
            frame.fate = "lost"
            return
        spread = (self.seed * 0x9E3779B9 + frame.correlation_id * 0x85EBCA6B >> 7) % LATENCY_SPREAD_MS
        arrival = max(kernel.now + LATENCY_MIN_MS + spread, self._arrivals.get((sender, to), 0))
        self._arrivals[sender, to] = arrival
        kernel.schedule.at(arrival, to, -1, partial(self._arrive, frame))

    def _arrive(self, frame: Frame) -> None:
        node = self.kernel.nodes[frame.receiver]
        if not node.alive or node.incarnation != frame.receiver_incarnation:
            frame.fate = "lost"
            return
        frame.fate, frame.received_ms, frame.received_step = "delivered", self.kernel.now, self.trace.steps
        step = self.kernel.record(frame.receiver, "receive", frame.name, frame.sent_step, frame, frame.id)
        if node.alive:
            self.processes[frame.receiver].receive(frame, step)

    # strikes

    def _strike(self, strike: Strike) -> None:
        node = self.kernel.nodes[strike.node]
        if isinstance(strike, Crash):
            if node.alive:
                node.alive, node.last_frame_leaves = False, strike.sent
                node.incarnation += 1
                self.kernel.record(strike.node, "crash", "crash", self.trace.steps - 1, {})
                self.kernel.schedule.at(self.kernel.now + NOTICED_MS, strike.node, -1, partial(self._notice, strike))
        elif not node.alive:
            node.alive = True
            step = self.kernel.record(strike.node, "recover", "recover", -1, {})
            self.processes[strike.node].start(step)

    def _notice(self, crash: Crash) -> None:
        for name, process in self.processes.items():
            if name != crash.node and self.alive(name) and not self.alive(crash.node):
                process.peer_down(crash.node)
