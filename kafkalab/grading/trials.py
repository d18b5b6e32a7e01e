"""Exercises that ask for a function that decides: what it says makes runs, and what a run shows is the judgement.

More than one answer can be right. Where the runs end badly as those of a mutant do, its name is the misconception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, describe, is_blank
from kafkalab.grading.mutants import Case, Mutant, call, called_each, find_likeliest, show_value
from kafkalab.grading.own_code_only import refuse_borrowed
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Calls of the learner's function, and the run that follows from what they return.

    `find_ills` says in a sentence without its end what is wrong in the run, "" if nothing is; `find_step` says where
    to open it.
    """

    calls: tuple[Case, ...]
    scenario: Callable[..., Scenario]
    find_ills: Callable[[Cluster], str]
    find_step: Callable[[Cluster], int]


def against_trials(
    answer: object, trials: Sequence[Trial], mutants: Sequence[Mutant], form: str, why_not: Callable[[object], str]
) -> str:
    """ "20 of 20 runs" if each trial's run ends well with what the function returns.

    `form` says what to give, and `why_not(value)` what is wrong with a value that is of no use ("" if none). WrongType
    if the answer is no function or returns such a value, WrongAnswer with the run that is shown shortest.
    """
    if not callable(answer):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    refuse_borrowed(answer)
    calls = list({repr(one): one for trial in trials for one in trial.calls}.values())
    values = called_each(answer, calls)
    if all(is_blank(value) for value in values):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {form}.")
    for one, value in zip(calls, values, strict=True):
        if reason := why_not(value):
            raise WrongType(f"Your function returns {describe(value)}, and {reason}:\n    {call(answer, one)}")
    said = dict(zip(map(repr, calls), values, strict=True))
    used = [[said[repr(one)] for one in trial.calls] for trial in trials]

    @cache
    def end(place: int, *returned: object) -> str:
        return trials[place].find_ills(ran(trials[place].scenario(*returned)))

    given = [end(place, *returned) for place, returned in enumerate(used)]
    wrong = [place for place, ills in enumerate(given) if ills]
    if not wrong:
        return f"{len(trials)} of {len(trials)} runs"
    mutant, first = _diagnose(trials, mutants, given, end)
    shown = zip(trials[first].calls, used[first], strict=True)
    lines = "".join(f"\n    {call(answer, one)}\nYour function says {show_value(value)}." for one, value in shown)
    scenario, right = trials[first].scenario(*used[first]), len(trials) - len(wrong)
    raise WrongAnswer(
        f"{right} of {len(trials)} runs end well. One that does not:{lines}\nIn its run {given[first]}."
        + (f" That is as if {mutant.says}." if mutant else " Open the run, and look how it comes to that."),
        run=scenario,
        step=trials[first].find_step(ran(scenario)),
        miss=mutant.name if mutant else "",
        part=right / len(trials),
    )


def _diagnose(
    trials: Sequence[Trial], mutants: Sequence[Mutant], given: Sequence[str], end: Callable[..., str]
) -> tuple[Mutant | None, int]:
    """The mutant whose runs end as the learner's do, if there is one, and the trial to show."""
    ends = {m.name: [end(i, *(m.function(*one) for one in t.calls)) for i, t in enumerate(trials)] for m in mutants}
    judged = [Mutant(m.name, m.says, ends[m.name].__getitem__) for m in mutants]
    found = find_likeliest(judged, [(place,) for place in range(len(trials))], [""] * len(trials), given)
    wrong = [place for place, ills in enumerate(given) if ills]
    fitting = [place for place in wrong if found and ends[found.name][place] == given[place]]
    return found, min(fitting or wrong, key=lambda place: len(repr(trials[place].calls)))
