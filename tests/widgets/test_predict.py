"""Prediction cards: asked before the step, told afterwards; the first answer counts; nothing gives the answer away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.predict import Predict, Score

CHOICES = {"a": "It commits", "b": "It aborts", "c": "It hangs"}
BECAUSE = "The decision is in the log already."


@pytest.fixture(autouse=True)
def _no_cards() -> Iterator[None]:
    Predict.cards.clear()
    yield
    Predict.cards.clear()


def card(**more: Any) -> Predict:
    return Predict("What becomes of it?", **{"choices": CHOICES, "answer": "a", "because": BECAUSE, **more})


def test_a_right_answer_is_told_with_its_reason():
    predict = card()
    assert predict.text().splitlines()[-2:] == ["Not answered yet.", "0 of 1 right, 1 still open"]
    predict.press("choose", "a")
    assert predict.text().splitlines() == [
        "Predict: What becomes of it?", " ✓ a) It commits", "   b) It aborts", "   c) It hangs",
        "Your answer, a, is right.", BECAUSE, "1 of 1 right",
    ]  # fmt: skip


def test_a_wrong_answer_is_told_and_only_the_first_counts():
    predict = card()
    predict.press("choose", "b")
    assert "Your answer, b, is wrong. It is a." in predict.text()
    with pytest.raises(ValueError, match=r'press\("again"\) asks once more'):
        predict.press("choose", "a")
    predict.press("again")
    assert (predict.verdict, predict.truth, predict.because) == ("", "", "")
    predict.press("choose", "a")
    assert (predict.verdict, Predict.score()) == ("right", Score(0, 1, 0))


def test_numbers_and_words_are_compared_kindly():
    number, word = Predict("Epoch?", answer=2), Predict("State?", answer=["Prepare Commit", "PrepareCommit"])
    with pytest.raises(ValueError, match="a number is asked for, not 'two'"):
        number.press("answer", "two")
    number.press("answer", " 2.0 ")
    word.press("answer", "preparecommit")
    assert str(Predict.score()) == "2 of 2 right"
    assert number.score_text == "2 of 2 right"


def test_a_card_run_again_takes_the_place_of_the_one_before():
    card().press("choose", "b")
    assert Predict.score() == Score(0, 1, 0)
    card()
    assert Predict.score() == Score(0, 0, 1)


def test_before_the_answer_nothing_that_is_sent_or_saved_gives_it_away():
    predict = card()
    state = str({k: v for k, v in predict.get_state().items() if k not in ("_esm", "_css")})
    assert BECAUSE not in state
    assert predict.truth == ""
    predict.press("choose", "b")
    assert BECAUSE not in predict.svg()
    assert "✓" not in predict.svg()
    assert "It commits" in predict.svg()


def test_a_sealed_card_hides_the_answer_in_the_cell_and_a_changed_seal_is_refused():
    token = Predict.seal("a", BECAUSE)
    assert BECAUSE not in token
    predict = card(answer=None, because="", sealed=token)
    predict.press("choose", "a")
    assert (predict.verdict, predict.because) == ("right", BECAUSE)
    for wrong in (token[:-3], token[:20] + "A" + token[21:], "sealed", "a"):
        with pytest.raises(ValueError, match="this seal was cut or changed"):
            card(answer=None, sealed=wrong)


def test_the_cursor_waits_before_the_step_and_goes_there_with_the_answer():
    journey = Journey(lab03())
    journey.press("end")
    step = journey.payload["frames"]["EndTxn#1"]["sent"]
    predict = card(journey=journey, step=step)
    assert journey.step < step
    predict.press("choose", "c")
    assert journey.step == step


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"answer": None}, "a card needs its answer"),
        ({"answer": "d"}, "the answer 'd' is none of the choices a, b, c"),
        ({"size": "wall"}, "size is 'laptop' or 'projector'"),
    ],
)
def test_a_card_that_cannot_be_is_refused(more: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        card(**more)


@pytest.mark.parametrize(
    ("action", "target", "message"),
    [
        ("choose", "d", "no choice 'd'; there are a, b, c"),
        ("guess", "a", "no action 'guess'; there are choose, answer, again"),
        ("again", "", "this card is not answered yet"),
    ],
)
def test_a_press_that_cannot_be_says_what_to_do(action: str, target: str, message: str):
    with pytest.raises(ValueError, match=message):
        card().press(action, target)
