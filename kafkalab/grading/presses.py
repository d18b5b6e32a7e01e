"""Exercises that ask for presses: the shortest list of faults that brings something about, replayed and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import TYPES
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario

FORM = "the presses as a list of faults{example}, or the widget in which you pressed them"
FAULT_TYPES = tuple(TYPES.values())


@dataclass(frozen=True, slots=True)
class Miss:
    """Something near the goal: its name, a sentence about the run, whether a run shows it, and what helps.

    `hint` is a place in the exercise's hints or a sentence of its own; `step` finds the step of the run that decides.
    """

    name: str
    says: str
    shown_by: Callable[[Cluster], bool]
    hint: int | str = 0
    step: Callable[[Cluster], int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal of the presses: `says` after "this run shows no ...", `reached` asks a finished run.

    `example` is a list of presses that fits the scenario and does not reach the goal; messages show it as a form.
    """

    says: str
    reached: Callable[[Cluster], bool]
    misses: tuple[Miss, ...] = ()
    example: tuple[Fault, ...] = ()

    @property
    def form(self) -> str:
        """Return what to give as an answer, with the example."""
        return form_of(self.example)

    @property
    def hints(self) -> dict[str, int | str]:
        """Return which hint helps with each miss, as an `Exercise` takes it."""
        return {miss.name: miss.hint for miss in self.misses}


def form_of(example: Sequence[Fault] = ()) -> str:
    """Return what to give as an answer, with `example`, if there is one, as a learner would write it."""
    return FORM.format(example=f", like [{', '.join(map(repr, example))}]" if example else "")


def judge_presses(answer: object, base: Scenario, goal: Goal, most: int, par: int, allowed: Sequence[str] = ()) -> str:
    """ "3 presses; 2 would be enough" if the presses, added to the scenario and run, bring the goal about.

    `allowed` names the faults that may be pressed (all, if empty). WrongAnswer, with the run, if the goal is not
    reached, if there are more than `most` presses, or if one of them changes nothing.
    """
    faults = presses_of(answer, base, goal.form)
    if not faults:
        raise BlankAnswer(f"The list of presses is still blank. Give {goal.form}.")
    for fault in faults:
        if allowed and type(fault).__name__ not in allowed:
            raise WrongValue(f"{fault!r} may not be pressed here; there are {', '.join(allowed)}.")
    cluster = run_with(base, faults, goal.form)
    if cluster.unused_faults:
        listed = ", ".join(map(repr, cluster.unused_faults))
        raise WrongAnswer(f"In this run {listed} changed nothing: remove it, or press it elsewhere.", run=cluster)
    if not goal.reached(cluster):
        for miss in goal.misses:
            if miss.shown_by(cluster):
                step = miss.step(cluster) if miss.step else -1
                says = f"This run shows no {goal.says} yet. {miss.says}"
                raise WrongAnswer(says, run=cluster, step=step, miss=miss.name)
        raise WrongAnswer(f"This run shows no {goal.says} yet.", run=cluster)
    count = f"{len(faults)} press{'es' if len(faults) > 1 else ''}"
    if len(faults) > most:
        raise WrongAnswer(
            f"It works, with {count}. Can you do it with {most}? Remove one, and see whether it still works.",
            run=cluster,
            miss="too many",
            part=0.5,
        )
    return f"{count}, the fewest there are" if len(faults) <= par else f"{count}; {par} would be enough"


def run_with(base: Scenario, faults: Sequence[Fault], form: str = form_of()) -> Cluster:
    """The scenario's run with these faults more; WrongAnswer if it never ends, WrongValue if a fault does not fit."""
    try:
        cluster = Cluster(base.with_faults(*faults))
    except (ValueError, TypeError) as error:
        raise WrongValue(f"{error}. Give {form}.") from None
    try:
        cluster.run()
    except (StuckError, RunawayError) as error:
        first = str(error).partition("\n")[0].partition(";")[0]
        raise WrongAnswer(f"With these presses the run does not end: {first}.", miss="does not end") from None
    return cluster


def presses_of(answer: object, base: Scenario, form: str = form_of()) -> tuple[Fault, ...]:
    """Return the faults in an answer: a list of them, or what a widget, cluster or scenario has more than `base`."""
    if is_blank(answer):
        return ()
    answer = getattr(answer, "cluster", answer)
    found = getattr(answer, "scenario", answer)
    if isinstance(found, Scenario):
        return _find_added(found, base)
    if isinstance(found, FAULT_TYPES):
        found = [found]
    if not isinstance(found, (list, tuple)):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    for item in found:
        if not isinstance(item, FAULT_TYPES):
            raise WrongType(f"The list holds {describe(item)}, which is no fault. Give {form}.")
    return tuple(found)


def _find_added(found: Scenario, base: Scenario) -> tuple[Fault, ...]:
    if replace(found, faults=()) != replace(base, faults=()) or found.faults[: len(base.faults)] != base.faults:
        raise WrongValue(f"This is a run of another scenario than that of the exercise, {base.title!r}.")
    return found.faults[len(base.faults) :]
