"""Inside a notebook's kernel: describe an exercise's form, and what its check says of each wrong part of an answer.

`notebooks.run_solution` puts a call of `record_form` after each check, where the solution's own answer is at hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from IPython.display import display

from kafkalab.grading.check import find
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.exercise import Exercise, WrongAnswer
from kafkalab.grading.forms import Blank, Form, Order
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import Cluster
from kafkalab.site.book.recorder import not_foretold

FORM = "application/vnd.kafkalab.form+json"
FORM_ID = "-form"
"""The end of the id of the cell that holds a form, after that of its check."""
RECORD_FORM = "from kafkalab.site.book.form_recorder import record_form\nrecord_form("

Described = dict[str, Any]


def record_form(exercise_id: str, answer: object) -> None:
    """Add the exercise's form to the cell's output, if it can be answered without Python."""
    exercise = find(exercise_id)
    if isinstance(exercise.check, (Form, Order)):
        with not_foretold():
            form = describe_form(exercise, answer)
        display({FORM: form}, raw=True)  # type: ignore[no-untyped-call]


def describe_form(exercise: Exercise, answer: object) -> Described:
    """Return what the form asks, what the right answer brings, and by each wrong part what the check says to it.

    A part of an answer is a row's place with its word, or two names that follow each other; it is written as JSON.
    `runs` has the pictures that `wrong` names.
    """
    runs: dict[str, Any] = {}
    if isinstance(exercise.check, Form):
        asked, parts, wrong = _rows(exercise.check, answer)
    else:
        assert isinstance(exercise.check, Order)
        asked, parts, wrong = _order(exercise.check, answer)
    check = exercise.check.check
    return {
        **asked,
        "id": exercise.id,
        "right": {canonical(parts): {"says": f"✓ {exercise.check(answer)}", "more": exercise.afterwards, "run": ""}},
        "wrong": {part: _refusal(exercise, check, given, runs) for part, given in wrong.items()},
        "runs": runs,
    }


def canonical(value: object) -> str:
    """Return the value as the one JSON text that a page makes of it, too."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _rows(form: Form, answer: object) -> tuple[Described, list[Any], dict[str, Any]]:
    right, blanks = form.flat(answer), form.blanks()
    place = {blank.name: number for number, blank in enumerate(blanks)}
    asked = {"rows": [{"says": _label(blank), "words": list(blank.words)} for blank in blanks]}
    wrong = {canonical([place[name], word]): given for (name, word), given in form.wrong_words(right).items()}
    return asked, [[place[blank.name], right[blank.name]] for blank in blanks], wrong


def _label(blank: Blank) -> str:
    return f"{blank.name}: {blank.says}" if isinstance(blank.name, str) and blank.name not in blank.says else blank.says


def _order(order: Order, answer: Any) -> tuple[Described, list[Any], dict[str, Any]]:
    wrong = {canonical(pair): given for pair, given in order.wrong_pairs(answer).items()}
    return {"names": list(order.names(seed()))}, [list(pair) for pair in pairwise(answer)], wrong


def _refusal(exercise: Exercise, check: Callable[[Any], str], given: object, runs: dict[str, Any]) -> dict[str, str]:
    """Return what the check says to an answer, without how much of it is right, its hint, and its run's name."""
    try:
        check(given)
    except WrongAnswer as error:
        hint = exercise.misses.get(error.miss, "")
        run = f"{error.run.scenario if isinstance(error.run, Cluster) else error.run} {error.step} {error.view}"
        if error.run is not None and run not in runs:
            shown = picture(error.run, error.step, error.view)
            runs[run] = {"text/html": shown._repr_html_()} if isinstance(shown, Table) else shown._repr_mimebundle_()[0]
        return {
            "says": str(error).partition(". ")[2],
            "more": exercise.hints[hint] if isinstance(hint, int) else hint,
            "run": "" if error.run is None else run,
        }
    raise AssertionError(f"{exercise.id}: the check takes {given} for right, which is not the solution's answer")
