"""A cluster in virtual time: brokers, a controller, clients, a network. One scenario, one run, anywhere."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.broker.state import BrokerConfig, BrokerState
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.promise import Promise
from kafkalab.faults.fault import Fault, FrameFault, TimedFault
from kafkalab.faults.registry import check_fault
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.partitions import INTERNAL_PARTITIONS, INTERNAL_TOPICS, transaction_partition
from kafkalab.protocol.rules import REDRIVE_PREPARE, TIMEOUT_ABORT
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.sim.broker_sessions import BrokerSessions
from kafkalab.sim.fault_injector import FaultInjector
from kafkalab.sim.kernel.kernel import LIMIT, Kernel
from kafkalab.sim.network import Network
from kafkalab.sim.outcome import Outcome, outcome_of
from kafkalab.sim.preload import preload_records, preload_transactional_id
from kafkalab.sim.scenario import ProgramFunction, Scenario
from kafkalab.trace import Trace

if TYPE_CHECKING:
    from kafkalab.sim.app import App

Watch: TypeAlias = "Callable[[Cluster], None]"


class Cluster:
    """Build one from a scenario, `run()` it, look at `trace`, `results` and `outcome()`, `fork` it.

    With `keep=False` the trace only counts its steps: faster, for large runs. `watch` is called with the cluster at the
    end of the set-up, whose last step is `start`, and after each event that follows, before the faults that are planned
    for it strike; it needs a trace that is kept, and may only read. `prepare` is called before the brokers start: it
    may give them logs, and what the controller knows.
    """

    def __init__(
        self, scenario: Scenario, keep: bool = True, config: BrokerConfig | None = None, watch: Watch | None = None,
        prepare: Watch | None = None,
    ) -> None:  # fmt: skip
        if watch is not None and not keep:
            raise ValueError("watch needs the events: leave keep=False out")
        self.scenario = scenario
        self.rules = scenario.rules
        self.broker_names = tuple(f"b{i}" for i in range(1, scenario.brokers + 1))
        self.results: dict[str, Any] = {}
        self._build(config or BrokerConfig(**scenario.config), keep)
        self._set_up(prepare)
        self.start = self.trace.steps - 1
        if watch is not None:
            self.kernel.watch = lambda: watch(self)
            watch(self)
        for program in scenario.programs:
            self.spawn(program.node, program.function(), **program.args)
        for fault in scenario.faults:
            if isinstance(fault, TimedFault):
                self.plan(fault)

    def _build(self, config: BrokerConfig, keep: bool) -> None:
        """Put the parts together; the kernel's and the network's methods are the port of brokers and controller."""
        scenario, names = self.scenario, self.broker_names
        kernel = self.kernel = Kernel(keep, scenario.title)
        self.trace, self.schedule, self.nodes = kernel.trace, kernel.schedule, kernel.nodes
        self.record, self.timer = kernel.record, kernel.timer
        frame_faults = tuple(f for f in scenario.faults if isinstance(f, FrameFault))
        self.network = Network(kernel, scenario.seed, self.rules, frame_faults)
        self.request, self.respond = self.network.request, self.network.respond
        block, count = config.producer_id_block_size, config.num_partitions
        self.controller = Controller(names, self, rules=self.rules, producer_id_block=block, num_partitions=count)
        states = {n: BrokerState(n, config, self.rules, acls=scenario.acls) for n in names}
        self.brokers = {name: Broker(state, self) for name, state in states.items()}
        for name, broker in self.brokers.items():
            kernel.add_node(name, broker.receive)
            broker.state.stalls = self.network.frame_faults.stalls
        kernel.add_node(Controller.name, self.controller.receive)
        self.sessions = BrokerSessions(kernel, self.network.links, self.controller, self.brokers)
        self.injector = FaultInjector(kernel, self.network, self)
        self.network.frame_faults.plan = self.injector.plan

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The scenario's faults."""
        return self.scenario.faults

    @property
    def topics(self) -> Mapping[str, int]:
        """The scenario's topics, with the number of their partitions."""
        return self.scenario.topics

    @property
    def now(self) -> int:
        """Milliseconds of virtual time since the run began."""
        return self.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("only the schedule moves the clock")

    # setting up

    def _set_up(self, prepare: Watch | None) -> None:
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
            broker.state.producer_ids = self.block_of_producer_ids()
        for partition, values in self.scenario.records.items():
            preload_records(self.kernel, self._replicas(partition), partition, values)
        for tid, epoch in self.scenario.producer_epochs.items():
            replicas = self._replicas(transaction_partition(tid))
            preload_transactional_id(self.kernel, replicas, tid, self._producer_id_from(replicas[0]), epoch)
        if prepare is not None:
            prepare(self)
        for broker in self.brokers.values():
            broker.start()

    def block_of_producer_ids(self) -> list[int]:
        """Return the first id of a new block, and where the block ends."""
        first = self.controller.producer_ids()
        return [first, first + self.controller.producer_id_block]

    def _producer_id_from(self, coordinator: Broker) -> int:
        """Take a producer id of the coordinator's block, or of a new one if it is used up."""
        state = coordinator.state
        if state.producer_ids[0] == state.producer_ids[1]:
            state.producer_ids = self.block_of_producer_ids()
        state.producer_ids[0] += 1
        return state.producer_ids[0] - 1

    def _replicas(self, partition: str) -> list[Broker]:
        return [self.brokers[name] for name in self.controller.metadata.partitions[partition].replicas]

    def be_quiet(self, eager: bool) -> None:
        """Replicate without frames, and send others without events, while all would arrive: see `DirectReplication`.

        For clusters in real time whose trace is not kept. ValueError for one that is kept.
        """
        if self.trace.keep:
            raise ValueError("frames that are not sent cannot be kept: build the cluster with keep=False")
        replicas = {name: broker.replication for name, broker in self.brokers.items()}
        direct = DirectReplication(replicas, self.network.faults, eager)
        direct.on = self.network.quiet = self.network.is_whole
        for broker in self.brokers.values():
            broker.replication.direct = direct
        self.injector.direct = direct

    def spawn(self, node: str, function: ProgramFunction, **args: Any) -> Promise[Any]:
        """Start a program on a client node of this name, now; its result will be in `results[node]`."""
        if node in self.nodes and (self.is_server(node) or not self.nodes[node].alive):
            raise ValueError(f"{node!r} is a {'server' if self.is_server(node) else 'crashed client'}")
        coroutine = function(self.client(node), **args)
        if not isinstance(coroutine, Coroutine):
            raise TypeError(f"program {node!r} is not an async function: write `async def`")
        promise = self.kernel.drive(node, coroutine, main=True)
        promise.when_done(lambda: self._note_end(node, promise))
        return promise

    def client(self, node: str) -> App:
        """Return a client without a program, for a notebook cell: `await cluster.client("p").producer().send(...)`."""
        from kafkalab.sim.app import App, SimPort  # a cluster for real clients has no use for it, and starts at once

        if node not in self.nodes:
            self.kernel.add_node(node)
        level = next(iter(self.brokers.values())).state
        return App(SimPort(self.kernel, self.network, self.rules, self.broker_names, node, level), self.controller)

    def _note_end(self, node: str, promise: Promise[Any]) -> None:
        try:
            self.results[node] = promise.result()
        except KafkaError as error:
            self.results[node] = error
            data = {"outcome": "fail", "error": error.error.name, "exception": type(error).__name__}
            step = self.record(node, "complete", "program", -1, data)
            self.nodes[node].incarnation += 1  # the process ends: its clients stop trying
            self.network.node_died(node, step)

    def plan(self, fault: TimedFault) -> None:
        """Strike with the fault at its step or time of this run."""
        self.injector.plan(fault)

    def is_server(self, node: str) -> bool:
        """Return whether the node is a broker or the controller."""
        return node in self.brokers or node == Controller.name

    # running

    def run(self, limit: int = LIMIT) -> Trace:
        """Run until every program has ended and nothing is left to do.

        RunawayError after `limit` entries; StuckError if a program waits and nothing changes any more.
        """
        self.kernel.run(limit, lambda: any(self._busy(b) for n, b in self.brokers.items() if self.nodes[n].alive))
        return self.trace

    def run_for(self, duration_ms: int, limit: int = LIMIT) -> Trace:
        """Advance the clock by `duration_ms`, even if the run is idle. RunawayError after `limit` entries."""
        self.kernel.run_for(duration_ms, limit, Controller.name)
        return self.trace

    def close(self) -> None:
        """End every program that still runs; the cluster can be looked at, but not run any further."""
        self.kernel.close()

    def discard(self) -> None:
        """End the run and take its parts apart, so that its memory is freed now and not by the garbage collector.

        Nothing of the cluster can be used afterwards; of random scenarios this saves a tenth of the time.
        """
        self.close()
        for broker in self.brokers.values():
            broker.state.logs = {}  # not to be read back
            broker.crash()
            vars(broker.replication).clear()
        for part in (*self.brokers.values(), self.controller, self.injector, self.network, self.kernel, self):
            vars(part).clear()

    def _busy(self, broker: Broker) -> bool:
        """Return whether something outstanding on this broker will still change a log."""
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
        """Return the log of the partition's leader, or of its last leader if it has none now."""
        info = self.controller.metadata.partitions.get(partition)
        if info is None:
            raise ValueError(
                f"no partition {partition!r}; there are {', '.join(self.scenario.topics)} and their numbers"
            )
        return self.brokers[info.leader or info.isr[0]].state.log(partition)

    @property
    def logs(self) -> dict[str, PartitionLog]:
        """The logs of the partitions' leaders: see `log_of`."""
        partitions = sorted({p for b in self.brokers.values() for p in b.state.logs})
        return {p: self.log_of(p) for p in partitions}

    def outcome(self) -> Outcome:
        """Return what became of the transactions: see `Outcome`."""
        return outcome_of(self.logs, self.scenario.topics)

    @property
    def unused_faults(self) -> tuple[Fault, ...]:
        """The scenario's faults that changed nothing: their frame was never sent, or it was so already."""
        used = [*self.injector.used, *self.network.frame_faults.used]
        return tuple(f for f in self.scenario.faults if f not in used)

    def fork(self, step: int, fault: Fault) -> Cluster:
        """Run the same scenario with one more fault and return its cluster. Up to `step` the run is identical.

        A timed fault takes effect right after `step`. ValueError, and nothing changes, for an unknown step, frame or
        node, and for a fault that would change nothing.
        """
        if not isinstance(step, int) or not 0 <= step < self.trace.steps:
            raise ValueError(f"no step {step!r} in this run; it has steps 0 to {self.trace.steps - 1}")
        if isinstance(fault, TimedFault) and fault.at_step < 0 and fault.at_ms < 0:
            fault = replace(fault, at_step=step)
        check_fault(fault, self.scenario.nodes, self.scenario.topics)
        if isinstance(fault, FrameFault):
            known = self.trace.find_frame(fault.frame)
            if known is None:
                name = fault.frame.rpartition("#")[0].rpartition(":")[2]
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


def ran(scenario: Scenario) -> Cluster:
    """Run the scenario to its end; return its cluster. For what can go wrong see `Cluster.run`."""
    cluster = Cluster(scenario)
    cluster.run()
    return cluster
