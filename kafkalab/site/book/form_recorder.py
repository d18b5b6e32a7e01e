"""Inside a notebook's kernel: describe an exercise's form, and what its check says of each wrong part of an answer.

`notebooks.run_solution` puts a call of `record_form` after each check, where the solution's own answer is at hand.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from IPython.display import display

from kafkalab.grading.check import find
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.exercise import Exercise, WrongAnswer
from kafkalab.grading.forms import Blank, Form, Order, Told
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import Cluster
from kafkalab.site.book.recorder import not_foretold

if TYPE_CHECKING:
    from kafkalab.sim.scenario import Scenario

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
    """Return what the form asks, what the right answer brings, and by each part what is said to it.

    A part of an answer is a row's place with its word, or two names that follow each other in the wrong order; it is
    written as JSON. `runs` has the pictures that `parts` names.
    """
    runs: dict[str, Any] = {}
    if isinstance(exercise.check, Form):
        asked, right, parts = _rows(exercise, exercise.check, answer, runs)
    else:
        assert isinstance(exercise.check, Order)
        asked, right, parts = _order(exercise, exercise.check, answer, runs)
    told = {"says": f"✓ {exercise.check(answer)}", "more": exercise.afterwards, "run": ""}
    return {**asked, "id": exercise.id, "parts": {canonical(right): told, **parts}, "runs": runs}


def canonical(value: object) -> str:
    """Return the value as the one JSON text that a page makes of it, too."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _rows(exercise: Exercise, form: Form, answer: object, runs: dict[str, Any]) -> tuple[Described, Any, Described]:
    right, blanks = form.flat(answer), form.blanks()
    asked = {"what": form.what, "rows": [{"says": _label(blank), "words": list(blank.words)} for blank in blanks]}
    parts = {
        canonical([place, word]): _describe_told(exercise, form.tell(blank.name, word), runs)
        for place, blank in enumerate(blanks)
        for word in blank.words
    }
    return asked, [[place, right[blank.name]] for place, blank in enumerate(blanks)], parts


def _label(blank: Blank) -> str:
    return f"{blank.name}: {blank.says}" if isinstance(blank.name, str) and blank.name not in blank.says else blank.says


def _describe_told(exercise: Exercise, told: Told, runs: dict[str, Any]) -> Described:
    return {
        "wrong": told.wrong,
        "belief": told.belief,
        "sentence": told.sentence,
        "denies": list(told.denies),
        "refutes": told.refutes,
        "look": told.look,
        "more": exercise.hint_for(told.belief),
        "run": _keep_run(told.run, told.step, "Sequence", runs),
    }


def _order(exercise: Exercise, order: Order, answer: Any, runs: dict[str, Any]) -> tuple[Described, Any, Described]:
    wrong = {
        canonical(pair): _refusal(exercise, order, given, runs) for pair, given in order.wrong_pairs(answer).items()
    }
    return {"names": list(order.names(seed()))}, [list(pair) for pair in pairwise(answer)], wrong


def _refusal(exercise: Exercise, order: Order, given: object, runs: dict[str, Any]) -> Described:
    """Return what the check says to an order, without how much of it is right, its hint, and its run's name."""
    try:
        order.check(given)
    except WrongAnswer as error:
        run = _keep_run(error.run, error.step, error.view, runs)
        return {"says": str(error).partition(". ")[2], "more": exercise.hint_for(error.miss), "run": run}
    raise AssertionError(f"{exercise.id}: the check takes {given} for right, which is not the solution's answer")


def _keep_run(run: Scenario | Cluster | Table | None, step: int, view: str, runs: dict[str, Any]) -> str:
    """Keep the picture of a run under its name, which is returned; "" for no run."""
    if run is None:
        return ""
    name = f"{run.scenario if isinstance(run, Cluster) else run} {step} {view}"
    if name not in runs:
        shown = picture(run, step, view)
        runs[name] = {"text/html": shown._repr_html_()} if isinstance(shown, Table) else shown._repr_mimebundle_()[0]
    return name
