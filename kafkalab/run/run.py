"""A run: its trace, who took part, what the logs hold at its end, and how to run it again or why that cannot be.

The simulator, a live cluster, a tap and a file that one saved each make one: see `kafkalab.run.source.run_of`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafkalab.faults.fault import Fault
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.outcome import Outcome, outcome_of
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Trace

Simulator: TypeAlias = Cluster
"""The cluster that makes a run, for those who watch it, or look inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The nodes, topics and rules of a run, as far as they are known by now.

    `nodes` has clients first, then brokers, then the controller if there is one to be seen. `topics` are those of the
    clients, with their numbers of partitions; `metadata` is the newest image of the cluster.
    """

    rules: Rules = Rules()
    topics: dict[str, int] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()
    metadata: ClusterMetadata = field(default_factory=ClusterMetadata)
    seed: int | None = None
    faults: tuple[Fault, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def first_level(self) -> int:
        """The level of transaction.version at which the cluster began."""
        return self.rules.cluster_level

    @property
    def clients(self) -> tuple[str, ...]:
        """The nodes that are neither brokers nor the controller."""
        return tuple(node for node in self.nodes if node not in self.brokers and node != "controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Notes that were taken during a run: `reasons`, as in `EnabledActions`, and `memory`, as in `ProducerMemory`."""

    reasons: dict[str, list[list[Any]]]
    memory: dict[int, list[list[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A run as far as it has come.

    `start` is the last step of its set-up, `end_ms` the time of its last event, or later. `logs` are those of the
    partitions' leaders, None where only frames are known, and `refusing` the partitions with records whose leader takes
    no more with acks=all, since too few replicas are in sync. `scenario` makes the same run again; where there is none,
    `why` is the reason, as a sentence. `cluster` is the simulator that has made it, None where there is none.

    `ending` says why a run has no end, "" if it has one. `waiting` are programs that have not ended though their nodes
    live, `raised` is what one raised that is no error of Kafka; `unused_faults` have changed nothing.
    """

    trace: Trace
    cast: Cast
    start: int = 0
    logs: dict[str, PartitionLog] | None = None
    refusing: tuple[str, ...] = ()
    end_ms: int = -1
    scenario: Scenario | None = None
    why: str = ""
    ending: str = ""
    waiting: tuple[str, ...] = ()
    raised: str = ""
    unused_faults: tuple[Fault, ...] = ()
    notes: Notes | None = None
    cluster: Simulator | None = field(default=None, repr=False)

    def outcome(self) -> Outcome:
        """Return what became of the transactions; of frames alone, the states that answers told of."""
        if self.logs is not None:
            return outcome_of(self.logs, self.cast.topics)
        told = self.trace.of("state", "transaction")
        states = {event.data["transactional_id"]: event.data["state"] for event in told}
        return Outcome(committed={}, offsets={}, txn_states=states, verdict="")

    def scenario_or_why(self) -> Scenario:
        """Return the scenario that makes the same run again. ValueError, with the reason, if there is none."""
        if self.scenario is None:
            raise ValueError(self.why)
        return self.scenario

    def cluster_or_why(self) -> Simulator:
        """Return the simulator that has made it. ValueError, with the reason, for a run of which only frames are known.
        """
        if self.cluster is None:
            raise ValueError(self.why)
        return self.cluster

    def discard(self) -> None:
        """Free the simulator's memory now: see `Cluster.discard`. The trace stays."""
        if self.cluster is not None:
            self.cluster.discard()
