"""Faults of the log of one partition: it begins a segment, is compacted, loses a segment."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from kafkalab.broker.broker import Broker
from kafkalab.broker.handlers.delete_records import log_start_moved
from kafkalab.broker.services import Context
from kafkalab.faults.durations import AWAY_MS
from kafkalab.faults.fault import Fault, Words
from kafkalab.faults.partition import PartitionFault, draw_own, is_own
from kafkalab.faults.world import Scene, Targets, World
from kafkalab.log.cleaner import Cleaning, clean, is_dirty, would_clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.trace import Event


def _replicas(world: World, partition: str) -> list[Broker]:
    """Return the live brokers that have the partition, its leader first."""
    info = world.controller.metadata.partitions.get(partition)
    replicas = sorted(info.replicas, key=lambda r: r != info.leader) if info else []
    return [world.brokers[r] for r in replicas if _works(world, r) and partition in world.brokers[r].state.logs]


def _works(world: World, broker: str) -> bool:
    node = world.nodes[broker]
    return node.alive and not node.paused


def _working_leader(world: World, partition: str) -> Broker | None:
    """Return the partition's leader if it works and has the log."""
    leader = world.controller.metadata.leader(partition)
    if not leader or not _works(world, leader) or partition not in world.brokers[leader].state.logs:
        return None
    return world.brokers[leader]


@dataclass(frozen=True, slots=True, repr=False)
class LogFault(PartitionFault):
    """A fault that happens to the log of one partition."""

    partition: str
    at_step: int = -1
    at_ms: int = -1
    target_kind = "log"


@dataclass(frozen=True, slots=True, repr=False)
class Roll(LogFault):
    """Every live replica of the partition begins a new segment."""

    words = Words(
        label="roll", title="A new segment begins", chapter="{node} roll",
        event="A new segment of {partition} begins.", explanation="{partition} begins a new segment at {at} ms",
    )  # fmt: skip

    def why_not_now(self, world: World) -> str:
        """Return why not: no replica's active segment has records."""
        logs = (broker.state.logs[self.partition] for broker in _replicas(world, self.partition))
        if any(log.segments[-1] < log.log_end_offset for log in logs):
            return ""
        return f"no active segment of {self.partition} has records at this step"

    def strike(self, world: World, cause: int) -> bool:
        """Begin a segment at each replica whose active one has records."""
        brokers = _replicas(world, self.partition)
        rolled = [broker for broker in brokers if broker.state.logs[self.partition].roll(world.now)]
        if rolled:
            bases = {b.name: b.state.logs[self.partition].segments[-1] for b in rolled}
            self.note(world, rolled[0].name, cause, {"partition": self.partition, "base_offsets": bases})
        return bool(rolled)


@dataclass(frozen=True, slots=True, repr=False)
class Compact(LogFault):
    """Every live replica of the partition begins a new segment, and cleans what is cleanable before it."""

    kind = "compact"
    words = Words(
        label="compact", title="Each replica begins a new segment and cleans what is before it",
        chapter="{node} compact", event="{partition} is compacted.",
        explanation="{partition} is compacted at {at} ms",
    )  # fmt: skip

    def why_not_now(self, world: World) -> str:
        """Return why not: compaction would change no replica's log."""
        states = [broker.state for broker in _replicas(world, self.partition)]
        logs = ((state.logs[self.partition], state.config.delete_retention_ms) for state in states)
        if any(would_clean(log, world.now, retention_ms) for log, retention_ms in logs):
            return ""
        return f"nothing in {self.partition} can be compacted at this step"

    def strike(self, world: World, cause: int) -> bool:
        """Compact at each replica; a follower learns the high watermark of a leader that has cleaned its log."""
        done: list[tuple[str, Cleaning]] = []
        told = []
        for broker in _replicas(world, self.partition):
            log, retention_ms = broker.state.logs[self.partition], broker.state.config.delete_retention_ms
            if done and _raise_high_watermark(world, done[0][0], broker.name, log):
                told.append(broker)
            log.roll(world.now)
            if is_dirty(log) and (cleaning := clean(log, world.now, retention_ms)).changed:
                done.append((broker.name, cleaning))
        if not done:
            return False
        step = self.note(world, done[0][0], cause, {"partition": self.partition})
        for broker in told:
            broker.replication.note_marks(broker.state.logs[self.partition], step)
        for name, cleaning in done:
            world.record(name, "state", "compacted", step, self._describe(world, name, cleaning))
        return True

    def _describe(self, world: World, broker: str, cleaning: Cleaning) -> dict[str, object]:
        """Return what a cleaning did, and the offsets that are left."""
        return {
            "partition": self.partition,
            "end": cleaning.end,
            "batches_removed": cleaning.batches_removed,
            "records_removed": cleaning.records_removed,
            "horizons_set": cleaning.horizons_set,
            "left": [o for b in world.brokers[broker].state.logs[self.partition].batches for o in b.offsets],
        }

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the compaction some time after an append to a topic of the scenario."""
        if is_own(scene, event) and topic_of(event.name) not in INTERNAL_TOPICS:
            yield (cls(event.name, at_ms=event.at_ms + AWAY_MS[0] // 2),)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the partition."""
        return (cls(draw_own(run, chance), at_step=step),)


def _raise_high_watermark(world: World, leader: str, follower: str, log: PartitionLog) -> bool:
    """Raise the high watermark of an idle follower, as the empty answers to its fetches do; return whether it moved."""
    state = world.brokers[leader].state
    session = state.sessions.get(follower)
    idle = session is not None and session.parked is not None and session.silent_since_ms < 0
    return idle and state.leads(log.partition) and log.advance(state.logs[log.partition].high_watermark)


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSegment(LogFault):
    """The leader deletes its oldest segment, as retention would: all of it must be replicated. Followers follow."""

    press = "delete_segment"
    kind = "delete"
    words = Words(
        label="delete segment", title="The leader deletes its oldest segment", chapter="{node} deletesegment",
        event="{node} deletes segment {base_offset} of {partition}.",
        explanation="{partition} loses its oldest segment at {at} ms",
    )  # fmt: skip

    def why_not_now(self, world: World) -> str:
        """Return why not: the leader's oldest segment is not replicated, or is empty with none behind it."""
        leader = _working_leader(world, self.partition)
        if leader is not None:
            log = leader.state.logs[self.partition]
            end = log.segments[1] if len(log.segments) > 1 else log.log_end_offset
            if log.segments[0] < end <= log.high_watermark:
                return ""
        return f"no segment of {self.partition} is full and replicated at this step"

    def strike(self, world: World, cause: int) -> bool:
        """Delete the leader's oldest segment; a single one ends first."""
        partition, broker = self.partition, _working_leader(world, self.partition)
        if broker is None or not broker.state.leads(partition):
            return False  # or it has not heard yet that it leads
        log = broker.state.logs[partition]
        if len(log.segments) == 1:
            log.roll(world.now)
        if len(log.segments) == 1 or log.segments[1] > log.high_watermark:
            return False
        base = log.segments[0]
        log.drop_segments(log.segments[1])
        step = self.note(world, broker.name, cause, {"partition": partition, "base_offset": base})
        broker.run(log_start_moved(broker.state, partition), Context(None, step))
        return True

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield a new segment some time after an append to a topic of the scenario, and the deletion of the old one."""
        if is_own(scene, event) and topic_of(event.name) not in INTERNAL_TOPICS:
            at_ms = event.at_ms + AWAY_MS[0] // 2
            yield Roll(event.name, at_ms=at_ms), cls(event.name, at_ms=at_ms + 1_000)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the partition."""
        partition = draw_own(run, chance)
        return Roll(partition, at_step=step), cls(partition, at_ms=end_ms)


FAULTS: tuple[type[Fault], ...] = (Roll, Compact, DeleteSegment)
__all__ = ["Compact", "DeleteSegment", "Roll"]
