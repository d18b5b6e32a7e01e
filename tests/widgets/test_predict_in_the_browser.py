"""Prediction cards in Chromium: nothing is told before the press; then the screen says what the text says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from kafkalab.widgets.views.predict import Predict
from tests.widgets.live import Live
from tests.widgets.test_predict import BECAUSE, CHOICES, CRITERIA, MODEL, SENTENCE, ask_for_sentence

pytestmark = pytest.mark.browser
SIGNS = """() => [...document.querySelectorAll(".choice")].map((e) =>
  [e.querySelector("b").textContent, e.querySelector("i").textContent])"""


@pytest.fixture(autouse=True)
def _no_cards() -> Iterator[None]:
    Predict.cards.clear()
    yield
    Predict.cards.clear()


def same(page: Page, card: Predict) -> None:
    """Question, choices with their signs, verdict, reason and score are those of the text twin."""
    lines = card.text().splitlines()
    assert page.locator(".predict .asked").inner_text() == card.question
    signs = page.evaluate(SIGNS)
    for key, sign in signs:
        assert f" {sign or ' '} {key}) {card.choices[key]}" in lines
    assert page.locator(".predict .now").inner_text() in lines
    expect(page.locator('[data-action="tell"]')).to_be_visible(visible=not card.verdict)
    if card.verdict:
        assert page.locator(".predict .because").inner_text() == card.because
    else:
        assert BECAUSE not in page.content()
        expect(page.locator(".predict .after")).to_be_hidden()
    assert page.locator(".predict .where").inner_text() == card.score_text


@pytest.mark.smoke
@pytest.mark.parametrize("how", ["click", "key"])
def test_a_choice_is_kept_and_then_told(page: Page, how: str, console_errors: list[str]) -> None:
    card = Predict("What becomes of it?", CHOICES, "a", BECAUSE, size="projector")
    live = Live(page, card)
    same(page, card)
    tell = page.locator('[data-action="tell"]')
    expect(tell).to_have_attribute("aria-disabled", "true")
    if how == "click":
        page.locator('[data-action="choose"][data-target="b"]').click()
    else:
        page.locator(".predict").focus()
        page.keyboard.press("b")
    live.settle()
    assert (card.given, card.verdict) == ("b", "")
    same(page, card)
    expect(tell).to_have_attribute("aria-disabled", "false")
    if how == "click":
        tell.click()
    else:
        page.keyboard.press("!")
    live.settle()
    assert card.verdict == "wrong"
    same(page, card)
    other = page.locator('[data-action="choose"][data-target="a"]')
    expect(other).to_have_attribute("aria-disabled", "true")
    page.locator('[data-action="again"]').click()
    live.settle()
    same(page, card)
    other.click()
    live.settle()
    tell.click()
    live.settle()
    assert (card.verdict, str(Predict.score())) == ("right", "0 of 1 right")
    same(page, card)
    assert console_errors == []


def test_a_number_is_typed(page: Page, console_errors: list[str]) -> None:
    card = Predict("Which epoch?", answer=2, because=BECAUSE)
    live = Live(page, card)
    same(page, card)
    page.locator(".typed").fill("two")
    page.locator(".typed").press("Enter")
    expect(page.locator(".now")).to_have_text("A number is asked for, not 'two'.")
    page.locator(".typed").fill("2")
    page.locator('[data-action="answer"]').click()
    live.settle()
    same(page, card)
    page.locator('[data-action="tell"]').click()
    live.settle()
    assert card.verdict == "right"
    same(page, card)
    assert console_errors == []


def test_a_sentence_is_written_compared_and_ticked(page: Page, console_errors: list[str]) -> None:
    card = ask_for_sentence()
    live = Live(page, card)
    expect(page.locator(".predict h3")).to_have_text("In one sentence")
    assert page.locator(".predict .where").inner_text() == ""
    box, now = page.get_by_role("textbox", name="Your sentence"), page.locator(".predict .now")
    box.fill("too short")
    box.press("Enter")
    expect(now).to_have_text("Write a whole sentence first.")
    assert MODEL not in page.content()
    box.fill(SENTENCE)
    box.press("Enter")
    live.settle()
    expect(now).to_have_text(card.now)
    expect(page.locator(".predict .model")).to_have_text(f"A model answer: {MODEL}")
    expect(page.get_by_role("button", name="Compare with a model answer")).to_be_hidden()
    ticks = page.locator("[data-action=tick]")
    expect(ticks).to_have_text([f"☐ {criterion}" for criterion in CRITERIA])
    ticks.nth(1).click()
    live.settle()
    assert card.ticked == [1]
    expect(ticks.nth(1)).to_have_text(f"☑ {CRITERIA[1]}")
    expect(ticks.nth(1)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="ask me again").click()
    live.settle()
    expect(box).to_have_value("")
    expect(box).to_be_editable()
    assert console_errors == []


def test_texts_are_shown_as_text(page: Page) -> None:
    evil = '<img src=x onerror="document.title=1">'
    Live(page, Predict(evil, {"a": evil}, "a", evil))
    page.keyboard.press("Tab")
    assert page.locator("img").count() == 0
