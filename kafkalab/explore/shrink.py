"""Makes a scenario small: fewer faults, programs, steps, records, partitions, brokers, as long as it shows the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kafkalab.explore.experiment import RAISED, Job, attempt, run_to_end
from kafkalab.explore.fault_sequence import GIVEN, FaultSequence
from kafkalab.explore.result import Result
from kafkalab.faults.fault import Fault, FrameFault, TimedFault
from kafkalab.run.run import Run
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event

MOST_RUNS = 500
SHIFTS = (0, 1, 2)
"""By how much the number of a struck frame or event may fall when something before it is left out."""
Moment = tuple[str, str, str, int]
"""An event in any run of a scenario: its node, kind and name, and how many of the same came before it."""


@dataclass(slots=True)
class _Shrink:
    """A scenario that gets smaller, and how many runs are left."""

    job: Job
    names: tuple[str, ...]
    sequences: tuple[FaultSequence, ...]
    findings: tuple[Any, ...] = ()
    runs: int = MOST_RUNS

    def try_(self, scenario: Scenario, sequences: tuple[FaultSequence, ...]) -> bool:
        """Take the smaller scenario over if it shows one of the same anomalies, which the rules prevent."""
        if self.runs < 2:
            return False
        job = replace(self.job, scenario=scenario, sequences=sequences, kinds=(), find=self.names)
        self.runs -= 1
        try:
            trial = attempt(job)
        except ValueError:
            return False  # a fault names a node or a partition that is gone
        self.runs -= trial.runs - 1
        if not trial.findings or not trial.prevented or trial.in_vain or trial.end.startswith(RAISED):
            return False
        self.job, self.sequences, self.findings = replace(self.job, scenario=scenario), sequences, trial.findings
        return True

    def without(self, scenario: Scenario) -> bool:
        """Try a scenario from which something is gone, with the faults where they were, or a little earlier."""
        old = self._moments(self.job.scenario, self.sequences)
        for shift in SHIFTS:
            moved = self._move(scenario, old, shift)
            if moved is not None and self.try_(scenario, moved):
                return True
            if not self.sequences:
                return False
        return False

    def _moments(self, scenario: Scenario, sequences: tuple[FaultSequence, ...]) -> list[Moment | None]:
        """Return the event after which each fault strikes, None for those that strike a frame or at a time."""
        if all(_at_step(m) < 0 for m in sequences):
            return [None] * len(sequences)
        self.runs -= 1
        events = run_to_end(replace(self.job, scenario=scenario, sequences=sequences).struck)[0].trace.events
        return [_moment(events, _at_step(m)) if _at_step(m) >= 0 else None for m in sequences]

    def _move(self, scenario: Scenario, old: list[Moment | None], shift: int) -> tuple[FaultSequence, ...] | None:
        """Return the faults at the same places of a smaller scenario; None where a place is gone."""
        moved: tuple[FaultSequence, ...] = ()
        for sequence, moment in zip(self.sequences, old, strict=True):
            if moment is None:
                faults = tuple(_rename_frame(fault, shift) for fault in sequence.faults)
                if any(fault is None for fault in faults):
                    return None
                moved = (*moved, replace(sequence, faults=tuple(f for f in faults if f is not None)))
                continue
            if self.runs < 1:
                return None
            self.runs -= 1
            try:
                run = run_to_end(replace(self.job, scenario=scenario, sequences=moved).struck)[0]
            except ValueError:
                return None
            event = _find_event(run, (*moment[:3], moment[3] - shift))
            if event is None:
                return None
            moved = (*moved, _at(sequence, event))
        return moved


def shrink(result: Result, runs: int = MOST_RUNS) -> Result:
    """Return the result with a smaller scenario that shows one of the same anomalies, after at most `runs` runs.

    First faults and single faults are left out, then programs, steps, records, partitions and brokers, again and again
    until nothing can go. The same result gives the same small scenario. ValueError if nothing was found.
    """
    if result.found is None:
        raise ValueError("nothing was found, so there is nothing to make small")
    bare = replace(result.scenario, faults=())
    job = Job(scenario=bare, find=result.find, clean=result.find, restored=result.rules_off, read=result.read)
    names = tuple(dict.fromkeys(f.anomaly for f in result.findings))
    given = tuple(FaultSequence(GIVEN, (fault,), -1) for fault in result.scenario.faults)
    state = _Shrink(job, names, (*given, *result.sequences), result.findings, runs)
    again = True
    while again and state.runs >= 2:
        again = False
        while _fewer_faults(state):
            again = True
        for smaller in SMALLER:
            again = _next_of(state, smaller) or again
    small = replace(state.job, sequences=state.sequences).struck
    title = result.found.title
    return replace(result, found=replace(small, title=title), sequences=state.sequences, findings=state.findings)


def _fewer_faults(state: _Shrink) -> bool:
    for number in range(len(state.sequences)):
        if state.try_(state.job.scenario, state.sequences[:number] + state.sequences[number + 1 :]):
            return True
    for number, sequence in enumerate(state.sequences):
        for one in reversed(range(1, len(sequence.faults))):
            fewer = replace(sequence, faults=sequence.faults[:one] + sequence.faults[one + 1 :])
            if state.try_(state.job.scenario, (*state.sequences[:number], fewer, *state.sequences[number + 1 :])):
                return True
    return False


def _next_of(state: _Shrink, smaller: Any) -> bool:
    """Leave out all that can go of one kind; return whether anything went."""
    shrunk, again = False, True
    while again and state.runs >= 2:
        again = any(state.without(scenario) for scenario in smaller(state.job.scenario))
        shrunk = shrunk or again
    return shrunk


def _fewer_programs(scenario: Scenario) -> Iterator[Scenario]:
    for number in reversed(range(len(scenario.programs))):
        yield replace(scenario, programs=scenario.programs[:number] + scenario.programs[number + 1 :])


def _fewer_steps(scenario: Scenario) -> Iterator[Scenario]:
    for at, program in enumerate(scenario.programs):
        steps = program.args.get("steps")
        if not isinstance(steps, list):
            continue
        for number in reversed(range(len(steps))):
            args = {**program.args, "steps": steps[:number] + steps[number + 1 :]}
            fewer = replace(program, args=args)
            yield replace(scenario, programs=(*scenario.programs[:at], fewer, *scenario.programs[at + 1 :]))


def _fewer_records(scenario: Scenario) -> Iterator[Scenario]:
    for partition, values in scenario.records.items():
        if values:
            yield replace(scenario, records={**scenario.records, partition: values[:-1]})


def _fewer_partitions(scenario: Scenario) -> Iterator[Scenario]:
    for topic, partitions in scenario.topics.items():
        rest = {name: number for name, number in scenario.topics.items() if name != topic}
        try:
            yield replace(scenario, topics=rest)
            if partitions > 1:
                yield replace(scenario, topics={**rest, topic: partitions - 1})
        except ValueError:
            continue


def _fewer_brokers(scenario: Scenario) -> Iterator[Scenario]:
    if scenario.brokers > 1:
        yield replace(scenario, brokers=scenario.brokers - 1)


SMALLER = (_fewer_programs, _fewer_steps, _fewer_records, _fewer_partitions, _fewer_brokers)


def _at_step(sequence: FaultSequence) -> int:
    first = sequence.faults[0]
    return first.at_step if isinstance(first, TimedFault) else -1


def _moment(events: list[Event], step: int) -> Moment:
    event = events[step]
    same = (event.node, event.kind, event.name)
    return (*same, sum((e.node, e.kind, e.name) == same for e in events[:step]))


def _find_event(run: Run, moment: Moment) -> Event | None:
    same = [e for e in run.trace.events if (e.node, e.kind, e.name) == moment[:3]]
    return same[moment[3]] if 0 <= moment[3] < len(same) else None


def _at(sequence: FaultSequence, event: Event) -> FaultSequence:
    """The fault at another event; what undoes it comes as long after it as before."""
    first, *undone = sequence.faults
    assert isinstance(first, TimedFault)
    moved: list[Fault] = [replace(first, at_step=event.step)]
    for fault in undone:
        assert isinstance(fault, TimedFault)
        moved.append(replace(fault, at_ms=event.at_ms + sequence.lasts_ms) if fault.at_ms >= 0 else fault)
    return replace(sequence, faults=tuple(moved), step=event.step)


def _rename_frame(fault: Fault, shift: int) -> Fault | None:
    """The fault of the frame whose number is lower by `shift`; the fault itself for one that strikes no frame."""
    if not isinstance(fault, FrameFault) or not shift:
        return fault
    names = dict(zip(("frame", fault.other), fault.frames, strict=False))
    for field, frame in names.items():
        name, _, number = frame.rpartition("#")
        if int(number) <= shift:
            return None
        names[field] = f"{name}#{int(number) - shift}"
    return replace(fault, **names)
