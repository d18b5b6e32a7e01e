"""`LiveCluster`: brokers for any Kafka client, in a thread of this process, with a gate at their doors."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault, FrameFault, TimedFault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Late, Release
from kafkalab.faults.node import Crash, NodeFault, Restart
from kafkalab.faults.registry import check_fault
from kafkalab.faults.request import CrashAt, RespondWith
from kafkalab.limits import list_names, quote
from kafkalab.live.thread import EventLoopThread
from kafkalab.live.watchers import Watchers, in_time
from kafkalab.programs.recorded_session import (
    FaultStrike,
    SessionReader,
    SessionResult,
    save_session,
)
from kafkalab.protocol.api import USUAL
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.run.run import Run
from kafkalab.run.source import run_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.gate import EVERY, SHOWN, Gate
from kafkalab.sim.outcome import Outcome
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Trace
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.server import Server

log = logging.getLogger("kafkalab.live")

Found = TypeVar("Found")
NOT_UNDONE = 'what has happened in a live cluster stays; live.save("x.klab") keeps it to be rewound and forked'
MOST_EVENTS, MOST_BYTES = 100_000, 256 * 1024 * 1024
"""The most of a session that is recorded, as of a tap's."""


class LiveCluster:
    """Brokers on loopback for any Kafka client, in any cell, thread or process.

    `bootstrap_servers` has their addresses. What passes is recorded in `trace`, as the simulator records a run, and
    kept, up to `most_events` events and `MOST_BYTES` of requests and responses; then recording stops, a log line says
    so, and clients are served on. `Sequence(live)` and other views show it, and grow. Every method can be called from
    any thread. `close()` ends it, and so does leaving a `with` block.
    """

    def __init__(
        self,
        brokers: int = 3,
        cluster_level: int = 2,
        topics: dict[str, int] | None = None,
        hold: bool | str | Iterable[str] = (),
        port: int = 0,
        most_events: int = MOST_EVENTS,
        kafka: str = USUAL,
        host: str = "127.0.0.1",
        advertised: str = "",
        **config: Any,
    ) -> None:
        """Listen on `port` and the ports after it, 0 for free ones; `hold` as in `hold()`, True for every frame shown.

        `cluster_level` is the finalized level of `transaction.version`, 1 or 2; at 2 a client speaks protocol 2 if it
        can, otherwise 1. `kafka` is the release to be, "4.3" or "4.4". `host` is where to listen, and `advertised` the
        name by which clients are to reach it, if that is another. `config` has broker settings, such as
        `group_initial_rebalance_delay_ms=0`. ValueError for another level or release, and for anything that no scenario
        has; OSError if a port is taken.
        """
        self._real = RealTime(scenario_of(cluster_level, brokers, dict(topics or {}), config, kafka), keep=True)
        self.cluster_level = cluster_level
        self._server = Server(self._real)
        self.cluster: Cluster = self._real.cluster
        self.trace: Trace = self.cluster.trace
        self.gate = Gate(self.cluster.kernel, self.cluster.network)
        self.began_ms = self._real.now_ms
        self.most_events = most_events
        self._struck: list[FaultStrike] = []
        self._waking = False
        self._arrived = threading.Condition()
        self.cluster.kernel.watch = self._on_event
        self.loop = EventLoopThread()
        self._watchers = Watchers(self.loop.later)
        if hold:
            self.hold(*((SHOWN,) if hold is True else (hold,) if isinstance(hold, str) else hold))
        try:
            self.loop.run(self._server.listen(host, port, advertised))
        except BaseException:
            self.loop.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of every broker, as clients want them."""
        return self._server.bootstrap_servers

    @property
    def running(self) -> bool:
        """True if clients are served."""
        return self.loop.running

    def save(self, path: str | Path) -> SessionResult:
        """Write the session so far as a scenario of raw requests, which runs again in virtual time.

        `Sequence(Scenario.load(path))` steps through it, also back, and forks it. The result says how many answers are
        the same when it runs again, and what differs. ValueError for a session without requests, or too long a one.
        """

        def act() -> SessionResult:
            asked = (f for f in self.trace.frames.values() if f.name == "CreateTopics")
            created = [t.name for f in asked if not self.cluster.is_server(f.sender) for t in f.body.topics]
            topics = {name: count for name, count in self.topics.items() if name not in created}
            return save_session(SessionReader(self.cluster, topics, self.began_ms, self._struck))

        found = self.do(act)
        Scenario.from_json(found.scenario.to_json(), "this session")  # nothing is written that could not be read
        found.scenario.save(path)
        return found

    def close(self) -> None:
        """Close every connection, and stop. What was recorded can still be looked at and saved."""
        if self.loop.running:
            self.loop.settle()  # a listener that is closed while it accepts leaves the connection open (asyncio)
            self.loop.run(self._server.close())
            self.loop.close()
            self._wake()
            self._watchers.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # the gate

    @property
    def held(self) -> list[str]:
        """The frames that wait at the gate, in the order in which they were sent."""
        return self.do(lambda: self.gate.held)

    def hold(self, *what: str, every: bool = False) -> None:
        """Let frames wait at the gate from now on: of APIs ("EndTxn", or "EndTxnResponse" alone), of nodes (a client
        id, or "b1"), of transactional ids, or one frame ("EndTxn#2").

        Without `what` all frames wait but those about metadata, which views do not show either; with `every` all.
        """
        for name in what:
            if not isinstance(name, str) or not name:
                raise TypeError(f"hold() takes APIs, frames, clients and transactional ids, not {quote(name)}")
            if "#" in name:
                check_fault(Hold(name), self.cluster.scenario.nodes)
        names = (EVERY,) if every else what or (SHOWN,)
        self.do(lambda: setattr(self.gate, "names", tuple(dict.fromkeys((*self.gate.names, *names)))))

    def free_run(self) -> None:
        """Hold nothing any more, and let all frames that wait go."""

        def act() -> None:
            self.gate.names = ()
            while self.gate.held:
                self._release(self.gate.held[0])
                self._real.catch_up()

        self.do(act)

    def step(self, timeout_s: float = 1.0) -> str:
        """Let the frame that has waited longest go, and return its name; wait for one for at most `timeout_s`.

        A frame that a `Hold` keeps is passed over. "" if no frame has come.
        """
        found = self._until(lambda: self.gate.next, timeout_s)
        return self.do(self._step) if found else ""

    def _step(self) -> str:
        if name := self.gate.next:
            self._release(name)
            self._real.catch_up()
        return name

    def let_go(self, frame: str) -> None:
        """Let this frame go before those that were sent earlier. ValueError if it does not wait."""
        self._act(lambda: self._release(frame))

    def _release(self, name: str) -> None:
        if self.gate.is_kept_by_hold(name):
            self._strike_now(Release(name))
        else:
            self.gate.let_go(name)

    def wait_for(self, what: str, timeout_s: float = 10.0) -> str:
        """Wait until a frame of this API or name waits at the gate, and return its name; TimeoutError if none comes."""

        def waits() -> str:
            return next((name for name in self.gate.held if what in (name, name.partition("#")[0])), "")

        if found := self._until(waits, timeout_s):
            return found
        raise TimeoutError(f"no {quote(what)} has come to the gate in {timeout_s} s; there: {list_names(self.held)}")

    def _until(self, found: Callable[[], str], timeout_s: float) -> str:
        """Wait in the caller's thread until `found` returns a name. In the thread of the event loop: look once."""
        if not self.loop.is_here:
            with self._arrived:
                self._arrived.wait_for(lambda: not self.running or found(), timeout_s)
        return self.do(found)

    # faults

    def drop(self, frame: str) -> None:
        """Lose the frame, which waits at the gate or is not sent yet. As over TCP, its connection breaks."""
        self.strike(Drop(frame))

    def duplicate(self, frame: str) -> None:
        """Let the frame arrive twice."""
        self.strike(Duplicate(frame))

    def delay(self, frame: str, delay_ms: int = 1000) -> None:
        """Let the frame arrive `delay_ms` later, overtaken by frames sent after it."""
        self.strike(Delay(frame, delay_ms))

    def late(self, frame: str, before: str) -> None:
        """Let the frame arrive just before another one, which waits until the first has been answered."""
        self.strike(Late(frame, before))

    def crash_at(self, frame: str, handled: bool = False, down_ms: int = 0) -> None:
        """Crash the broker that gets this request when it receives it or, if `handled`, before its response leaves.

        It restarts after `down_ms`; with 0 it stays down until `restart`.
        """
        self.strike(CrashAt(frame, handled, down_ms))

    def respond_with(self, frame: str, error: str, handled: bool = False) -> None:
        """Answer this request with an error, "NOT_COORDINATOR"; the broker has done what it asks for if `handled`."""
        self.strike(RespondWith(frame, error, handled))

    def crash(self, broker: str) -> None:
        """End the broker's process: its connections break, its logs stay."""
        self.strike(Crash(broker))

    def restart(self, broker: str) -> None:
        """Start the crashed broker again, with its logs."""
        self.strike(Restart(broker))

    def strike(self, fault: Fault) -> None:
        """Strike with any of the simulator's faults now, or when its frame is sent.

        ValueError, and nothing changes, for a frame that has passed the gate, for a crash of a client, which ends where
        it runs, and for a fault that would change nothing.
        """
        planned = replace(fault, at_step=0, at_ms=-1) if isinstance(fault, TimedFault) else fault
        check_fault(planned, tuple(self.cluster.nodes), self.topics)
        self._act(lambda: self._strike(fault))

    def _strike(self, fault: Fault) -> None:
        if reason := self.why_not(fault):
            raise ValueError(reason)
        self._struck.append(FaultStrike(self.trace.steps, fault))
        if not isinstance(fault, FrameFault):
            self._strike_now(fault)
        elif self.cluster.network.links.find_held(fault.frame):
            self.gate.strike(fault)
        else:
            self.cluster.network.frame_faults.add(fault)

    @property
    def unused_faults(self) -> tuple[FrameFault, ...]:
        """The faults of frames that have not struck: their frame has not been sent, or what they wait for."""
        return self.do(lambda: tuple(self.cluster.network.frame_faults.unused))

    def why_not(self, fault: Fault) -> str:
        """Return why the fault would change nothing, or cannot strike a live cluster; "" if it can."""
        if isinstance(fault, FrameFault):
            network = self.cluster.network
            if network.links.find_held(fault.frame):
                return self.gate.why_not(fault)
            sent = network.was_sent(fault.frame)
            return f"{fault.frame} has passed the gate: hold it before it is sent" if sent else ""
        if isinstance(fault, NodeFault) and fault.node not in self.cluster.brokers:
            return f"{fault.node} runs outside the cluster: end it where it runs"
        return fault.why_not(self.cluster)

    def _strike_now(self, fault: Any) -> None:
        if isinstance(fault, AdvanceClock):
            self._real.jump(fault.ms)
        self.cluster.plan(replace(fault, at_step=self.trace.steps - 1, at_ms=-1))

    # what happens

    def do(self, action: Callable[[], Found]) -> Found:
        """Do it in the cluster's thread, between two events, and return the result; after `close()` do it here."""
        return self.loop.call(action)

    def _act(self, action: Callable[[], None]) -> None:
        """Do it in the cluster's thread, and all that follows from it at once."""

        def act() -> None:
            action()
            self._real.catch_up()

        self.do(act)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do it after `delay_s`. To be called in the cluster's thread, or after `close()`."""
        (self.loop.later if self.running else in_time)(delay_s, action)

    def watch(self, action: Callable[[], None]) -> None:
        """Call `action` in the cluster's thread after changes, at most ten times a second."""
        self._watchers.add(action)

    def _on_event(self) -> None:
        """After each event: plan that those who wait, and those who watch, look again."""
        if not self.trace.full:
            self._limit()
        if not self._waking:
            self._waking = True
            self.loop.later(0.0, self._wake)
        self._watchers.on_change()

    def _limit(self) -> None:
        """Stop recording when there is no more room; the last event says so."""
        if self.trace.steps >= self.most_events:
            what = f"{self.trace.steps:,} events"
        elif self._server.carried_bytes >= MOST_BYTES:
            what = f"{self._server.carried_bytes:,} bytes of requests and responses"
        else:
            return
        self.trace.stop(self.cluster.kernel.now, "controller", what)
        log.warning("%s: clients are served on; for load use kafkalab serve", self.recording_stopped)

    @property
    def recording_stopped(self) -> str:
        """After how much recording has stopped, as a sentence; "" while it goes on."""
        return f"recording has stopped after {after}" if (after := self.trace.stopped_after) else ""

    def _wake(self) -> None:
        self._waking = False
        with self._arrived:
            self._arrived.notify_all()

    @property
    def topics(self) -> dict[str, int]:
        """The topics that there are now, with their partitions; the internal ones are left out."""
        found = Counter(map(topic_of, self.cluster.controller.metadata.partitions))
        return {topic: count for topic, count in found.items() if topic not in INTERNAL_TOPICS}

    @property
    def run(self) -> Run:
        """The run so far, with a trace that grows."""

        def act() -> Run:
            run, servers = run_of(self.cluster), (*self.cluster.brokers, "controller")
            clients = [name for name in self.cluster.nodes if name not in servers]
            cast = replace(run.cast, topics=self.topics, nodes=(*clients, *servers))
            return replace(run, cast=cast, scenario=None, why=NOT_UNDONE)

        return self.do(act)

    @cached_property
    def journey(self) -> Any:
        """The journey that all views of this cluster share: see `LiveJourney`."""
        from kafkalab.live.journey import LiveJourney

        return LiveJourney(self)

    def outcome(self) -> Outcome:
        """Return what became of the transactions, also in topics that clients have created: see `Outcome`."""
        return self.do(lambda: self.run.outcome())

    def __repr__(self) -> str:
        state = f"listens on {self.bootstrap_servers}" if self.running else "is closed"
        waiting = f"{self.trace.steps} events, {len(self.gate.held)} frames wait"
        stopped = f", {self.recording_stopped}" if self.recording_stopped else ""
        return f"<LiveCluster of level {self.cluster_level} {state}, {waiting}{stopped}>"
