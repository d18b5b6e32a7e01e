"""Lab 14's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.alternatives.matrix import COLUMNS, WORDS, matrix
from kafkalab.alternatives.presses import MODELS
from kafkalab.course.lab14 import exercise_1, exercise_2, exercise_3, mixed
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.grading.tables import Table
from tests.grading.told import catch_wrong_answer, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2", "2026")

EMPTY: dict[Any, Any] = dict.fromkeys(range(1, 9), "")


def answer_set(number: int) -> dict[Any, Any]:
    """Return the right letters of a set."""
    drawn = enumerate(exercise_2.draw(number), 1)
    return {"set": number, **{place: mixed.LETTERS[one.choices.index(one.right)] for place, one in drawn}}


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
    assert check("L14.E2", answer_set(int(seed))) == "L14.E2 ✓ 8 of 8 questions"
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
    sources = {question.source for question in mixed.pool(1)}
    assert len(mixed.pool(1)) >= 80
    assert len(sources) == 14
    labs = {int("".join(filter(str.isdigit, source.partition(".")[0]))) for source in sources}
    assert labs == {0, 1, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_question_has_different_choices_one_of_which_its_run_has_shown(seed: int) -> None:
    for one in mixed.pool(seed):
        assert one.right in one.choices
        assert 2 <= len(set(one.choices)) == len(one.choices) <= len(mixed.LETTERS)
        assert one.beliefs
        assert one.right not in one.beliefs
        assert set(one.beliefs) <= set(one.choices)
        assert one.fact.run is not None or one.fact.tried is not None


@pytest.mark.parametrize("number", range(1, 13))
def test_a_set_has_eight_questions_from_eight_places(number: int) -> None:
    drawn = exercise_2.draw(number)
    assert len({one.source for one in drawn}) == len(drawn) == 8
    assert len(exercise_2.open_set(number)) == 8
    assert exercise_2.draw(number) == drawn


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("place", range(1, 9))
def test_a_wrong_letter_opens_the_run_of_its_question_and_names_the_belief(number: int, place: int) -> None:
    one = exercise_2.draw(number)[place - 1]
    for letter, choice in zip(mixed.LETTERS, one.choices, strict=False):
        if choice == one.right:
            continue
        error = catch_wrong_answer("L14.E2", {**answer_set(number), place: letter})
        assert f"7 of 8 questions are right. Question {place}: you say " in " ".join(str(error).split())
        assert error.part == 7 / 8
        assert error.run is not None
        belief = one.beliefs.get(choice)
        assert error.miss == exercise_2.name_belief(one, belief)
        if belief:
            assert " ".join(belief.says.split()) in " ".join(str(error).split())
            assert error.miss in exercise_2.EXERCISE.misses
            assert hint("L14.E2").startswith("Hint for this answer: ")


def test_the_answers_of_one_set_are_not_those_of_another() -> None:
    known = {name: letter for name, letter in answer_set(1).items() if name != "set"}
    for number in range(2, 8):
        catch_wrong_answer("L14.E2", {**known, "set": number})


@pytest.mark.parametrize(
    ("exercise", "answer", "kind", "says"),
    [
        ("L14.E1", 5, WrongType, "a dict with a dict for each machine"),
        ("L14.E1", {"Kafka": "one log"}, WrongType, "For Kafka you give"),
        ("L14.E1", {"Oracle": {"blocks": "nobody"}}, WrongValue, "There is no cell 'Oracle, blocks'"),
        ("L14.E1", {m: dict.fromkeys(COLUMNS, "") for m in MODELS}, WrongAnswer, "still blank"),
        ("L14.E2", "", WrongAnswer, "still blank"),
        ("L14.E2", {**EMPTY, "set": 1}, WrongAnswer, "still blank"),
        ("L14.E2", ["a"] * 8, WrongType, "a letter for each question"),
        ("L14.E2", {"set": 0}, WrongValue, "A set has a number"),
        ("L14.E2", {"set": 1, 1: "a"}, WrongValue, "are missing"),
        ("L14.E2", {**EMPTY, "set": 1, 3: "f"}, WrongValue, "no word of this exercise"),
        ("L14.E2", {**EMPTY, "set": 1, 1: "a"}, WrongAnswer, "has no answer yet"),
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
