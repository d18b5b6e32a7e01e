"""The simulator's cluster in real time: what real clients ask is asked by nodes of their names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkalab.faults import frame, link, node, request
from kafkalab.faults.fault import Fault, FrameFault, TimedFault, describe_unused
from kafkalab.faults.registry import check_fault, fault_of_words
from kafkalab.limits import quote
from kafkalab.protocol.api import REFERENCES, USUAL
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.profiles import SERVED
from kafkalab.sim.cluster import Cluster, Watch
from kafkalab.sim.kernel.task import no_requests
from kafkalab.sim.scenario import Scenario
from kafkalab.wire.spill_file import TemporarySpillFile

LONGEST_NAME, MOST_CLIENTS = 249, 10_000
FAULTS: tuple[type[Fault], ...] = (*frame.FAULTS, *request.FAULTS, *node.FAULTS, *link.FAULTS)
EXAMPLES = (
    "Drop:EndTxnResponse#1, Duplicate:app:Produce#2, Delay:EndTxn#1:500, Late:TxnOffsetCommit#1:EndTxn#2, "
    "CrashAt:EndTxn#1:handled:3000, RespondWith:EndTxn#1:NOT_COORDINATOR, Crash:b2:3000 or Cut:b1|b2"
)


def scenario_of(
    cluster_level: int, brokers: int, topics: dict[str, int], config: dict[str, object], kafka: str = USUAL
) -> Scenario:
    """Return the scenario of a cluster for real clients. ValueError for a level or a release that is not in `SERVED`.

    The client protocol is the client's own affair: it speaks 2 if it can, and if the cluster is of level 2.
    """
    if not isinstance(kafka, str) or kafka not in REFERENCES:
        raise ValueError(f"kafka is {' or '.join(REFERENCES)}, not {quote(kafka)}")
    if type(cluster_level) is not int or (kafka, cluster_level) not in SERVED:
        raise ValueError(f"the cluster level (transaction.version) is 1 or 2, not {quote(cluster_level)}")
    config, profile = {"transaction_version": cluster_level, **config}, SERVED[kafka, cluster_level]
    return Scenario(title="live", brokers=brokers, profile=profile, topics=topics, config=config)


def fault_of(text: str) -> Fault:
    """`fault_of("Delay:EndTxn#2:500") == Delay("EndTxn#2", 500)`; `fault_of("Crash:b2:30") == Crash("b2", at_ms=30)`.

    "app:EndTxn#2" is the second EndTxn of the client whose client.id is app. ValueError for other faults than of one
    frame, one broker, or links between brokers.
    """
    return fault_of_words(text, FAULTS, EXAMPLES)


class RealTime:
    """Drives a cluster by the clock of the machine: milliseconds since 1970, as in the batches of real clients.

    Frames between brokers, and between clients and brokers, take no time besides what the sockets take. For `keep` and
    `prepare` see `Cluster`.
    """

    def __init__(self, scenario: Scenario, keep: bool = False, prepare: Watch | None = None) -> None:
        self._began_ns = time.time_ns() - time.monotonic_ns()

        def begin(cluster: Cluster) -> None:
            cluster.schedule.advance(self.now_ms)
            cluster.network.latency_min_ms, cluster.network.latency_spread_ms = 0, 1
            cluster.network.breaks_on_drop = True
            spill_file = TemporarySpillFile()
            for broker in cluster.brokers.values():
                broker.state.spill_file = spill_file
            if prepare is not None:
                prepare(cluster)

        self.cluster = Cluster(scenario, keep=keep, prepare=begin)
        if not keep:
            self.cluster.be_quiet(eager=prepare is not None)
        self.kernel, self.network = self.cluster.kernel, self.cluster.network
        self._loop: asyncio.AbstractEventLoop | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0
        self.when_ended: Callable[[str], None] = lambda broker: None
        self.when_started: Callable[[str], None] = lambda broker: None
        self._given: dict[TimedFault, TimedFault] = {}  # by the fault as it is planned
        self._brokers = [self.kernel.nodes[name] for name in self.cluster.brokers]
        self._lives = [(broker.incarnation, broker.alive) for broker in self._brokers]

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970, never going back."""
        return (self._began_ns + time.monotonic_ns()) // 1_000_000

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let timers go off from now on, in this event loop."""
        self._loop = loop
        self._set_alarm()

    def stop(self) -> None:
        """Let no timer go off any more, and end what the brokers were about to do."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._loop = None
        for broker in self.cluster.brokers.values():
            broker.crash(forgets=False)

    def jump(self, duration_ms: int) -> None:
        """Move the clock of the cluster forward, against that of the machine."""
        self._began_ns += duration_ms * 1_000_000
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def catch_up(self) -> None:
        """Do all that is due by now."""
        try:
            self.kernel.catch_up(self.now_ms)
        finally:
            self._set_alarm()
            self._notice_lives()

    def _notice_lives(self) -> None:
        """Call `when_ended` with each broker whose process has ended since the last call, and `when_started` with each
        that has started since."""
        lives = [(broker.incarnation, broker.alive) for broker in self._brokers]
        if lives != self._lives:
            before, self._lives = self._lives, lives
            for broker, (incarnation, alive) in zip(self._brokers, before, strict=True):
                ended = broker.incarnation != incarnation
                if ended:
                    self.when_ended(broker.name)
                if broker.alive and (ended or not alive):
                    self.when_started(broker.name)

    def _set_alarm(self) -> None:
        """Wake up when the next entry of the schedule is due, unless an alarm is set for that time or before."""
        due_ms = self.kernel.schedule.next_ms
        if self._loop is None or due_ms < 0:
            return
        if self._alarm is not None:
            if self._alarm_ms <= due_ms:
                return
            self._alarm.cancel()
        self._alarm_ms = due_ms
        self._alarm = self._loop.call_later((due_ms - self.now_ms) / 1000, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.catch_up()

    def strike(self, fault: Fault) -> None:
        """Strike with a fault from now on: with a frame's when it is sent, with a broker's `at_ms` after now.

        ValueError if the fault does not fit this cluster, or would change nothing now.
        """
        check_fault(fault, self.cluster.broker_names)
        if isinstance(fault, FrameFault):
            if self.network.was_sent(fault.frame):
                raise ValueError(f"{fault.frame} has been sent already")
            self.network.frame_faults.add(fault)
        elif fault.at_ms > 0:
            self._plan(fault, replace(fault, at_ms=self.now_ms + fault.at_ms))
        elif reason := fault.why_not(self.cluster):
            raise ValueError(reason)
        else:
            self._plan(fault, replace(fault, at_step=self.kernel.trace.steps - 1, at_ms=-1))
        self.catch_up()

    def _plan(self, given: TimedFault, planned: TimedFault) -> None:
        self._given[planned] = given
        self.cluster.plan(planned)

    def watch_faults(self, then: Callable[[Fault], None]) -> None:
        """Call `then` with each fault when it strikes."""
        self.network.frame_faults.when_struck = then
        self.cluster.injector.when_struck = lambda fault: then(self._given[fault]) if fault in self._given else None

    def unused_faults(self) -> list[str]:
        """Return a sentence about each fault that has changed nothing."""
        used = self.cluster.injector.used
        unused: list[Fault] = [*self.network.frame_faults.unused]
        unused += [given for planned, given in self._given.items() if planned not in used]
        return [describe_unused(fault, self.network.was_sent) for fault in unused]

    def alive(self, node: str) -> bool:
        """Return whether the broker runs."""
        return self.kernel.nodes[node].alive

    def client(self, client_id: str) -> str:
        """Return the node that stands for a client of this id, and make it if need be; many clients share the last."""
        client_id = client_id[:LONGEST_NAME]
        name = f"client {client_id}" if client_id == "" or self._is_server(client_id) else client_id
        if name not in self.kernel.nodes:
            if len(self.kernel.nodes) > MOST_CLIENTS:
                name = "other clients"
            self.kernel.add_node(name)
        return name

    def _is_server(self, name: str) -> bool:
        node = self.kernel.nodes.get(name)
        return node is not None and node.receive is not no_requests

    def ask(self, client: str, broker: str, body: object, version: int, then: Callable[[Any], None] | None) -> None:
        """Send a client's request to a broker; `then` gets the response, or None if the connection broke."""
        self.kernel.catch_up(self.now_ms)
        answered = None if then is None else lambda response, step: then(response)
        self.network.request(client, broker, body, answered, -1, asked_version=version, timeout_ms=-1)
        self.catch_up()

    def create_topics(self, broker: str, names: list[str]) -> None:
        """Create topics with the defaults, as a broker does when a client names an unknown one
        (`AutoTopicCreationManager`)."""
        topics = tuple(NewTopic(name=name) for name in names)
        self.network.request(broker, "controller", CreateTopics(topics=topics), lambda response, step: None, -1)
        self.catch_up()
