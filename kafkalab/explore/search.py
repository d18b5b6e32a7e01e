"""The search: fault sets in order of size, those that follow from a fault first; run, learn, stop."""

from __future__ import annotations

import heapq
import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count, islice
from random import Random
from typing import TypeAlias

from kafkalab.explore.anomalies import OTHER, STUCK, parse_names
from kafkalab.explore.experiment import ENDED, RAISED, RUNAWAY, WAITS, Job, Trial, attempt, run_to_end
from kafkalab.explore.fault_sequence import FaultSequence, kinds_named
from kafkalab.explore.result import FOUND, NONE, UNKNOWN, Coverage, Result
from kafkalab.explore.sampling import Targets, anything, candidates
from kafkalab.limits import quote
from kafkalab.sim.scenario import Program, ProgramFunction, Scenario

BATCH = 16
"""The number of runs that are planned before their results are looked at, whatever the number of processes."""
IN_WINDOW = 4
"""A late frame counts a quarter of its turns where more follows it: it comes after its loss and shorter delays."""
ENGINES = ("lineage", "random", "informed")
MOST_FAULTS, RUNS = 3, 2_000
Mapper: TypeAlias = "Callable[[Callable[[Job], Trial], list[Job]], Iterable[Trial]]"
Stop: TypeAlias = "Callable[[Coverage], str]"
Sequences: TypeAlias = tuple[FaultSequence, ...]
Waiting: TypeAlias = tuple[tuple[float, ...], int, Sequences]
"""A set that is to be tried: its order, when it was thought of, and what goes wrong."""


def explore(
    scenario: Scenario | ProgramFunction,
    find: str | Iterable[str] = (),
    rules_off: Iterable[str] = (),
    most_faults: int = MOST_FAULTS,
    engine: str = "lineage",
    runs: int = RUNS,
    seed: int = 1,
    kinds: tuple[str, ...] = (),
    read: bool = False,
    stop: Stop | None = None,
    mapper: Mapper = map,
) -> Result:
    """Look for the fewest faults with which `scenario` shows an anomaly called `find`; any forbidden one by default.

    A program of your own, `async def my_program(app)`, stands for the scenario in which it runs alone: it may read
    the topic "in", which holds three records, and write to "out", both with two partitions.
    "failed program: ProducerFencedError" finds a program that ends with this exception only.
    With `rules_off` the rules of these names are off, and only a run counts that is clean with them on. `kinds` names
    the kinds of faults that may happen, all by default. `stop` is asked between runs, and ends the search with the
    reason that it returns; `mapper` makes the runs, perhaps in other processes. With `read` every topic is read to its
    end after each run. Control-C ends the search, too, and what was covered is kept.

    ValueError for a name that does not exist, for a program that does not end without any fault, and for a scenario
    that shows the anomaly already.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine is {', '.join(ENGINES[:-1])} or {ENGINES[-1]}, not {quote(engine)}")
    if type(most_faults) is not int or not 0 <= most_faults <= 9:
        raise ValueError(f"most_faults is a number from 0 to 9, not {quote(most_faults)}")
    scenario = scenario if isinstance(scenario, Scenario) else around(scenario)
    off = (rules_off,) if isinstance(rules_off, str) else tuple(rules_off)
    restored = tuple(name for name in off if name not in scenario.rules_off)
    without = replace(scenario, rules_off=(*scenario.rules_off, *restored))
    wanted = kinds_named(tuple(kinds))
    if OTHER in (names := parse_names(find)) and not restored:
        raise ValueError(f"{OTHER!r} compares with a run that has the rules on: name those in rules_off")
    job = Job(scenario=without, find=names, restored=restored, kinds=wanted, read=read)
    _check_baseline(job)
    search = _Search(job, most_faults, runs, stop, mapper)
    return search.lineage() if engine == "lineage" else search.random(Random(seed), engine == "informed")


def around(function: ProgramFunction) -> Scenario:
    """Return a scenario in which the program runs alone. TypeError for anything but an async function."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"explore takes a Scenario or a program, an `async def` function, not {quote(function)}")
    name = function.__name__
    return Scenario(
        title=name, topics={"in": 2, "out": 2}, records={"in-0": ("a", "b"), "in-1": ("c",)},
        programs=(Program("app", function),),
    )  # fmt: skip


def _check_baseline(job: Job) -> None:
    """Run the scenario with all its rules. ValueError if it is broken before anything goes wrong."""
    trial = attempt(replace(job, scenario=job.with_rules, restored=(), kinds=()))
    faults = "without any more fault" if job.scenario.faults else "without any fault"
    if trial.end in (RUNAWAY, WAITS) and STUCK not in job.find:
        raise ValueError(f"{job.scenario.title or 'the scenario'!r} does not end {faults}: a program waits for ever")
    if trial.end.startswith(RAISED) and not trial.findings:
        what = trial.end.removeprefix(RAISED).strip()
        raise ValueError(f"a program of {job.scenario.title!r} raises {faults}: {what}")
    if trial.findings:
        first = trial.findings[0]
        rules = " and with every rule on" if job.restored else ""
        raise ValueError(f"the scenario shows {first.anomaly} already, {faults}{rules}: {first.text}")


class _Search:
    """One search under way."""

    def __init__(self, job: Job, most_faults: int, runs: int, stop: Stop | None, mapper: Mapper) -> None:
        self.job, self.most_faults, self.runs = job, most_faults, runs
        self.stop, self.mapper = stop, mapper
        self.covered = Coverage()
        self.seen: dict[str, None] = {}
        self.stopped = ""
        self.numbers = count()

    def lineage(self) -> Result:
        """Try fault sets by size; a run that shows nothing says what may go wrong next."""
        try:
            waiting = [self._waiting(())]
            for size in range(self.most_faults + 1):
                found, waiting = self._of_size(size, waiting)
                if found is not None:
                    return found
                if self.stopped:
                    break
        except KeyboardInterrupt:
            self.stopped = "it was interrupted"
        return self._result(UNKNOWN if self.stopped else NONE)

    def _of_size(self, size: int, heap: list[Waiting]) -> tuple[Result | None, list[Waiting]]:
        """Try all sets of one size; return what was found, and the sets of the next size in the order of trying."""
        job = self.job if size < self.most_faults else replace(self.job, kinds=())
        following: list[Waiting] = []
        tried = self.covered.tried
        while heap and not self.stopped:
            batch = [heapq.heappop(heap)[2] for _ in range(min(BATCH, len(heap)))]
            done = 0
            jobs = [replace(job, sequences=sequences) for sequences in batch]
            for sequences, trial in zip(batch, self.mapper(attempt, jobs), strict=False):
                done += 1
                tried[size] = tried.get(size, 0) + 1
                self.covered.runs += trial.runs
                if trial.findings and trial.prevented:
                    return self._result(FOUND, sequences, trial), []
                for late in trial.late if "late" in self.job.kinds else ():
                    heapq.heappush(heap, self._waiting((*sequences[:-1], late)))
                if not sequences:
                    self.job = replace(self.job, usual=trial.usual)
                if self._is_new(trial):
                    following += [self._waiting((*sequences, one)) for one in trial.follow]
                self._ask()
                if self.stopped:
                    break
            self.covered.open[size] = len(heap) + len(batch) - done
            if len(following) > 2 * self.runs:
                following = self._nearest(following, size)
        return None, self._nearest(following, size)

    def _waiting(self, sequences: Sequences) -> Waiting:
        """Place a set in the order of trying: what follows from a fault comes first, then each kind in its turn."""
        number = next(self.numbers)
        if not sequences:
            return (), number, sequences
        *before, last = sequences
        turns = sum(one.rank.turn // (IN_WINDOW if one.kind == "late" else 1) for one in before) + last.rank.turn
        return (last.rank.tier, turns, last.rank.kind, last.rank.step), number, sequences

    def _nearest(self, waiting: list[Waiting], size: int) -> list[Waiting]:
        """Keep as many of the next sets as can be run."""
        kept = heapq.nsmallest(self.runs, waiting)
        self.covered.open[size + 1] = self.covered.open.get(size + 1, 0) + len(waiting) - len(kept)
        return kept

    def _is_new(self, trial: Trial) -> bool:
        """Count the trial; return whether its run is one to go on from."""
        covered = self.covered
        covered.left_out += trial.left_out
        covered.in_vain += trial.in_vain
        covered.endless += trial.end != ENDED
        if trial.in_vain:
            return False
        if trial.findings:
            covered.not_prevented += 1
            return False
        if trial.future in self.seen:
            covered.equal += 1
            return False
        self.seen[trial.future] = None
        covered.futures += 1
        return True

    def _ask(self) -> None:
        if self.covered.runs >= self.runs:
            self.stopped = f"the budget of {self.runs:,} runs was used up"
        elif self.stop is not None:
            self.stopped = self.stop(self.covered)

    def random(self, chance: Random, informed: bool) -> Result:
        """Draw fault sets until one shows the anomaly or the budget is used up."""
        try:
            base = next(iter(self.mapper(attempt, [replace(self.job, unsupported=True)])))
            self.covered.runs += base.runs
            self._is_new(base)
            if base.findings:
                return self._result(FOUND, (), base)
            if informed:
                drawn = candidates(self.job, base.follow, self.most_faults, chance)
            else:
                drawn = anything(self.job, Targets.of(run_to_end(self.job.scenario)[0]), self.most_faults, chance)
            while not self.stopped:
                jobs = list(islice(drawn, BATCH))
                if not jobs:
                    self.stopped = "there is nothing that a fault of these kinds could strike"
                for job, trial in zip(jobs, self.mapper(attempt, jobs), strict=True):
                    self.covered.runs += trial.runs
                    size = len(job.sequences)
                    self.covered.tried[size] = self.covered.tried.get(size, 0) + 1
                    if trial.findings and trial.prevented:
                        return self._result(FOUND, job.sequences, trial)
                    self._is_new(trial)
                    self._ask()
                    if self.stopped:
                        break
        except KeyboardInterrupt:
            self.stopped = "it was interrupted"
        return self._result(UNKNOWN)

    def _result(self, verdict: str, sequences: Sequences = (), trial: Trial | None = None) -> Result:
        if verdict == NONE and any(self.covered.open.values()):
            verdict, self.stopped = UNKNOWN, f"the budget of {self.runs:,} runs was too small"
        return Result(
            scenario=self.job.scenario, find=self.job.find, rules_off=self.job.restored, verdict=verdict,
            covered=self.covered, most_faults=self.most_faults, kinds=self.job.kinds, stopped=self.stopped,
            sequences=sequences, found=_title(replace(self.job, sequences=sequences), trial) if trial else None,
            findings=trial.findings if trial else (), read=self.job.read,
        )  # fmt: skip


def _title(job: Job, trial: Trial) -> Scenario:
    """The scenario that was found, under a title that says what it shows."""
    without = "".join(f', without "{name}"' for name in job.restored)
    return replace(job.struck, title=f"{trial.findings[0].anomaly}: {job.scenario.title}{without}")
