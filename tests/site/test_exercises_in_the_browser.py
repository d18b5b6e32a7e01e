"""An article's exercises and words in Chromium and Firefox: answers are judged, and words explained, in the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import SHOW_WITHIN_MS, console_errors
from tests.site.test_book_in_the_browser import address, browser, page, playwright
from tests.site.test_exercises import collect_answers

__all__ = ["address", "browser", "console_errors", "page", "playwright"]
pytestmark = [pytest.mark.browser, pytest.mark.site]
LAB = "03_a_full_commit"
"""Its exercises are a table and an order."""
PHONE = 390


@pytest.fixture
def article(address: str) -> str:
    """The article's address."""
    return f"{address}labs/{LAB}.html"


def form(page: Page, name: str) -> Locator:
    """Return an exercise's form, once the page has it."""
    element = page.locator(f"kafka-exercise[name='{name}']")
    element.scroll_into_view_if_needed()
    expect(element.locator("form")).to_be_visible()
    return element


def fill(table: Locator, words: dict[int, str]) -> None:
    """Choose a word in each row."""
    for place, word in enumerate(words.values()):
        table.locator("select").nth(place).select_option(word)


def tap(word: Locator) -> None:
    """Touch a word; Playwright's own tap gives a system's Firefox no event."""
    if word.page.context.browser and word.page.context.browser.browser_type.name == "firefox":
        word.dispatch_event("pointerdown", {"pointerType": "touch"})
        word.dispatch_event("click")
    else:
        word.tap()


def test_a_wrong_table_names_its_belief_and_shows_a_run_that_refutes_it(article: str, page: Page) -> None:
    page.goto(article)
    table, right = form(page, "L3.E1"), collect_answers()["L3.E1"]
    table.get_by_role("button", name="Check").click()
    expect(table.locator(".said")).to_contain_text("Still blank: row 1, 2")
    fill(table, {**right, 3: "aborted", 4: "aborted", 7: "aborted"})
    table.get_by_role("button", name="Check").click()
    said = table.locator(".said")
    expect(said).to_contain_text("7 of 10 rows are right.")
    expect(said).to_contain_text("Three of your rows fit one belief: the crash of a broker ends the transaction.")
    expect(said).to_contain_text('where you say "aborted"')
    expect(table.locator("select[aria-invalid=true]")).to_have_count(1)
    expect(table.locator("kafka-run .klab.sequence")).to_be_visible()
    expect(table.locator(".solved")).to_have_count(0)
    fill(table, right)
    expect(said).to_be_hidden()
    table.get_by_role("button", name="Check").click()
    expect(said).to_contain_text("10 of 10 rows")
    expect(table.locator(".solved")).to_be_visible()
    page.reload()
    again = form(page, "L3.E1")
    expect(again.locator(".solved")).to_be_visible()
    assert again.locator("select").first.input_value() == right[1]


def test_an_order_is_made_with_the_keyboard_and_keeps_the_focus(article: str, page: Page) -> None:
    page.goto(article)
    order, right = form(page, "L3.E2"), collect_answers()["L3.E2"]
    given = order.locator(".item > span").all_inner_texts()
    assert sorted(given) == sorted(right)
    order.get_by_role("button", name="Check").click()
    expect(order.locator(".said")).to_contain_text("neighbouring pairs are in order")
    expect(order.locator("kafka-run .klab.sequence")).to_be_visible()
    for place, name in enumerate(right):
        now = order.locator(".item > span").all_inner_texts()
        if now.index(name) > place:
            order.get_by_role("button", name=f"Move {name} up", exact=True).focus()
        for _ in range(now.index(name) - place):
            page.keyboard.press("Enter")
        if place == 0:  # it can go no further up
            expect(order.get_by_role("button", name=f"Move {name} down", exact=True)).to_be_focused()
    expect(order.locator(".moved")).to_contain_text(" of 8.")
    assert order.locator(".item > span").all_inner_texts() == right
    order.get_by_role("button", name="Check").click()
    expect(order.locator(".said.right")).to_contain_text("8 of 8 in order")


def test_without_storage_and_https_an_answer_is_judged_and_nothing_fails(
    article: str, page: Page, console_errors: list[str]
) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('it is switched off') }})"
    page.add_init_script("Object.defineProperty(crypto, 'subtle', {value: undefined})")
    page.add_init_script(f"if (location.pathname.endsWith('{LAB}.html')) {refuse}")
    page.goto(article)
    table = form(page, "L3.E1")
    console_errors.clear()  # the theme's own
    fill(table, collect_answers()["L3.E1"])
    table.get_by_role("button", name="Check").click()
    expect(table.locator(".solved")).to_be_visible()


def test_without_scripts_the_rows_hints_and_the_way_to_the_notebook_are_there(article: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(article)
    box = page.locator(".exercise", has=page.locator("kafka-exercise[name='L3.E1']"))
    assert box.locator("kafka-exercise > ol > li").count() == len(collect_answers()["L3.E1"])
    first, second = box.locator("summary", has_text="Hint 1 of 3"), box.locator("summary", has_text="Hint 2 of 3")
    expect(second).to_be_hidden()
    first.click()
    expect(second).to_be_visible()
    link = box.get_by_role("link", name="Open this exercise as a notebook")
    assert link.get_attribute("href") == f"../jupyter/notebooks/index.html?path=labs/{LAB}.ipynb#cell-id=e1-answer"
    context.close()


def test_a_word_explains_itself_with_the_focus_under_the_mouse_and_moves_nothing(article: str, page: Page) -> None:
    page.goto(article)
    expect(page.locator("kafka-run.live").first).to_be_attached()
    page.wait_for_timeout(1000)  # the pictures around the word have loaded, and move nothing any more
    word, card = page.locator("a.term").first, page.locator(".term-card")
    sentence = word.get_attribute("data-english")
    assert sentence
    expect(word).to_have_accessible_description(sentence)
    height = page.evaluate("document.documentElement.scrollHeight")
    word.focus()
    expect(card).to_contain_text(sentence)
    assert page.evaluate("document.documentElement.scrollHeight") == height
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.locator("article h1").click()
    word.hover()
    expect(card).to_be_visible()
    card.hover()
    expect(card.get_by_role("link", name="in the glossary")).to_be_visible()
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()


def test_a_tap_shows_the_word_and_a_second_one_follows_it(article: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": PHONE, "height": 844}, has_touch=True, locale="zh-CN")
    page = context.new_page()
    page.goto(article)
    word, card = page.locator("a.term").first, page.locator(".term-card")
    tap(word)
    expect(card).to_be_visible()
    expect(card.locator("[lang=zh]")).to_have_text(str(word.get_attribute("data-chinese")))
    box = card.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE
    assert page.url == article
    tap(word)
    page.wait_for_url("**/glossary.html*", timeout=SHOW_WITHIN_MS)
    context.close()


def test_on_a_phone_forms_fit(article: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": PHONE, "height": 844})
    page = context.new_page()
    page.goto(article)
    for name in ("L3.E2", "L3.E1"):
        one = form(page, name)
        one.get_by_role("button", name="Check").click()
        expect(one.locator(".said")).to_be_visible()
        assert one.evaluate("it => it.scrollWidth <= it.clientWidth")
        ends = one.evaluate("it => [...it.querySelectorAll('form *')].map(e => e.getBoundingClientRect().right)")
        assert max(ends) <= PHONE
    context.close()
