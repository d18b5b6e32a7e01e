"""A run that was recorded, not simulated: the frames that passed before a running Kafka, and what they tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kafkalab.faults.fault import Fault
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.partitions import INTERNAL_TOPICS, split
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.outcome import Outcome
from kafkalab.sim.scenario import Program
from kafkalab.trace import Trace


class RecordedController:
    """The leaders of partitions, as the recorded frames named them last."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self.metadata = metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScenario:
    """The part of a scenario that views need, as far as frames show it: clients first in `nodes`, then brokers."""

    title: str
    profile: str
    topics: dict[str, int]
    nodes: tuple[str, ...]
    seed: None = None
    faults: tuple[Fault, ...] = ()
    programs: tuple[Program, ...] = ()
    rules_off: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)


class KnownState(NamedTuple):
    """The state of a cluster that its frames have shown by now."""

    metadata: ClusterMetadata
    clients: tuple[str, ...]
    brokers: tuple[str, ...]
    profile: str


class Recording(Cluster):
    """A finished run for views and checks. It has no simulator: `run` changes nothing, and it cannot be forked.

    `why` is the sentence that a view shows instead of its buttons.
    """

    why = "these frames were recorded before a running Kafka: they cannot be run again with a change"

    def __init__(self, trace: Trace, known: KnownState) -> None:
        self.trace, self.start = trace, 0
        self.results = {}
        self.learn(known)

    def learn(self, known: KnownState) -> None:
        """Replace what is known of the cluster: of a recording that goes on, more with time."""
        metadata, clients, brokers, profile = known
        topics: dict[str, int] = {}
        for topic, index in map(split, metadata.partitions):
            if topic not in INTERNAL_TOPICS:
                topics[topic] = max(topics.get(topic, 0), index + 1)
        nodes = (*clients, *brokers)
        scenario: Any = RecordedScenario(
            title=self.trace.title, profile=profile, topics=topics, nodes=nodes
        )
        controller: Any = RecordedController(metadata)
        self.scenario, self.controller = scenario, controller
        names: dict[str, Any] = dict.fromkeys(nodes)
        self.nodes = names
        self.broker_names, self.brokers = brokers, {name: names[name] for name in brokers}
        self.rules = Rules(profile)

    def run(self, limit: int = 0) -> Trace:
        """Return the trace; there is nothing to run."""
        return self.trace

    def outcome(self, topics: dict[str, int] | None = None) -> Outcome:
        """Return the states that the answers told of; what the logs hold is only partly known."""
        states: dict[str, str] = {}
        for event in self.trace.events:
            if event.kind == "state" and event.name == "transaction":
                states[event.data["transactional_id"]] = event.data["state"]
        return Outcome(committed={}, offsets={}, txn_states=states, verdict="")


@runtime_checkable
class Recorded(Protocol):
    """Whatever can give a recording of what has passed by now: a tap, or a file that one saved."""

    def recording(self) -> Recording:
        """Return the run so far."""
