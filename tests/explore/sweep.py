"""A search with all rules on that goes on behind what it finds: every set of one fault, then larger ones in turn.

Each set of one whose run is like no other is extended by up to `each` second faults. Those come first that make a pair
of classes which was not run yet: a class is a kind of fault and what it strikes, as "crash at PrepareCommit". Then sets
of two whose runs are like no other are extended by what follows from their faults, until `threes` were run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import islice

from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.experiment import ENDED, Job, Trial, attempt
from kafkalab.explore.fault_sequence import KINDS, FaultSequence, faults_of
from kafkalab.explore.moments import ABSORBED, RECOVERY
from kafkalab.faults.fault import Fault
from kafkalab.sim.scenario import Scenario

Sequences = tuple[FaultSequence, ...]
Faults = tuple[Fault, ...]
Class = tuple[str, str]
FOLLOWERS = 4
"""By how many faults a set of two is extended at most."""


@dataclass(slots=True)
class Sweep:
    """One program under way: how many sets of each size were run, why others were not, and what was found."""

    job: Job
    each: int
    seconds: float
    tried: Counter[int] = field(default_factory=Counter)
    pruned: Counter[str] = field(default_factory=Counter)
    open_pairs: int = 0
    futures: dict[str, None] = field(default_factory=dict)
    classes: dict[tuple[Class, Class], bool] = field(default_factory=dict)
    """The pairs of classes that can follow each other, and whether one of them was run."""
    finds: dict[tuple[str, ...], list[Sequences]] = field(default_factory=dict)
    alone: dict[Faults, None] = field(default_factory=dict)
    """The faults that show something without any other."""
    threes: list[tuple[tuple[float, ...], int, Sequences]] = field(default_factory=list)
    again: int = 0
    kept: int = 0
    extended: int = 0

    @classmethod
    def of(cls, scenario: Scenario, each: int, seconds: float) -> Sweep:
        """Begin; each set of one is extended by at most `each`, as long as `seconds` of CPU are not over."""
        return cls(Job(scenario=scenario, find=parse_names(()), kinds=KINDS), each, time.process_time() + seconds)

    @property
    def runs(self) -> int:
        """The number of runs: one for each set, and one more for each that was extended."""
        return 1 + self.tried.total() + self.again

    def run(self, threes: int) -> None:
        """Run the sets of one, of two, and at most `threes` of three."""
        base = attempt(self.job)
        self.job = replace(self.job, usual=base.usual)
        self.futures[base.future] = None
        ones, kept = list(base.follow), []
        for one in ones:  # which grows
            trial = self._make((one,))
            ones += trial.late
            if self._is_new(trial, (one,)):
                kept.append(one)
        self.kept = len(kept)
        for one in kept:
            if time.process_time() > self.seconds:
                break
            self._pairs(one)
        while self.threes and self.tried[3] < threes:
            self._threes(heappop(self.threes)[2])

    def _pairs(self, one: FaultSequence) -> None:
        """Extend a set of one: first by what makes a new pair of classes."""
        self.extended += 1
        open_ = [two for two in self._follow((one,)) if self._is_open(two)]
        for two in open_:
            self.classes.setdefault((_class(one), _class(two)), False)
        done: dict[FaultSequence, None] = {}
        for again in (False, True):
            for two in open_:  # which grows
                pair = (_class(one), _class(two))
                if len(done) == self.each or two in done or (self.classes.get(pair) and not again):
                    continue
                done[two], self.classes[pair] = None, True
                trial = self._make((one, two))
                open_ += [late for late in trial.late if self._is_open(late)]
                if self._is_new(trial, (one, two)) and two.rank.tier == RECOVERY:
                    order = (one.rank.turn + two.rank.turn, two.rank.step)
                    heappush(self.threes, (order, len(self.futures), (one, two)))
        self.open_pairs += len(open_) - len(done)

    def _threes(self, pair: Sequences) -> None:
        """Extend a set of two by what follows from its faults."""
        follow = (three for three in self._follow(pair) if three.rank.tier == RECOVERY and self._is_open(three))
        for three in islice(follow, FOLLOWERS):
            self._is_new(self._make((*pair, three)), (*pair, three))

    def _follow(self, sequences: Sequences) -> tuple[FaultSequence, ...]:
        self.again += 1
        return attempt(replace(self.job, sequences=sequences)).follow

    def _is_open(self, one: FaultSequence) -> bool:
        """Return whether a further fault is to be tried; count why not."""
        if one.rank.tier == ABSORBED:
            self.pruned["strike where the run is as usual again"] += 1
        elif one.faults in self.alone:
            self.pruned["show something alone"] += 1
        else:
            return True
        return False

    def _make(self, sequences: Sequences) -> Trial:
        self.tried[len(sequences)] += 1
        return attempt(replace(self.job, sequences=sequences, kinds=()))

    def _is_new(self, trial: Trial, sequences: Sequences) -> bool:
        """Take note of what a run showed; return whether larger sets may begin with its faults."""
        if trial.in_vain:
            self.pruned["change nothing"] += 1
            return False
        if trial.findings:
            names = dict.fromkeys(f.anomaly for f in trial.findings)
            self.finds.setdefault((*names, *map(_describe_strike, sequences)), []).append(sequences)
            if len(sequences) == 1:
                self.alone[sequences[0].faults] = None
            return False
        self.pruned["never come to an end"] += trial.end != ENDED
        if trial.future in self.futures:
            self.pruned["have a future seen before"] += 1
            return False
        self.futures[trial.future] = None
        return True

    def report(self) -> Iterator[str]:
        """Return what was run, line by line."""
        sizes = ", ".join(f"{count:,} of {size}" for size, count in sorted(self.tried.items()))
        yield f"  sets: {sizes}; {len(self.futures):,} distinct futures"
        run = sum(self.classes.values())
        yield (
            f"  sets of two: {self.extended:,} of {self.kept:,} sets of one were extended, {self.open_pairs:,} of "
            f"theirs not run; {run:,} of {len(self.classes):,} pairs of classes"
        )
        yield "  " + "; ".join(f"{number:,} {why}" for why, number in sorted(self.pruned.items()) if number)
        for kind, sets in self.finds.items():
            if not any(other != kind and not Counter(other) - Counter(kind) for other in self.finds):
                first = ", ".join(map(repr, faults_of(sets[0])))
                yield f"  {' + '.join(kind)}: {len(sets)} of these sets, first {first}"


def _class(sequence: FaultSequence) -> Class:
    return sequence.kind, sequence.place


def _describe_strike(sequence: FaultSequence) -> str:
    """Return what a fault strikes, without numbers: "late Produce", "crash", "clock"."""
    return f"{sequence.kind} {getattr(sequence.faults[0], 'frame', '').partition('#')[0]}".strip()
