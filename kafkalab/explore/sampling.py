"""The draws of the engines that know no causes: anything at any time of the run, or else lineage's own candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from kafkalab.explore.candidates import OF_FRAMES
from kafkalab.explore.experiment import Job
from kafkalab.explore.fault_sequence import SEARCHED, FaultSequence
from kafkalab.faults.durations import draw_duration
from kafkalab.faults.frame import Delay, Drop
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.run.run import Run

USUAL_DELAYS_MS = (20, 200, 3_000, 31_500, 40_000)


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
        fault = SEARCHED[kind]
        if kind in OF_FRAMES:
            frame, step = chance.choice([one for one in self.frames if OF_FRAMES[kind].fits(one[0])])
            details: dict[str, Any] = {fault.number[0]: draw_duration(chance)} if fault.number else {}
            if fault.other:
                frame, step = chance.choice(self.frames[:-1])
                details[fault.other] = chance.choice([name for name, sent in self.frames if sent > step])
            return FaultSequence(kind, (fault.of_press(frame, details, ()),), step)
        step = chance.randrange(self.first, len(self.times))
        end_ms = self.times[step] + draw_duration(chance)
        node = chance.choice((*self.clients, *self.brokers))
        return FaultSequence(kind, fault.draw(self, node, step, end_ms, chance), step)



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
