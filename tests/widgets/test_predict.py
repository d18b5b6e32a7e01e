"""Prediction cards: asked before a walk, kept, told after it; the first telling counts; nothing gives it away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.predict import ASKED, COMPARE, EXPLAIN, KEPT, Predict, Score

CHOICES = {"a": "It commits", "b": "It aborts", "c": "It hangs"}
BECAUSE = "The decision is in the log already."


@pytest.fixture(autouse=True)
def _no_cards() -> Iterator[None]:
    Predict.cards.clear()
    yield
    Predict.cards.clear()


def card(**more: Any) -> Predict:
    return Predict("What becomes of it?", **{"choices": CHOICES, "answer": "a", "because": BECAUSE, **more})


def test_an_answer_is_kept_and_told_only_when_it_is_asked_what_happened() -> None:
    predict = card()
    assert predict.text().splitlines()[-1] == ASKED
    assert predict.score_text == "0 of 1 right, 1 still open"
    predict.press("choose", "b")
    predict.press("choose", "a")
    assert predict.text().splitlines() == [
        "Predict: What becomes of it?", " • a) It commits", "   b) It aborts", "   c) It hangs",
        KEPT.format("a"),
    ]  # fmt: skip
    predict.press("tell")
    assert predict.text().splitlines() == [
        "Predict: What becomes of it?", " ✓ a) It commits", "   b) It aborts", "   c) It hangs",
        "Your answer, a, is right.", BECAUSE, "1 of 1 right",
    ]  # fmt: skip


def test_a_wrong_answer_is_told_and_only_the_first_telling_counts() -> None:
    predict = card()
    predict.press("choose", "b")
    predict.press("tell")
    assert " ✕ b) It aborts" in predict.text()
    assert "Your answer, b, is wrong. It is a." in predict.text()
    for action in ("choose", "tell"):
        with pytest.raises(ValueError, match=r'press\("again"\) asks once more'):
            predict.press(action, "a")
    predict.press("again")
    assert (predict.verdict, predict.truth, predict.because, predict.now) == ("", "", "", ASKED)
    predict.press("choose", "a")
    predict.press("tell")
    assert (predict.verdict, Predict.score()) == ("right", Score(0, 1, 0))


def test_a_card_is_complete_in_its_first_state(monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[dict[str, Any]] = []
    monkeypatch.setattr(Predict, "open", lambda widget: first.append(widget.get_state(["now", "score_text"])))
    card()
    assert first == [{"now": ASKED, "score_text": "0 of 1 right, 1 still open"}]


def test_verdict_reason_and_score_are_sent_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    predict, sent = card(), list[set[str]]()
    predict.press("choose", "b")
    monkeypatch.setattr(Predict, "send_state", lambda _, key: sent.append({key} if isinstance(key, str) else {*key}))
    predict.press("tell")
    assert sent == [{"verdict", "truth", "because", "now", "score_text"}]


def test_numbers_and_words_are_compared_kindly() -> None:
    number, word = Predict("Epoch?", answer=2), Predict("State?", answer=["Prepare Commit", "PrepareCommit"])
    with pytest.raises(ValueError, match="a number is asked for, not 'two'"):
        number.press("answer", "two")
    number.press("answer", " 2.0 ")
    word.press("answer", "preparecommit")
    assert str(Predict.score()) == "0 of 2 right, 2 still open"
    number.press("tell")
    word.press("tell")
    assert str(Predict.score()) == "2 of 2 right"
    assert number.score_text == "2 of 2 right"


def test_a_card_run_again_takes_the_place_of_the_one_before() -> None:
    first = card()
    first.press("choose", "b")
    first.press("tell")
    assert Predict.score() == Score(0, 1, 0)
    card()
    assert Predict.score() == Score(0, 0, 1)


def test_before_it_is_told_nothing_that_is_sent_or_saved_gives_it_away() -> None:
    predict = card()
    predict.press("choose", "b")
    state = str({k: v for k, v in predict.get_state().items() if k != "_esm"})
    assert BECAUSE not in state
    assert predict.truth == ""
    predict.press("tell")
    assert BECAUSE not in predict.svg()
    assert "✓" not in predict.svg()
    assert "It commits" in predict.svg()


def test_a_sealed_card_hides_the_answer_in_the_cell_and_a_changed_seal_is_refused() -> None:
    token = Predict.seal("a", BECAUSE)
    assert BECAUSE not in token
    predict = card(answer=None, because="", sealed=token)
    predict.press("choose", "a")
    predict.press("tell")
    assert (predict.verdict, predict.because) == ("right", BECAUSE)
    for wrong in (token[:-3], token[:20] + "A" + token[21:], "sealed", "a"):
        with pytest.raises(ValueError, match="this seal was cut or changed"):
            card(answer=None, sealed=wrong)


MODEL = "The coordinator has decided once PrepareCommit is in every in-sync replica."
CRITERIA = ("It names the coordinator.", "It names PrepareCommit.", "It says in which logs.")
SENTENCE = "Once the log has PrepareCommit, it is decided."


def ask_for_sentence(**more: Any) -> Predict:
    return Predict("When is it decided?", **{"answer": MODEL, "because": BECAUSE, "criteria": CRITERIA, **more})


@pytest.mark.parametrize("sealed", [False, True])
def test_a_sentence_is_compared_with_a_model_answer_and_earns_no_points(sealed: bool) -> None:
    token = Predict.seal(MODEL, BECAUSE, CRITERIA)
    other = card()
    asks = Predict("When is it decided?", sealed=token) if sealed else ask_for_sentence()
    assert asks.seal_answer() == token
    assert asks.text().splitlines() == ["In one sentence: When is it decided?", EXPLAIN]
    asks.press("answer", f"  {SENTENCE} ")
    assert asks.text().splitlines() == [
        "In one sentence: When is it decided?", f"Your sentence: {SENTENCE}", f"A model answer: {MODEL}", COMPARE,
        *(f" ☐ {criterion}" for criterion in CRITERIA), BECAUSE,
    ]  # fmt: skip
    asks.press("tick", "2")
    asks.press("tick", "0")
    asks.press("tick", "2")
    assert (asks.ticked, asks.verdict, asks.score_text) == ([0], "compared", "")
    assert (Predict.score(), other.score_text) == (Score(0, 0, 1), "0 of 1 right, 1 still open")
    asks.press("again")
    assert (asks.given, asks.truth, asks.criteria, asks.ticked, asks.now) == ("", "", [], [], EXPLAIN)


def test_before_a_sentence_is_given_nothing_that_is_sent_says_what_it_should_hold() -> None:
    asks = ask_for_sentence()
    state = str({k: v for k, v in asks.get_state().items() if k != "_esm"}) + asks.svg()
    assert not any(text in state for text in (MODEL, BECAUSE, *CRITERIA))
    assert "A sentence is asked for." in asks.svg()


@pytest.mark.parametrize(
    ("action", "target", "message"),
    [
        ("answer", "when it is", "write a whole sentence first"),
        ("answer", " ", "type an answer first"),
        ("tick", "0", "this card is not told yet"),
        ("tell", "", "no action 'tell'; there are answer, tick, again"),
    ],
)
def test_a_press_that_no_sentence_takes_says_what_to_do(action: str, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask_for_sentence().press(action, target)


def test_only_a_criterion_can_be_ticked_and_only_of_a_sentence() -> None:
    asks = ask_for_sentence()
    asks.press("answer", SENTENCE)
    with pytest.raises(ValueError, match="no criterion '3'; there are 0 to 2"):
        asks.press("tick", "3")
    with pytest.raises(ValueError, match='press\\("again"\\) asks once more'):
        asks.press("answer", SENTENCE)
    with pytest.raises(ValueError, match="no action 'tick'"):
        card().press("tick", "0")


@pytest.fixture
def walked() -> tuple[Journey, int]:
    """A journey, and the step of it that a card is about."""
    journey = Journey(lab03())
    journey.press("end")
    return journey, journey.payload["frames"]["EndTxn#1"]["sent"]


def test_the_cursor_waits_before_the_step_and_goes_there_when_the_card_tells(walked: tuple[Journey, int]) -> None:
    journey, step = walked
    predict = card(journey=journey, step=step)
    assert journey.step < step
    predict.press("choose", "c")
    assert journey.step < step
    predict.press("tell")
    assert journey.step == step


def test_a_walk_that_reaches_the_step_tells_an_answer_that_is_kept(walked: tuple[Journey, int]) -> None:
    journey, step = walked
    predict = card(journey=journey, step=step)
    journey.press("right")
    assert (journey.step >= step, predict.verdict) == (True, "")  # nothing was answered yet
    journey.press("left")
    predict.press("choose", "a")
    journey.press("right")
    assert (predict.verdict, predict.because) == ("right", BECAUSE)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"answer": None}, "a card needs its answer"),
        ({"answer": "d"}, "the answer 'd' is none of the choices a, b, c"),
        ({"size": "wall"}, "size is 'laptop' or 'projector'"),
    ],
)
def test_a_card_that_cannot_be_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        card(**more)


@pytest.mark.parametrize(
    ("action", "target", "message"),
    [
        ("choose", "d", "no choice 'd'; there are a, b, c"),
        ("guess", "a", "no action 'guess'; there are choose, answer, tell, again"),
        ("tell", "", "answer first; then the card tells"),
        ("again", "", "this card is not told yet"),
    ],
)
def test_a_press_that_cannot_be_says_what_to_do(action: str, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        card().press(action, target)
