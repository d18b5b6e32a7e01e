"""The situation of a run at each step: open transactions, decisions without markers, rebalances, elections.

Random faults are aimed at these moments, and a campaign's coverage is counted by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.transaction_metadata import PREPARED, TxnState
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event, Frame, Trace

OPEN, DECIDED, REBALANCE, ELECTION = "open transaction", "decided, markers under way", "rebalance", "election"
MOMENTS = (OPEN, DECIDED, REBALANCE, ELECTION)
QUIET = "none of these"
LIMIT = 30_000
_DECIDED = tuple(state.label for state in PREPARED)
_REBALANCING = ("PreparingRebalance", "CompletingRebalance")


class Situation:
    """The situation of a run: `note` each event in turn; `moments` holds those of MOMENTS that the run is in."""

    def __init__(self) -> None:
        self.moments: tuple[str, ...] = ()
        self._transactions: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._images: dict[str, int] = {}

    def note(self, event: Event) -> None:
        """Take the event in: transactions and groups by their state, elections by the images that are under way."""
        kind, name = event.kind, event.name
        if kind == "state" and name == "transaction":
            self._transactions[event.data["transactional_id"]] = event.data["state"]
        elif kind == "state" and name == "group":
            self._groups[event.data["group"]] = event.data["state"]
        elif kind == "send" and name == "UpdateMetadata":
            self._images[event.data.receiver] = event.step
        elif (kind == "receive" and name == "UpdateMetadataResponse") or kind == "crash":
            self._images.pop(event.data.sender if kind == "receive" else event.node, None)
        else:
            return
        states = self._transactions.values()
        found = (
            TxnState.ONGOING.label in states,
            any(state in _DECIDED for state in states),
            any(state in _REBALANCING for state in self._groups.values()),
            bool(self._images),
        )
        self.moments = tuple(moment for moment, now in zip(MOMENTS, found, strict=True) if now)


def moments_of(trace: Trace) -> list[tuple[str, ...]]:
    """Return for each step what the run was in the middle of right after it."""
    situation, found = Situation(), []
    for event in trace.events:
        situation.note(event)
        found.append(situation.moments)
    return found


@dataclass(slots=True, kw_only=True)
class DryRun:
    """A run from which faults are drawn: its frames by name, its steps by moment, the partitions that it wrote."""

    cluster: Cluster
    frames: dict[str, list[Frame]] = field(default_factory=dict)
    steps: dict[str, list[int]] = field(default_factory=dict)

    @property
    def written(self) -> list[str]:
        """The partitions of the scenario's topics, and of internal ones, that hold records at the end."""
        topics = (*self.cluster.scenario.topics, *INTERNAL_TOPICS)
        logs = (log for broker in self.cluster.brokers.values() for log in broker.state.logs.values())
        return sorted({log.partition for log in logs if log.log_end_offset and topic_of(log.partition) in topics})

    def replicas(self, partition: str) -> list[str]:
        """Return the brokers that have the partition at the end, its leader first."""
        info = self.cluster.controller.metadata.partitions[partition]
        return sorted(info.replicas, key=lambda broker: broker != info.leader)

    @property
    def clients(self) -> list[str]:
        """The nodes of the scenario's programs."""
        return [program.node for program in self.cluster.scenario.programs]

    @property
    def version(self) -> int:
        """The level of `transaction.version` at the end."""
        return next(iter(self.cluster.brokers.values())).state.transaction_version

    @property
    def last(self) -> int:
        """The last step."""
        return self.cluster.trace.steps - 1

    def at_ms(self, step: int) -> int:
        """Return the virtual time of a step."""
        return self.cluster.trace.events[step].at_ms


def dry_run(scenario: Scenario) -> DryRun:
    """Run the scenario and sort its frames and steps; a run that does not end is sorted as far as it came."""
    cluster = Cluster(scenario)
    try:
        cluster.run(LIMIT)
    except (RunawayError, StuckError):
        cluster.close()
    found = DryRun(cluster=cluster)
    for frame in cluster.trace.frames.values():
        if not frame.copy_of:
            found.frames.setdefault(frame.name, []).append(frame)
    for step, moments in enumerate(moments_of(cluster.trace)):
        if step > cluster.start:
            for moment in moments or (QUIET,):
                found.steps.setdefault(moment, []).append(step)
    return found
