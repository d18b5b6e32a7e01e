"""A cluster in virtual time: brokers, a controller, clients, a network. One scenario, one run, anywhere."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import PRODUCER_ID_BLOCK, Controller
from kafkalab.broker.state import BrokerConfig, BrokerState
from kafkalab.broker.transaction_coordinator.metadata import TxnState
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.promise import Promise
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.partitions import INTERNAL_PARTITIONS, INTERNAL_TOPICS
from kafkalab.protocol.rules import ABORTED_FILTER, REDRIVE_PREPARE, TIMEOUT_ABORT
from kafkalab.sim.app import App
from kafkalab.sim.collector import few_collections
from kafkalab.sim.endings import RunawayError, StuckError
from kafkalab.sim.failures import Failures
from kafkalab.sim.faults import Fault, FrameFault, TimedFault, check_fault
from kafkalab.sim.network import Network
from kafkalab.sim.outcome import Outcome, outcome_of
from kafkalab.sim.preload import preload_records, preload_transactional_id
from kafkalab.sim.scenario import ProgramFunction, Scenario
from kafkalab.sim.schedule import Entry, Schedule
from kafkalab.sim.task import Node, Task, no_requests
from kafkalab.trace import Event, Frame, Trace

LIMIT = 200_000
IDLE_MS = 1_200_000
IDLE_ENTRIES = 20_000
QUIET = frozenset(("send", "receive", "timer"))
Watch: TypeAlias = "Callable[[Cluster], None]"


class Cluster:
    """Build one from a scenario, `run()` it, look at `trace`, `results` and `outcome()`, `fork` it.

    With `keep=False` the trace only counts its steps: faster, for large runs. `watch` is called with the cluster at the
    end of the set-up, whose last step is `start`, and after each event that follows, before the faults that are planned
    for it strike; it needs a trace that is kept, and may only read.
    """

    def __init__(
        self, scenario: Scenario, keep: bool = True, config: BrokerConfig | None = None, watch: Watch | None = None
    ) -> None:
        if watch is not None and not keep:
            raise ValueError("watch needs the events: leave keep=False out")
        self.scenario = scenario
        self.start = -1
        self._watch: Watch | None = None
        self.rules = scenario.rules
        self.filters_aborted = self.rules.on(ABORTED_FILTER)
        self.trace = Trace(keep=keep, title=scenario.title)
        self.schedule = Schedule()
        self.broker_names = tuple(f"b{i}" for i in range(1, scenario.brokers + 1))
        self.results: dict[str, Any] = {}
        self.driving = False
        self._tasks: list[Task] = []
        self._idle_entries = 0
        frame_faults = tuple(f for f in scenario.faults if isinstance(f, FrameFault))
        self.network = Network(self, scenario.seed, frame_faults)
        self.controller = Controller(self.broker_names, self, rules=self.rules)
        settings = config or BrokerConfig(**scenario.config)
        states = {n: BrokerState(n, settings, self.rules, acls=scenario.acls) for n in self.broker_names}
        self.brokers = {name: Broker(state, self) for name, state in states.items()}
        self.nodes = {name: Node(name, broker.receive) for name, broker in self.brokers.items()}
        self.nodes["controller"] = Node("controller", self.controller.receive)
        self.failures = Failures(self)
        self._set_up()
        self.start, self._watch = self.trace.steps - 1, watch
        if watch is not None:
            watch(self)
        for program in scenario.programs:
            self.spawn(program.node, program.function(), **program.args)
        for fault in scenario.faults:
            if isinstance(fault, TimedFault):
                self.failures.plan(fault)

    @property
    def now(self) -> int:
        """Milliseconds of virtual time since the run began."""
        return self.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("only the schedule moves the clock")

    # setting up

    def _set_up(self) -> None:
        placed = {}
        topics = dict(self.scenario.topics)
        if not self.scenario.fresh:
            topics.update(dict.fromkeys(INTERNAL_TOPICS, INTERNAL_PARTITIONS))
        for topic, partitions in topics.items():
            placed.update(self.controller.place(topic, partitions))
        self.controller.metadata = self.controller.metadata.with_partitions(placed, self.broker_names)
        self.controller.note_metadata(placed, -1)
        for broker in self.brokers.values():
            broker.state.metadata = self.controller.metadata
            first = self.controller.next_producer_id
            broker.state.producer_ids = [first, first + PRODUCER_ID_BLOCK]
            self.controller.next_producer_id += PRODUCER_ID_BLOCK
        for partition, values in self.scenario.records.items():
            preload_records(self, partition, values)
        for tid, epoch in self.scenario.producer_epochs.items():
            preload_transactional_id(self, tid, epoch)
        for broker in self.brokers.values():
            broker.start()

    def spawn(self, node: str, function: ProgramFunction, **args: Any) -> Promise[Any]:
        """Start a program on a client node of this name, now; its result will be in `results[node]`."""
        if node in self.nodes and (self.is_server(node) or not self.nodes[node].alive):
            raise ValueError(f"{node!r} is a {'server' if self.is_server(node) else 'crashed client'}")
        if node not in self.nodes:
            self.nodes[node] = Node(node, no_requests)
        coroutine = function(App(self, node), **args)
        if not isinstance(coroutine, Coroutine):
            raise TypeError(f"program {node!r} is not an async function: write `async def`")
        promise = self.drive(node, coroutine, main=True)
        promise.when_done(lambda: self._ended(node, promise))
        return promise

    def client(self, node: str) -> App:
        """A client node without a program, for a notebook cell: `await cluster.client("p").producer().send(...)`."""
        if node not in self.nodes:
            self.nodes[node] = Node(node, no_requests)
        return App(self, node)

    def _ended(self, node: str, promise: Promise[Any]) -> None:
        try:
            self.results[node] = promise.result()
        except KafkaError as error:
            self.results[node] = error
            data = {"outcome": "fail", "error": error.error.name, "exception": type(error).__name__}
            self.failures.exit(node, self.record(node, "complete", "program", -1, data))

    # the port of brokers and clients

    def is_server(self, node: str) -> bool:
        """Whether the node is a broker or the controller."""
        return node in self.brokers or node == "controller"

    def running(self, node: str, life: int) -> bool:
        """Whether the node is alive, and in that life (-1 for any)."""
        found = self.nodes[node]
        return found.alive and (life == -1 or life == found.life)

    def request(self, sender: str, to: str, body: Any, then: Any, cause: int, background: bool = False) -> None:
        """Send a request; `then(response, step)` is called once, with None if the connection breaks."""
        if self.nodes[sender].alive:
            self.network.request(sender, to, body, then, cause, background)

    def respond(self, request: Frame, body: Any, cause: int) -> None:
        """Send the response of a request."""
        self.network.respond(request, body, cause)

    def timer(self, node: str, delay_ms: int, action: Callable[[], None], background: bool = False) -> None:
        """Do `action` on the node after so long, unless it dies before."""
        schedule = self.schedule
        schedule.at(schedule.now + delay_ms, node, self.nodes[node].life, action, background)

    def record(self, node: str, kind: str, name: str, cause: int, data: Any, frame: str = "") -> int:
        """One more event; its step. A fault planned for this step takes effect before anything else happens."""
        trace = self.trace
        step = trace.steps
        trace.steps = step + 1
        if kind not in QUIET and name != "timeout":
            self._idle_entries = 0
        if trace.keep:
            trace.events.append(Event(step, self.schedule.now, node, kind, name, cause, frame, data))
            if self._watch is not None:
                self._watch(self)
        if step in self.failures.at_steps:
            self.failures.strike(step)
        return step

    def promise(self) -> Promise[Any]:
        """A promise that a notebook cell can await."""
        return Promise(self._run_until)

    def drive(self, node: str, coroutine: Coroutine[Any, Any, Any], main: bool = False) -> Promise[Any]:
        """Run a coroutine on a client node; the promise of what it returns."""
        task = Task(self, self.nodes[node], coroutine, self.promise(), main)
        if not self.running(node, -1):
            coroutine.close()  # the node died in this very moment: nothing of it will run
            return task.result
        self._tasks.append(task)
        self.schedule.at(self.now, node, self.nodes[node].life, task.resume)
        return task.result

    # running

    def run(self, limit: int = LIMIT) -> Trace:
        """Go on until every program has ended and nothing is left to do.

        RunawayError after `limit` entries; StuckError if a program waits and nothing changes any more.
        """
        with few_collections():
            self._run_to_the_end(limit)
        waiting = [t.node.name for t in self._live_tasks() if t.main]
        if waiting:
            raise StuckError(
                f"{', '.join(waiting)} still waits, but nothing happens any more; the last events:\n{self.trace.tail()}"
            )
        return self.trace

    def _run_to_the_end(self, limit: int) -> None:
        schedule = self.schedule
        for _ in range(limit):
            may_end = not schedule.foreground or self._idle_entries > IDLE_ENTRIES
            if may_end and (not len(schedule) or self._at_rest()):
                return
            self._do(schedule.pop())
        raise RunawayError(f"the run did not end within {limit} steps; the last events:\n{self.trace.tail()}")

    def run_for(self, duration_ms: int, limit: int = LIMIT) -> Trace:
        """Go on for so long, whatever is or is not left to do then."""
        until = self.now + duration_ms
        self.schedule.at(until, "controller", -1, lambda: None, True)
        for _ in range(limit):
            self._do(self.schedule.pop())
            if self.now >= until:
                return self.trace
        raise RunawayError(f"more than {limit} steps in {duration_ms} ms; the last events:\n{self.trace.tail()}")

    def close(self) -> None:
        """End every program that still runs; the cluster can be looked at, but not run any further."""
        for task in self._tasks:
            task.coroutine.close()

    def _run_until(self, promise: Promise[Any]) -> bool:
        """Drive the world from a notebook cell; False inside a program, where the simulator drives already."""
        if self.driving:
            return False
        for _ in range(LIMIT):
            if promise.done:
                return True
            if not len(self.schedule) or self.now - self.schedule.worked_ms > IDLE_MS:
                raise StuckError(f"the answer never comes; the last events:\n{self.trace.tail()}")
            self._do(self.schedule.pop())
        raise RunawayError(f"no answer within {LIMIT} steps; the last events:\n{self.trace.tail()}")

    def _do(self, entry: Entry) -> None:
        _, name, life, action = entry
        node = self.nodes[name]
        self._idle_entries += 1
        if life != node.life and life != -1:
            return
        if node.paused:
            node.inbox.append(action)
            return
        before, self.driving = self.driving, True
        try:
            action()
        finally:
            self.driving = before

    def _at_rest(self) -> bool:
        if self._idle_entries > IDLE_ENTRIES:
            return True  # frames fly, but nothing has changed for long: nothing will
        if self.schedule.foreground:
            return False
        if self.now - self.schedule.worked_ms > IDLE_MS:
            return True
        return not self._live_tasks() and not any(self._busy(b) for n, b in self.brokers.items() if self.nodes[n].alive)

    def _live_tasks(self) -> list[Task]:
        for task in self._tasks:
            if not self.running(task.node.name, task.life):
                task.coroutine.close()
        self._tasks = [t for t in self._tasks if not t.result.done and self.running(t.node.name, t.life)]
        return self._tasks

    def _busy(self, broker: Broker) -> bool:
        """Whether something that is under way here will still change a log."""
        if any(broker.state.waiters.values()):
            return True
        aborts = self.rules.on(TIMEOUT_ABORT)
        for owned in broker.state.transactions.values():
            if owned.loading or owned.pending or (owned.markers and self.rules.on(REDRIVE_PREPARE)):
                return True
            if aborts and any(t.state is TxnState.ONGOING for t in owned.txns.values()):
                return True
        return False

    def log_of(self, partition: str) -> PartitionLog:
        """The leader's log of a partition; of a partition without a live leader the log of its last leader."""
        info = self.controller.metadata.partitions.get(partition)
        if info is None:
            raise ValueError(
                f"no partition {partition!r}; there are {', '.join(self.scenario.topics)} and their numbers"
            )
        return self.brokers[info.leader or info.isr[0]].state.log(partition)

    def outcome(self) -> Outcome:
        """What became of the transactions: see `Outcome`."""
        return outcome_of(self)

    @property
    def unused_faults(self) -> tuple[Fault, ...]:
        """The scenario's faults that changed nothing: their frame never flew, or their node was already so."""
        used = [*self.failures.used, *self.network.used]
        return tuple(f for f in self.scenario.faults if f not in used)

    def fork(self, step: int, fault: Fault) -> Cluster:
        """A new run of the same scenario with one more fault, already run. Up to `step` it is identical.

        A timed fault takes effect right after `step`. ValueError, and nothing changes, for an unknown step, frame or
        node, and for a fault that would change nothing.
        """
        if not isinstance(step, int) or not 0 <= step < self.trace.steps:
            raise ValueError(f"no step {step!r} in this run; it has steps 0 to {self.trace.steps - 1}")
        if isinstance(fault, TimedFault) and fault.at_step < 0 and fault.at_ms < 0:
            fault = replace(fault, at_step=step)
        check_fault(fault, self.scenario.nodes, self.scenario.topics)
        if isinstance(fault, FrameFault):
            known = self.trace.frames.get(fault.frame)
            if known is None:
                name = fault.frame.partition("#")[0]
                raise ValueError(f"{fault.frame} never flies in this run; it has {self._having(name)}")
            if known.sent_step < step:
                raise ValueError(f"{fault.frame} was sent at step {known.sent_step}, before step {step}")
        forked = Cluster(self.scenario.with_faults(fault), self.trace.keep)
        forked.run()
        if fault in forked.unused_faults:
            raise ValueError(f"{fault!r} would change nothing: it is already so")
        return forked

    def _having(self, name: str) -> str:
        found = [i for i, f in self.trace.frames.items() if f.name == name]
        return f"{found[0]} to {found[-1]}" if found else f"no {name} at all"
