"""Lab 14's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.alternatives.matrix import COLUMNS, WORDS, matrix
from kafkalab.alternatives.presses import MODELS
from kafkalab.course.lab14 import exercise_1, exercise_3, pool
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.grading.tables import Table
from tests.grading.told import catch_wrong_answer, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2", "2026")


def right() -> dict[str, dict[str, str]]:
    rows = {
        "Kafka": ("a replicated log", "nobody", "yes", "nothing"),
        "two-phase commit": ("one log after votes", "the parts", "no", "old values"),
        "MVCC": ("one log", "everybody", "nobody is left", "nothing"),
        "atomic broadcast": ("a majority", "nobody", "no", "the tail"),
    }
    return {model: dict(zip(COLUMNS, words, strict=True)) for model, words in rows.items()}


def visible(version: dict[str, int], snapshot: dict[str, Any], status: dict[int, str]) -> bool:
    def counts(xid: int) -> bool:
        if xid == snapshot["own"]:
            return True
        return xid < snapshot["xmax"] and xid not in snapshot["running"] and status.get(xid) == "committed"

    return counts(version["xmin"]) and not (version["xmax"] != 0 and counts(version["xmax"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L14.E1", right()) == "L14.E1 ✓ 16 of 16 cells"
    assert check("L14.E3", visible) == "L14.E3 ✓ 300 of 300 cases"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("column", COLUMNS)
def test_each_wrong_word_of_a_cell_is_told_with_a_run_and_most_with_their_own_hint(model: str, column: str) -> None:
    truth = matrix()[model][column]
    for word in WORDS[column]:
        if word == truth:
            continue
        told = tell("L14.E1", f"{model}, {column}", word)
        assert f"cell {model}, {column}, " in told.refutes
        assert isinstance(told.run, Table)
        expected = exercise_1.MISSES.get((model, column), {}).get(word, "")
        assert told.belief == expected
        assert not expected or expected in exercise_1.EXERCISE.misses


def test_every_miss_of_the_table_can_be_met() -> None:
    met = {miss for words in exercise_1.MISSES.values() for miss in words.values()}
    assert met == set(exercise_1.EXERCISE.misses)
    for (model, column), words in exercise_1.MISSES.items():
        assert matrix()[model][column] not in words
        assert set(words) <= set(WORDS[column])


def test_there_are_more_than_enough_questions_over_the_whole_course() -> None:
    sources = {question.source for question in pool.pool(1)}
    assert len(pool.pool(1)) >= 80
    assert len(sources) == 14
    labs = {int("".join(filter(str.isdigit, source.partition(".")[0]))) for source in sources}
    assert labs == {0, 1, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15}


@pytest.mark.parametrize(
    ("exercise", "answer", "kind", "says"),
    [
        ("L14.E1", 5, WrongType, "a dict with a dict for each machine"),
        ("L14.E1", {"Kafka": "one log"}, WrongType, "For Kafka you give"),
        ("L14.E1", {"Oracle": {"blocks": "nobody"}}, WrongValue, "There is no cell 'Oracle, blocks'"),
        ("L14.E1", {m: dict.fromkeys(COLUMNS, "") for m in MODELS}, WrongAnswer, "still blank"),
    ],
)
def test_what_is_no_answer_is_told_what_to_give(exercise: str, answer: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as error:
        check(exercise, answer)
    assert says in str(error.value)


def test_with_no_rule_switched_the_function_is_the_tables() -> None:
    for seed in range(20):
        assert all(exercise_3.is_visible(*c) == exercise_3.reference(*c) for c in exercise_3.cases(seed))


@pytest.mark.parametrize("mutant", exercise_3.MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_is_killed_whatever_the_seed_and_named_as_itself(mutant: Any) -> None:
    for seed in range(40):
        cases = exercise_3.cases(seed)
        assert any(mutant.function(*c) != exercise_3.reference(*c) for c in cases), seed
    error = catch_wrong_answer("L14.E3", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in " ".join(str(error).split())
    assert hint("L14.E3").startswith("Hint")


def test_what_was_learnt_by_heart_fails_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(case): exercise_3.reference(*case) for case in exercise_3.cases(1)}

    def typed_in(*case: Any) -> bool:
        return known.get(repr(case), False)

    assert check("L14.E3", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L14.E3", typed_in)
