"""Lab 12: right answers pass on data made anew, each known mistake gets the hint that fits, blanks say so."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.lab12 import exercise_1 as lab12_e1
from kafkalab.course.lab12 import exercise_3 as lab12_e3
from kafkalab.course.lab12 import exercise_4 as lab12_e4
from kafkalab.course.lab12.spark_exercise import rows_of
from kafkalab.grading import check as checks
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import random_for
from tests.grading.told import as_learner, tell

NOTEBOOK = Path(__file__).resolve().parents[2] / SOLUTIONS / "12_auditing_with_spark.ipynb"
CELLS = {c["id"]: "".join(c["source"]) for c in read(NOTEBOOK)["cells"]}
E4 = dict.fromkeys((1, 2, 3, 5, 6, 7), "allowed") | dict.fromkeys((4, 8, 9), "forbidden") | {10: "reported"}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_session", checks._Session())


def solution(cell: str, **names: Any) -> dict[str, Any]:
    """The names that the solution's cell defines, given those that it finds."""
    exec(compile(ast.parse(CELLS[cell]), cell, "exec"), names)
    return names


def catch_text(exercise_id: str, answer: Any) -> str:
    with pytest.raises(WrongAnswer) as caught:
        check(exercise_id, answer)
    return str(caught.value)


def blank(*_: Any) -> Any:
    return ...


def test_the_policies_are_those_of_the_checks() -> None:
    assert check("L12.E4", E4) == "L12.E4 ✓ 10 of 10 rows"
    assert solution("e4-answer")["e4"] == E4


@pytest.mark.parametrize("row", E4)
def test_each_wrong_policy_is_caught_and_not_corrected(row: int) -> None:
    for wrong in set(lab12_e4.WORDS) - {E4[row]}:
        refutes = tell("L12.E4", row, wrong).refutes
        assert f'row {row}, where you say "{wrong}"' in refutes
        assert E4[row] not in refutes.replace(wrong, "")
    assert "still blank" in catch_text("L12.E4", dict.fromkeys(E4, ""))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("forbidden", "Kafka promises: no duplicates"),
        ("allowed", "Kafka promises: no"),
        ("reported", "Could a longer history"),
    ],
)
def test_a_wrong_policy_gets_the_hint_that_fits(wrong: str, said: str) -> None:
    catch_text("L12.E4", dict.fromkeys(E4, wrong))
    assert said in hint("L12.E4")


def test_the_rows_in_the_notebook_are_those_of_the_exercise() -> None:
    listed = [line.split("# ")[1] for line in CELLS["e4-answer"].splitlines() if line.startswith("    ")]
    assert [row.partition(":")[0] for row in listed] == [row[0] for row in lab12_e4.ROWS]


@pytest.mark.parametrize("mutant", lab12_e3.MUTANTS, ids=lambda m: m.name)
def test_every_misunderstanding_of_a_retried_task_is_named(mutant: Any) -> None:
    message = catch_text("L12.E3", {"sent": as_learner(mutant.function), "once": blank})
    assert f"That is as if {mutant.says}" in message
    checks._session.misses["L12.E3"] = mutant.name
    assert hint("L12.E3").startswith("Hint ")
    assert any(mutant.function(*case) != lab12_e3.count_sent(*case) for case in lab12_e3.cases(random_for("L12.E3")))


@pytest.mark.parametrize(
    ("exercise_id", "answer", "error", "said"),
    [
        ("L12.E0", 3, WrongType, "Give a function fates\\(inputs, reads, positions\\)"),
        ("L12.E1", [], WrongType, "Give a dict with an SQL query for each of"),
        ("L12.E1", {"G1b": ""}, WrongValue, "there is no 'G1b'"),
        ("L12.E1", {"G1a": "", "duplicate": ""}, WrongValue, "lost-write, poll-skip is missing"),
        ("L12.E1", {**dict.fromkeys(lab12_e1.NAMES, ""), "G1a": 3}, WrongType, "The query for G1a is SQL in a string"),
        ("L12.E1", dict.fromkeys(lab12_e1.NAMES, ""), WrongAnswer, "All queries are still blank"),
        ("L12.E2", 3, WrongType, "Give a function torn\\(log\\)"),
        ("L12.E3", 3, WrongType, 'Give a dict {"sent"'),
        ("L12.E3", {"sent": blank}, WrongValue, "yours has the names sent"),
        ("L12.E3", {"sent": blank, "once": blank}, WrongAnswer, "still blank"),
        ("L12.E3", {"sent": as_learner(lab12_e3.count_sent), "once": 3}, WrongType, "Give a function once\\(topic\\)"),
    ],
)
def test_what_has_another_form_is_told_what_to_give(
    exercise_id: str, answer: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        check(exercise_id, answer)


def test_a_function_that_returned_nothing_in_spark_is_blank_and_so_no_try() -> None:
    with pytest.raises(BlankAnswer, match="still blank"):
        rows_of({"blank": True}, "torn(log) fails", "The function is still blank")
