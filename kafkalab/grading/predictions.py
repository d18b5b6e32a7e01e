"""Exercises that ask for values: a word for each row of a table, or a prediction for each of some generated inputs.

The truths are computed, mostly by a run, and never printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, cells, describe, is_blank
from kafkalab.grading.forms import Blank, Form
from kafkalab.grading.mutants import called_each, same, show_value
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import Cluster, ran

if TYPE_CHECKING:
    from kafkalab.sim.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row: its name, what it says, what is true of it, where to look, and a run or a table that shows it.

    `step` finds the step of that run that decides, `misses` names the misconception behind a wrong value. Where a value
    can be tried, `tried` returns the run to which a wrong one leads; it takes the place of `run`. `words` are the words
    of this row, if not each of the exercise's words is one.
    """

    name: Any
    says: str
    truth: Any
    look: str = ""
    run: Callable[[], Scenario | Cluster | Table] | None = None
    misses: Mapping[Any, str] | None = None
    step: Callable[[Cluster], int] | None = None
    tried: Callable[[Any], Scenario] | None = None
    words: Sequence[str] = ()


def facts_of(
    rows: Sequence[Any],
    scenario_of: Callable[[Any], Scenario],
    truth_of: Callable[[Cluster], str],
    step: Callable[[Cluster], int] | None = None,
) -> tuple[Fact, ...]:
    """Run each row's scenario to its end; return the rows, numbered from 1, with what `truth_of` says of the run.

    A row has `says`, `look` and `misses`, as a Fact has; `step` finds the step that decides in each run.
    """
    found = []
    for number, row in enumerate(rows, 1):
        cluster = ran(scenario_of(row))
        run, truth = partial(scenario_of, row), truth_of(cluster)
        found.append(
            Fact(name=number, says=row.says, truth=truth, look=row.look, run=run, misses=row.misses, step=step)
        )
    return tuple(found)


def rows(
    facts: Callable[[int], Sequence[Fact]],
    words: Sequence[str],
    form: str,
    what: str = "row",
    flat: Callable[[Any], Any] = lambda answer: answer,
) -> Form:
    """Return the check of an exercise that asks for a word in each row; `facts(seed)` are the rows."""
    return Form(
        lambda answer: table(answer, facts(seed()), words, form, what),
        lambda: [Blank(fact.name, fact.says, fact.words or words) for fact in facts(seed())],
        flat,
    )


def table(answer: Any, facts: Sequence[Fact], words: Sequence[str], form: str, what: str = "row") -> str:
    """ "10 of 10 rows" if each row has the right word of `words`; WrongAnswer names the first that has not.

    The answer is a dict from the facts' names to words; `form` says so to the learner.
    """
    given = cells(answer, tuple(f.name for f in facts), words, form, what)
    if not any(given.values()):
        raise BlankAnswer(f"All {what}s are still blank. Give {form}.")
    return _compare(facts, [given[f.name] for f in facts], what)


def judge_predictions(
    answer: Any, inputs: Sequence[Any], facts: Sequence[Fact], form: str, what: str = "prediction"
) -> str:
    """ "8 of 8 predictions" if the answer, a list or a function of one input, is right for each generated input."""
    if callable(answer):
        given = called_each(answer, [(value,) for value in inputs])
    elif isinstance(answer, (list, tuple)):
        given = list(answer)
    elif is_blank(answer):
        given = []
    else:
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    if all(is_blank(value) for value in given):
        raise BlankAnswer(f"Every {what} is still blank. Give {form}.")
    if len(given) != len(facts):
        raise WrongValue(f"There are {len(given)} {what}s for {len(facts)} inputs. Give {form}.")
    return _compare(facts, given, what)


def _compare(facts: Sequence[Fact], given: Sequence[Any], what: str) -> str:
    wrong = [i for i, fact in enumerate(facts) if is_blank(given[i]) or not same(given[i], fact.truth)]
    if not wrong:
        return f"{len(facts)} of {len(facts)} {what}s"
    first = wrong[0]
    fact, value = facts[first], given[first]
    said = "It is still blank. " if is_blank(value) else f"You say {show_value(value).replace(chr(39), chr(34))}. "
    right = len(facts) - len(wrong)
    shown_by = fact.tried(value) if fact.tried and not is_blank(value) else fact.run() if fact.run else None
    step = -1
    if fact.step and shown_by and not isinstance(shown_by, Table):
        step = fact.step(shown_by if isinstance(shown_by, Cluster) else ran(shown_by))
    raise WrongAnswer(
        f"{right} of {len(facts)} {what}s are right. The first that is not is {what} {fact.name}: {fact.says}.\n"
        f"{said}{fact.look}".rstrip(),
        run=shown_by,
        step=step,
        miss=_miss(fact, value),
        part=right / len(facts),
    )


def _miss(fact: Fact, value: Any) -> str:
    try:
        return (fact.misses or {}).get(value, "")
    except TypeError:
        return ""
