"""Exercises that ask for a function: it is run beside the reference and beside mutants of it.

A mutant is a broker or a consumer with one rule missing. Where the learner's function answers as a mutant does, and
not as the reference, the mutant's name is the misconception, and picks the hint.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, describe, is_blank
from kafkalab.grading.own_code_only import refuse_borrowed
from kafkalab.grading.tables import Table

Case = tuple[Any, ...]
Counterexample = dict[str, Any]
"""The evidence for a case, as arguments of `WrongAnswer`: its run, and where needed the step and the view."""
SHOWN_CHARACTERS, SHOWN_LINES, LINE_CHARACTERS = 400, 40, 88


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong function, by the misconception that it stands for; `says` ends "... as if " ("a retry were new").

    `hint` is what helps against it: a place in the exercise's hints, or a sentence of its own.
    """

    name: str
    says: str
    function: Callable[..., Any]
    hint: int | str = 0


def hints_of(mutants: Iterable[Mutant]) -> dict[str, int | str]:
    """Return what helps against each mutant, by its name, as an `Exercise` takes it for `misses`."""
    return {mutant.name: mutant.hint for mutant in mutants}


def against_mutants(
    answer: object,
    reference: Callable[..., Any],
    mutants: Sequence[Mutant],
    cases: Sequence[Case],
    form: str,
    run_of: Callable[..., Counterexample] | None = None,
    rows_of: Callable[..., Table] | None = None,
) -> str:
    """ "40 of 40 cases" if the function answers every case as the reference does.

    `cases` are tuples of arguments; `form` says what to give ("a function accept(state, batch)"). WrongAnswer shows
    the shortest case that differs, what the function said, and which misconception fits all that it said;
    `run_of(*case)` is the run that shows the case, or `rows_of(given, *case)` a table, where `given` is what the
    function said. WrongType if the answer is no function, or one of kafkalab's.
    """
    if not callable(answer):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    refuse_borrowed(answer)
    truths = [reference(*copy.deepcopy(case)) for case in cases]
    given = called_each(answer, cases)
    if all(is_blank(value) for value in given) and not all(is_blank(value) for value in truths):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {form}.")
    wrong = [i for i, truth in enumerate(truths) if not same(given[i], truth)]
    if not wrong:
        return f"{len(cases)} of {len(cases)} cases"
    mutant = find_likeliest(mutants, cases, truths, given)
    fitting = [i for i in wrong if mutant and same(given[i], call_with_copy(mutant.function, cases[i]))]
    first = min(fitting or wrong, key=lambda i: len(repr(cases[i])))
    right = len(cases) - len(wrong)
    found: Counterexample = run_of(*cases[first]) if run_of else {}
    if rows_of:
        found = {"run": rows_of(given[first], *cases[first])}
    raise WrongAnswer(
        f"{right} of {len(cases)} cases are right. One that is not:\n    {call(answer, cases[first])}\n"
        f"Your function says {show_value(given[first])}."
        + (f" That is as if {mutant.says}." if mutant else " Work this case out on paper, step by step, and compare."),
        **found,
        miss=mutant.name if mutant else "",
        part=right / len(cases),
    )


def judge_tests(answer: object, fine: Iterable[Case], mutants: Iterable[tuple[Mutant, Case]], form: str) -> str:
    """ "4 of 4 mutants found" if the learner's test finds every mutant and lets what is fine through.

    The learner's function is a test: it is true of arguments that show something wrong. `fine` are arguments in which
    nothing is wrong; with each mutant come the arguments that show it. WrongAnswer names the survivor.
    """
    if not callable(answer):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    good, bad = list(fine), list(mutants)
    verdicts = called_each(answer, [*good, *(case for _, case in bad)])
    if all(is_blank(value) for value in verdicts):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {form}.")
    for case, verdict in zip(good, verdicts, strict=False):
        if verdict:
            raise WrongAnswer(f"Your test finds fault where nothing is wrong:\n    {call(answer, case)}")
    survivors = [m for (m, _), verdict in zip(bad, verdicts[len(good) :], strict=True) if not verdict]
    if survivors:
        found = len(bad) - len(survivors)
        raise WrongAnswer(
            f"{found} of {len(bad)} mutants are found. One that your test lets through behaves as if "
            f"{survivors[0].says}.",
            miss=survivors[0].name,
            part=found / len(bad),
        )
    return f"{len(bad)} of {len(bad)} mutants found"


def call_with_copy(function: Callable[..., Any], case: Case) -> Any:
    """Return what the function returns for a copy of the arguments; WrongAnswer, with the call, if it raises."""
    try:
        return function(*copy.deepcopy(case))
    except WrongAnswer:
        raise
    except Exception as error:
        raise _stops(function, case, error) from None


def called_each(function: Callable[..., Any], cases: Sequence[Case]) -> list[Any]:
    """Return what the function returns for each case; a function of another process is asked once for all of them."""
    many = getattr(function, "many", None)
    if many is None:
        return [call_with_copy(function, case) for case in cases]
    values, error = many(cases)
    if error is not None:
        raise _stops(function, cases[len(values)], error)
    found: list[Any] = values
    return found


def _stops(function: Callable[..., Any], case: Case, error: Exception) -> WrongAnswer:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return WrongAnswer(f"Your function stops with {said}\n    {call(function, case)}")


def same(one: object, other: object) -> bool:
    """Return True if two answers say the same: lists and tuples are alike, an enum's member and its name are alike."""
    try:
        return bool(_plain(one) == _plain(other))
    except Exception:
        return False


def call(function: Callable[..., Any], case: Case) -> str:
    """The call as code: `accept({...}, ...)`; an argument that is long has an indented line for each of its parts."""
    name = getattr(function, "__name__", "your_function")
    lines = f"{name}({', '.join(map(_in_lines, case))})".split("\n")
    return "\n".join([shown_text(line) for line in lines[:SHOWN_LINES]] + ["    …"] * (len(lines) > SHOWN_LINES))


def _in_lines(argument: Any, indent: str = "    ") -> str:
    text = repr(argument)
    if len(text) <= LINE_CHARACTERS or not argument or type(argument) not in (dict, list, tuple):
        return text
    pairs, deeper = type(argument) is dict, indent + "    "
    parts = argument.values() if pairs else argument
    said = [_in_lines(part, deeper) if _holds_rows(part) else repr(part) for part in parts]
    rows = [f"{key!r}: {row}" for key, row in zip(argument, said, strict=True)] if pairs else said
    inner = "".join(f"\n{deeper}{row}," for row in rows) + f"\n{indent}"
    return f"{{{inner}}}" if pairs else f"({inner})" if type(argument) is tuple else f"[{inner}]"


def _holds_rows(part: Any) -> bool:
    return type(part) in (list, tuple) and any(type(row) in (dict, list, tuple) for row in part)


def show_value(value: object) -> str:
    """The value as code, cut where it is long."""
    return shown_text(repr(value))


def shown_text(text: str) -> str:
    """The text, cut where it is long."""
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _plain(value: object) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {_plain(k): _plain(v) for k, v in value.items()}
    name = getattr(value, "name", None)
    return name if isinstance(name, str) and type(value).__mro__[1:2] and hasattr(type(value), "__members__") else value


def find_likeliest(
    mutants: Sequence[Mutant], cases: Sequence[Case], truths: Sequence[object], given: Sequence[object]
) -> Mutant | None:
    """The mutant that says what was given wherever the mutant or the learner leaves the truth; the most alike."""
    best, most = None, 0.5
    for mutant in mutants:
        said = [mutant.function(*copy.deepcopy(case)) for case in cases]
        apart = [i for i, t in enumerate(truths) if not same(said[i], t) or not same(given[i], t)]
        alike = sum(same(said[i], given[i]) for i in apart) / len(apart) if apart else 0.0
        if alike >= most and any(not same(said[i], truths[i]) and same(said[i], given[i]) for i in apart):
            best, most = mutant, alike + 1e-9
    return best
