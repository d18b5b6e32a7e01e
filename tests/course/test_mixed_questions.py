"""Mixed questions: L5.E4 over labs 0 to 5, L14.E2 over the whole course; one way to draw, to answer and to judge."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab05.exercise_4 import MIXED as LABS_0_TO_5
from kafkalab.course.lab14.exercise_2 import MIXED as WHOLE_COURSE
from kafkalab.grading.check import check, find, hint, question
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.mixed import LETTERS, MOST, Mixed, number_of
from kafkalab.grading.seeds import VARIABLE
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import catch_wrong_answer

pytestmark = [
    pytest.mark.usefixtures("no_hints_given"),
    pytest.mark.parametrize("mixed", [LABS_0_TO_5, WHOLE_COURSE], ids=lambda mixed: mixed.exercise),
]


def answer_set(mixed: Mixed, number: int) -> dict[Any, Any]:
    """Return the right letters of a set."""
    return {"set": number, **{fact.name: LETTERS[fact.words.index(fact.truth)] for fact in mixed.draw(number)}}


@pytest.mark.parametrize("seed", ["1", "2026", "0", "-5"])
def test_the_right_letters_pass_under_every_seed(mixed: Mixed, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    asked = question(mixed.exercise)
    assert asked == mixed.open_set(asked["set"])
    for number in (asked["set"], 1):
        passed = check(mixed.exercise, answer_set(mixed, number))
        assert passed == f"{mixed.exercise} ✓ {mixed.count} of {mixed.count} questions"


def test_a_seed_has_the_set_of_its_number(mixed: Mixed) -> None:
    assert [number_of(seed) for seed in (1, 77, MOST, MOST + 1, 0)] == [1, 77, MOST, 1, MOST]


@pytest.mark.parametrize("number", range(3))
def test_each_question_has_different_choices_one_of_which_its_run_has_shown(mixed: Mixed, number: int) -> None:
    for fact in (one.fact for one in mixed.pool(number)):
        assert fact.truth in fact.words
        assert 2 <= len(set(fact.words)) == len(fact.words) <= len(LETTERS)
        assert fact.misses
        assert set(fact.misses) <= set(fact.words) - {fact.truth}
        assert set(fact.misses.values()) <= set(mixed.beliefs)
        assert fact.run is not None or fact.tried is not None


@pytest.mark.parametrize("number", range(1, 13))
def test_a_set_has_questions_from_different_sources(mixed: Mixed, number: int) -> None:
    source = {one.fact.says: one.source for one in mixed.pool(number % 10)}
    drawn = mixed.draw(number)
    assert [fact.name for fact in drawn] == list(range(1, mixed.count + 1))
    assert len({source[fact.says] for fact in drawn}) == mixed.count
    assert list(mixed.open_set(number)) == ["set", *range(1, mixed.count + 1)]
    assert mixed.draw(number) == drawn


def test_sets_ask_all_questions_and_no_letter_is_right_more_often(mixed: Mixed) -> None:
    sets = [mixed.draw(number) for number in range(1, 801)]
    assert len({tuple(fact.says for fact in drawn) for drawn in sets}) > 700
    assert {fact.says for drawn in sets for fact in drawn} >= {one.fact.says for one in mixed.pool(1)}
    first = [fact.words.index(fact.truth) == 0 for drawn in sets for fact in drawn]
    expected = sum(1 / len(fact.words) for drawn in sets for fact in drawn)
    assert abs(sum(first) - expected) < 4 * len(first) ** 0.5 / 2


@pytest.mark.parametrize("number", range(1, 7))
def test_a_wrong_letter_opens_the_run_of_its_question_and_names_the_belief(mixed: Mixed, number: int) -> None:
    for fact in mixed.draw(number):
        for letter, choice in zip(LETTERS, fact.words, strict=False):
            if choice == fact.truth:
                continue
            error = catch_wrong_answer(mixed.exercise, {**answer_set(mixed, number), fact.name: letter})
            said = " ".join(str(error).split())
            right = f"{mixed.count - 1} of {mixed.count} questions are right. Question {fact.name}: you say "
            assert right in said
            assert error.part == (mixed.count - 1) / mixed.count
            assert error.run is not None
            assert isinstance(error.run, Table) or error.step < _run(error.run).trace.steps
            belief = (fact.misses or {}).get(choice, "")
            assert error.miss == belief
            if belief:
                assert " ".join(belief.split()) in said
                assert hint(mixed.exercise).startswith("Hint for this answer: ")


def _run(run: Any) -> Cluster:
    return run if isinstance(run, Cluster) else ran(run)


def test_the_answers_of_one_set_are_not_those_of_another(mixed: Mixed) -> None:
    known = answer_set(mixed, 1)
    for number in range(2, 8):
        with pytest.raises((WrongAnswer, WrongValue)):
            check(mixed.exercise, {**known, "set": number})


def empty(mixed: Mixed) -> dict[Any, Any]:
    return {"set": 1, **dict.fromkeys(range(1, mixed.count + 1), "")}


@pytest.mark.parametrize("answer", ["", ..., None])
def test_a_blank_is_called_blank(mixed: Mixed, answer: Any) -> None:
    for blank in (answer, empty(mixed)):
        with pytest.raises(BlankAnswer, match="still blank"):
            find(mixed.exercise).check(blank)


@pytest.mark.parametrize(
    ("changed", "kind", "says"),
    [
        (None, WrongType, "a letter for each question"),
        ({"set": 0}, WrongValue, "A set has a number"),
        ({"set": MOST + 1}, WrongValue, "A set has a number"),
        ({"set": True}, WrongValue, "A set has a number"),
        ({3: "f"}, WrongValue, "no word of this exercise"),
        ({1: 5}, WrongType, "a letter for each question"),
        ({99: "a"}, WrongValue, "There is no question 99"),
        ({1: "a"}, WrongAnswer, "has no answer yet"),
        ({1: "e"}, WrongValue, "Question 1 has no choice 'e'; it has a, b, c."),
    ],
)
def test_what_is_no_answer_is_told_what_to_give(
    mixed: Mixed, changed: dict[Any, Any] | None, kind: type[Exception], says: str
) -> None:
    answer: Any = ["a"] * mixed.count if changed is None else {**empty(mixed), **changed}
    with pytest.raises(kind) as error:
        check(mixed.exercise, answer)
    assert says in " ".join(str(error.value).split())


def test_a_question_that_is_missing_is_named(mixed: Mixed) -> None:
    with pytest.raises(WrongValue, match="are missing"):
        check(mixed.exercise, {"set": 1, 1: "a"})
