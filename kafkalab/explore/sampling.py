"""The draws of the engines that know no causes: anything at any time of the run, or else lineage's own candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log
from random import Random

from kafkalab.explore.experiment import Job
from kafkalab.explore.fault_sequence import FaultSequence
from kafkalab.faults.cluster import AdvanceClock, Upgrade
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.faults.partition import Compact, DeleteSegment, ElectLeader, Roll
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.run.run import Run

USUAL_DELAYS_MS = (20, 200, 3_000, 31_500, 40_000)
LEAST_MS, MOST_MS = 10, 100_000
"""Between these lies each duration that is drawn, each power of ten as often as another."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of faults in a run without any: its frames, with their steps, and the times of its steps."""

    frames: tuple[tuple[str, int], ...]
    first: int
    times: tuple[int, ...]
    clients: tuple[str, ...]
    brokers: tuple[str, ...]
    partitions: tuple[str, ...]
    """Those of the scenario, and of the internal topics those that have records."""
    upgrades: bool

    @classmethod
    def of(cls, run: Run) -> Targets:
        """Look at a run."""
        cast, events = run.cast, run.trace.events
        frames = (f for f in run.trace.frames.values() if f.sent_step > run.start)
        own = (f"{topic}-{number}" for topic, count in cast.topics.items() for number in range(count))
        internal = (e.name for e in events if e.kind == "append" and topic_of(e.name) in INTERNAL_TOPICS)
        return cls(
            tuple((f.id, f.sent_step) for f in frames), run.start + 1, tuple(e.at_ms for e in events), cast.clients,
            cast.brokers, tuple(dict.fromkeys((*own, *internal))), cast.rules.cluster_level < 2,
        )  # fmt: skip

    def possible(self, kinds: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the kinds for which there is something to strike."""
        own = any(topic_of(name) not in INTERNAL_TOPICS for name in self.partitions)
        needs = {
            "drop": self.frames, "duplicate": self.frames, "late": self.frames, "upgrade": self.upgrades,
            "cut": len(self.brokers) > 1, "elect": len(self.brokers) > 1 and self.partitions,
            "delete": own, "compact": own,
        }  # fmt: skip
        return tuple(kind for kind in kinds if needs.get(kind, True)) if self.first < len(self.times) else ()

    def sequence(self, kinds: tuple[str, ...], chance: Random) -> FaultSequence:
        """Draw one of the kinds, all of which are possible, what it strikes, when, and for how long."""
        kind = chance.choice(kinds)
        if kind in ("drop", "duplicate", "late"):
            frame, step = chance.choice(self.frames)
            lost: dict[str, Fault] = {"drop": Drop(frame), "duplicate": Duplicate(frame)}
            return FaultSequence(kind, (lost.get(kind) or Delay(frame, _duration(chance)),), step)
        step = chance.randrange(self.first, len(self.times))
        return FaultSequence(kind, self._timed(kind, step, chance), step)

    def _timed(self, kind: str, step: int, chance: Random) -> tuple[Fault, ...]:
        end = self.times[step] + _duration(chance)
        node = chance.choice((*self.clients, *self.brokers))
        topics = [name for name in self.partitions if topic_of(name) not in INTERNAL_TOPICS]
        if kind == "crash":
            again = (Restart(node, at_ms=end),) if node in self.brokers else ()
            return (Crash(node, at_step=step, sent=chance.random() < 0.5), *again)
        if kind == "pause":
            return Pause(node, at_step=step), Resume(node, at_ms=end)
        if kind == "cut":
            others = [name for name in (*self.clients, *self.brokers, "controller") if name != node]
            side = tuple(chance.sample(others, chance.randint(1, len(others))))
            return Cut(node, side, at_step=step), Heal(node, side, at_ms=end)
        if kind == "clock":
            return (AdvanceClock(_duration(chance), at_step=step),)
        if kind == "elect":
            return (ElectLeader(chance.choice(self.partitions), chance.choice(self.brokers), at_step=step),)
        if kind == "upgrade":
            return (Upgrade(at_step=step),)
        partition = chance.choice(topics)
        if kind == "compact":
            return (Compact(partition, at_step=step),)
        return Roll(partition, at_step=step), DeleteSegment(partition, at_ms=end)


def _duration(chance: Random) -> int:
    return round(exp(chance.uniform(log(LEAST_MS), log(MOST_MS))))


def anything(job: Job, targets: Targets, most: int, chance: Random) -> Iterator[Job]:
    """Draw sets of one to `most` faults, whatever they strike, each in the order of time; none if none is possible."""
    kinds = targets.possible(job.kinds)
    while kinds:
        drawn = [targets.sequence(kinds, chance) for _ in range(chance.randint(1, max(most, 1)))]
        yield replace(job, sequences=tuple(sorted(drawn, key=lambda one: one.step)), kinds=())


def candidates(job: Job, sequences: tuple[FaultSequence, ...], most: int, chance: Random) -> Iterator[Job]:
    """Draw sets of one to `most` of these faults, each in the order of time; a lost frame is late half the times."""
    while sequences:
        count = min(chance.randint(1, max(most, 1)), len(sequences))
        drawn = sorted(chance.sample(sequences, count), key=lambda one: one.step)
        varied = []
        for sequence in drawn:
            fault = sequence.faults[0]
            if isinstance(fault, Drop) and "late" in job.kinds and chance.random() < 0.5:
                sequence = replace(sequence, kind="late", faults=(Delay(fault.frame, chance.choice(USUAL_DELAYS_MS)),))
            varied.append(sequence)
        yield replace(job, sequences=tuple(varied), kinds=())
