"""A wrong table names the belief that it fits; where none fits, it says nothing of which rows are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkalab.grading.beliefs import Diagnosis, describe_fit, diagnose
from kafkalab.grading.check import find
from kafkalab.grading.exercise import EXERCISES, Belief, WrongAnswer
from kafkalab.grading.forms import Form, Told
from tests.grading.told import hold, table_of, words_of

TABLES = [name for name in EXERCISES if isinstance(form := find(name).check, Form) and form.kind == "table"]
FIXED = [name for name in TABLES if find(name).question is None]
"""Tables that ask the same rows whatever the seed."""
WITH_SENTENCES = ["L1.E1", "L3.E1", "L7.E2", "L9.E3", "L10.E2", "L11.E1", "L12.E4", "L14.E1"]
DIAGNOSES = Path(__file__).parents[2] / "pictures" / "test" / "diagnoses.json"


def right_answer(name: str) -> dict[Any, str]:
    return {row: word for (row, word), told in words_of(name).items() if not told.wrong}


# diagnose


AB = {"a": "A", "b": "B"}


@pytest.mark.parametrize(
    ("given", "right", "belief", "explained"),
    [
        ("aax", (False, False, False), "A", (0, 1)),
        ("abx", (False, False, False), "A", (0,)),  # of two that explain as much, the first
        ("aaa", (False, False, False), "A", (0, 1, 2)),
        ("acc", (False, True, True), "", ()),  # two right rows deny it
        ("aca", (False, True, False), "", ()),  # two rows fit, one denies: not more than twice as many
        ("xxx", (False, False, False), "", ()),
    ],
)
def test_a_belief_explains_most_wrong_rows_and_right_ones_do_not_deny_it(
    given: str, right: tuple[bool, ...], belief: str, explained: tuple[int, ...]
) -> None:
    found = diagnose([AB, AB, AB], given, right)
    assert (found.belief, found.explained) == (belief, explained)
    assert found.shown == (explained[0] if explained else found.shown)


def test_a_belief_that_explains_less_than_a_third_is_not_named() -> None:
    rows = [{"a": "A"}, {}, {}, {}]
    assert diagnose(rows, "axxx", (False,) * 4).belief == ""
    assert diagnose(rows, "axxr", (False, False, False, True)) == Diagnosis("A", (0,), 0)


def test_a_value_that_is_no_key_has_no_belief() -> None:
    assert diagnose([{}], [[1]], (False,)).belief == ""


def test_where_no_belief_fits_the_row_to_look_at_may_be_right() -> None:
    random, shown = Random(1), []
    for _ in range(400):
        given = "".join(random.choice("xyz") for _ in range(6))
        shown.append(given[diagnose([{}] * 6, given, [word == "x" for word in given]).shown] == "x")
    assert 40 < sum(shown) < 160


def test_how_many_rows_fit_is_written_as_a_word() -> None:
    assert describe_fit(1, "cell") == "One of your cells fits one belief"
    assert describe_fit(12, "row") == "12 of your rows fit one belief"


# the course's tables


@pytest.mark.parametrize("name", FIXED)
def test_each_belief_of_a_table_is_named_to_the_learner_who_holds_it(name: str) -> None:
    exercise = find(name)
    held = {told.belief for told in words_of(name).values()} - {""}
    assert held == set(exercise.misses) if exercise.question is None else held <= set(exercise.misses)  # drawn by seed
    for belief in held:
        error = hold(name, belief)
        assert (error.miss, "where you say" in str(error)) == (belief, True)
        assert exercise.hint_for(belief)
        found = exercise.misses[belief]
        assert f"fit one belief: {found.says if isinstance(found, Belief) else belief}." in str(error).replace(
            "fits", "fit"
        )


@pytest.mark.parametrize("name", WITH_SENTENCES)
def test_a_belief_is_a_sentence_of_its_own(name: str) -> None:
    for belief, found in find(name).misses.items():
        assert isinstance(found, Belief), belief
        assert found.says[-1] not in ".?!"
        assert found.says[0].islower() or found.says.split()[0] in ("Kafka", "Kafka's", "PrepareCommit")


@pytest.mark.parametrize("name", TABLES)
def test_each_row_can_be_looked_at_and_a_right_word_is_never_called_wrong(name: str) -> None:
    for (row, word), told in words_of(name).items():
        place = ", ".join(map(str, row)) if isinstance(row, tuple) else row
        assert f' {place}, where you say "{word}": ' in told.refutes
        assert f" {place}, which may be right or wrong: " in told.look
        assert not (told.belief and not told.wrong)
        assert not (told.denies and told.wrong)


@pytest.mark.parametrize("name", TABLES)
def test_one_wrong_word_alone_is_shown_only_if_nothing_denies_its_belief(name: str) -> None:
    right = right_answer(name)
    for (row, word), told in words_of(name).items():
        if not told.wrong:
            continue
        with pytest.raises(WrongAnswer) as caught:
            table_of(name).check({**right, row: word})
        others = [words_of(name)[pair] for pair in right.items() if pair[0] != row]
        denied = any(told.belief in other.denies for other in others)
        assert caught.value.miss == ("" if denied else told.belief)
        assert ("which may be right or wrong" in str(caught.value)) is (not caught.value.miss)


@pytest.mark.parametrize("name", WITH_SENTENCES)
def test_random_guesses_are_seldom_told_of_a_belief(name: str) -> None:
    told, random, misses = words_of(name), Random(name), []
    rows = [blank.name for blank in table_of(name).blanks()]
    for _ in range(300):
        given = [random.choice([word for row, word in told if row == one]) for one in rows]
        said = [told[pair] for pair in zip(rows, given, strict=True)]
        misses.append(_diagnose_told(said, given).belief)
    assert sum(map(bool, misses)) < 190


def _diagnose_told(said: list[Told], given: list[str]) -> Diagnosis:
    """What the book's page makes of the same texts, in Python's words."""
    rows = [{word: one.belief} if one.belief else dict.fromkeys(one.denies, "") | {d: d for d in one.denies}
            for one, word in zip(said, given, strict=True)]  # fmt: skip
    return diagnose(rows, given, [not one.wrong for one in said])


def test_the_book_finds_the_same_beliefs() -> None:
    cases = json.loads(DIAGNOSES.read_text(encoding="utf-8"))
    assert len(cases) == 60
    assert cases == [_case(number) for number in range(60)], "write it again: python -m tests.grading.test_beliefs"
    assert len({case["belief"] for case in cases}) == 4


def _case(number: int) -> dict[str, Any]:
    """A table of six rows with three beliefs, as it is judged in the book, and what is found."""
    random = Random(number)
    misses = [
        {word: belief for word, belief in zip("abc", "ABC", strict=True) if random.random() < 0.6} for _ in range(6)
    ]
    given = (
        ["".join(random.choice("abcr")) for _ in range(6)] if number % 2 else [random.choice("aar") for _ in range(6)]
    )
    found = diagnose(misses, given, [word == "r" for word in given])
    rows = [
        {
            "wrong": word != "r",
            "belief": row.get(word, ""),
            "denies": [] if word != "r" else list(row.values()),
        }
        for row, word in zip(misses, given, strict=True)
    ]
    return {
        "rows": rows, "given": given,
        "belief": found.belief, "explained": list(found.explained), "shown": found.shown,
    }  # fmt: skip


if __name__ == "__main__":
    DIAGNOSES.write_text(
        json.dumps([_case(number) for number in range(60)], separators=(",", ":")) + "\n", encoding="utf-8"
    )
