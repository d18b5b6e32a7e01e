"""Exercises that ask for values: a word for each row of a table, or a prediction for each of some generated inputs.

The truths are computed, mostly by a run, and never printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.grading.beliefs import Misses, belief_of, describe_fit, diagnose, sentence_of
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, cells, describe, is_blank
from kafkalab.grading.forms import Blank, Form, Told
from kafkalab.grading.mutants import called_each, same, show_value
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import Cluster, ran

if TYPE_CHECKING:
    from kafkalab.sim.scenario import Scenario

NO_BELIEF = "No single belief explains the others."
NO_BELIEFS: Misses = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row: its name, what it says, what is true of it, where to look, and a run or a table that shows it.

    `step` finds the step of that run that decides, `misses` names the belief that leads to a wrong value. Where a value
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
    beliefs: Misses = NO_BELIEFS,
) -> Form:
    """Return the check of an exercise that asks for a word in each row; `facts(seed)` are the rows.

    `beliefs` are the exercise's `misses`: the sentences of the beliefs that the rows name.
    """

    def tell(name: Any, word: str) -> Told:
        return judge_word(next(fact for fact in facts(seed()) if fact.name == name), word, what, beliefs)

    return Form(
        lambda answer: table(answer, facts(seed()), words, form, what, beliefs),
        lambda: [Blank(fact.name, fact.says, fact.words or words) for fact in facts(seed())],
        tell,
        flat,
        what,
    )


def table(
    answer: Any, facts: Sequence[Fact], words: Sequence[str], form: str, what: str = "row", beliefs: Misses = NO_BELIEFS
) -> str:
    """ "10 of 10 rows" if each row has the right word of `words`; WrongAnswer names the belief that the others fit.

    The answer is a dict from the facts' names to words; `form` says so to the learner.
    """
    given = cells(answer, tuple(f.name for f in facts), words, form, what)
    if not any(given.values()):
        raise BlankAnswer(f"All {what}s are still blank. Give {form}.")
    return _compare(facts, [given[f.name] for f in facts], what, beliefs)


def judge_predictions(
    answer: object,
    inputs: Sequence[object],
    facts: Sequence[Fact],
    form: str,
    what: str = "prediction",
    beliefs: Misses = NO_BELIEFS,
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
    return _compare(facts, given, what, beliefs)


def _compare(facts: Sequence[Fact], given: Sequence[object], what: str, beliefs: Misses) -> str:
    right = [not is_blank(value) and same(value, fact.truth) for value, fact in zip(given, facts, strict=True)]
    if all(right):
        return f"{len(facts)} of {len(facts)} {what}s"
    part = sum(right) / len(facts)
    if blank := [_place(fact) for value, fact in zip(given, facts, strict=True) if is_blank(value)]:
        raise WrongAnswer(f"Still blank: {what} {', '.join(blank)}. Give a value for each {what} first.", part=part)
    found = diagnose([fact.misses or {} for fact in facts], given, right)
    fact, value = facts[found.shown], given[found.shown]
    said = f"{NO_BELIEF} {_look_at(fact, what)}"
    if found.belief:
        sentence = sentence_of(found.belief, beliefs)
        said = f"{describe_fit(len(found.explained), what)}: {sentence}. {_refute(fact, value, what)}"
    shown_by, step = _evidence(fact, value)
    raise WrongAnswer(
        f"{sum(right)} of {len(facts)} {what}s are right. {said}".rstrip(),
        run=shown_by,
        step=step,
        miss=found.belief,
        part=part,
    )


def _refute(fact: Fact, value: object, what: str) -> str:
    said = show_value(value).replace("'", '"')
    return f"Look at {what} {_place(fact)}, where you say {said}: {fact.says}.\n{fact.look}"


def _look_at(fact: Fact, what: str) -> str:
    return f"Look at {what} {_place(fact)}, which may be right or wrong: {fact.says}.\n{fact.look}"


def _place(fact: Fact) -> str:
    return ", ".join(map(str, fact.name)) if isinstance(fact.name, tuple) else str(fact.name)


def _evidence(fact: Fact, value: object) -> tuple[Scenario | Cluster | Table | None, int]:
    """Return what shows the row, and the step of it that decides, or -1."""
    shown_by = fact.tried(value) if fact.tried else fact.run() if fact.run else None
    if not fact.step or shown_by is None or isinstance(shown_by, Table):
        return shown_by, -1
    return shown_by, fact.step(shown_by if isinstance(shown_by, Cluster) else ran(shown_by))


def judge_word(fact: Fact, word: str, what: str, beliefs: Misses) -> Told:
    """Return what is said to one word of a row; `what` is a row, in a word, and `beliefs` has the sentences."""
    misses, wrong = fact.misses or {}, not same(word, fact.truth)
    belief = belief_of(misses, word) if wrong else ""
    shown_by, step = _evidence(fact, word)
    return Told(
        wrong=wrong,
        belief=belief,
        sentence=sentence_of(belief, beliefs),
        denies=() if wrong else tuple(dict.fromkeys(misses.values())),
        refutes=_refute(fact, word, what),
        look=_look_at(fact, what),
        run=shown_by,
        step=step,
    )
