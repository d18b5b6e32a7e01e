"""Lab 14's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.alternatives.matrix import COLUMNS, WORDS, matrix
from kafkalab.alternatives.presses import MODELS, MOMENTS
from kafkalab.course.lab14 import exercise_1, exercise_2, exercise_3
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.grading.tables import Table
from tests.grading.told import catch_wrong_answer, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2", "2026")
OTHER = {"prepared": "decided", "decided": "prepared"}


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
    left = OTHER[question("L14.E2")["not at"]]
    assert check("L14.E2", [("coordinator", left)]) == "L14.E2 ✓ 1 crash, the fewest there are"
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


@pytest.mark.parametrize(
    ("presses", "miss", "hint_says"),
    [
        ([("other", "decided")], "the coordinator lives", "When may a participant not decide alone?"),
        ([("coordinator", "asked")], "nobody had voted", "no participant has voted"),
        ([("coordinator", "told")], "somebody knows", "Who was told"),
    ],
)
def test_each_near_miss_of_the_schedule_is_told_and_hinted(presses: Any, miss: str, hint_says: str) -> None:
    error = catch_wrong_answer("L14.E2", presses)
    assert error.miss == miss
    assert hint_says in hint("L14.E2")
    assert isinstance(counterexample(), Table)


def test_a_longer_schedule_passes_and_is_told_what_would_do() -> None:
    left = OTHER[question("L14.E2")["not at"]]
    assert check("L14.E2", [("coordinator", left), ("other", left)]) == "L14.E2 ✓ 2 crashes; 1 would do"


@pytest.mark.parametrize("seed", range(1, 5))
def test_one_crash_is_the_fewest_whatever_the_seed_and_the_forbidden_one_is_not_among_them(seed: int) -> None:
    forbidden = ("coordinator", exercise_2.question(seed)["not at"])
    assert forbidden not in exercise_2.list_allowed(seed)
    assert exercise_2.par(seed) == 1


@pytest.mark.parametrize(
    ("exercise", "answer", "kind", "says"),
    [
        ("L14.E1", 5, WrongType, "a dict with a dict for each machine"),
        ("L14.E1", {"Kafka": "one log"}, WrongType, "For Kafka stands"),
        ("L14.E1", {"Oracle": {"blocks": "nobody"}}, WrongValue, "There is no cell 'Oracle, blocks'"),
        ("L14.E1", {m: dict.fromkeys(COLUMNS, "") for m in MODELS}, WrongAnswer, "still blank"),
        ("L14.E2", [], WrongAnswer, "still blank"),
        ("L14.E2", "coordinator", WrongType, "Give a list of crashes"),
        ("L14.E2", ["coordinator"], WrongType, "A crash is who and when"),
        ("L14.E2", [("b1", "told")], WrongValue, "who is coordinator, told, other"),
        ("L14.E2", [("coordinator", m) for m in MOMENTS if m not in OTHER] * 2, WrongValue, "at most 3"),
    ],
)
def test_what_is_no_answer_is_told_what_to_give(exercise: str, answer: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as error:
        check(exercise, answer)
    assert says in str(error.value)


def test_the_moment_that_is_taken_away_is_refused() -> None:
    with pytest.raises(WrongValue, match="must not crash at"):
        check("L14.E2", [("coordinator", question("L14.E2")["not at"])])


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
