"""The incident room in Chromium: from pasted lines to the command that ends it; samples, files, secrets, mistakes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import IncidentRoom, Sequence
from kafkalab.diagnose.report import NOTHING
from tests.browser.conftest import browser, console_errors, page
from tests.diagnose.test_hanging import ABORT, DUMP, HANGING
from tests.widgets.live import Live

__all__ = ["browser", "console_errors", "page"]
pytestmark = pytest.mark.browser
SOON_MS = 10_000


def paste(page: Page, text: str) -> None:
    """Paste over what is there, as a person does, and ask."""
    page.locator(".pasted").click()  # this selects a sample, which the text then takes the place of
    page.keyboard.insert_text(text)
    page.locator('[data-action="read"]').click()


@pytest.mark.smoke
def test_from_a_pasted_find_hanging_to_the_command_that_ends_it(page: Page, console_errors: list[str]) -> None:
    room = IncidentRoom(sample="lag")
    live = Live(page, room, Sequence(room))
    begun = time.monotonic()
    paste(page, HANGING)
    expect(page.locator(".finding").first).to_contain_text("certain")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator(".finding .act")).to_have_text(ABORT, timeout=SOON_MS)
    page.locator('.finding [data-action="copy"]').first.click()
    assert time.monotonic() - begun < 60
    expect(page.locator(".incident_room .where")).to_have_text("what you paste stays here")
    expect(page.locator(".pasted")).to_have_value(HANGING)
    page.locator('[data-action="read"]').click()
    expect(page.locator('[data-action="read"]')).to_have_attribute("aria-disabled", "false")
    live.settle()
    shown = page.locator(".klab.sequence")
    expect(shown).to_have_attribute("data-step", str(room.step))
    expect(page.locator(".nearest h4")).to_have_text("The nearest run of the lab: KAFKA-14402: The hanging transaction")
    assert console_errors == []


def test_certainty_stands_before_the_words_and_a_check_before_the_command(page: Page) -> None:
    Live(page, IncidentRoom())
    finding = page.locator(".finding").first
    words = finding.inner_text().lower()
    places = [words.index(text) for text in ("certain", "the transaction of", "check first", "ends it")]
    assert places == sorted(places)
    expect(page.locator(".incident_room .where")).to_have_text("this is a sample: paste your own lines over it")
    expect(page.locator(".strip svg")).to_have_count(1)


def test_a_sample_is_one_click_away_and_says_when_nothing_is_wrong(page: Page) -> None:
    room = IncidentRoom()
    live = Live(page, room)
    page.locator('[data-action="sample"][data-target="lag"]').click()
    expect(page.locator(".finding .mark").first).to_have_text("harmless, certain")
    live.settle()
    expect(page.locator(".pasted")).to_have_value(room.report["lines"])
    expect(page.locator(".nearest")).to_contain_text("Nothing is wrong here, so no run of the lab is looked for.")
    page.locator('[data-action="sample"][data-target="stuck"]').click()
    expect(page.locator(".finding.unknown .ask")).to_contain_text("describe-producers")
    expect(page.locator(".finding .act")).to_have_count(0)


def test_files_are_read_together_also_from_powershell(page: Page, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(HANGING, encoding="utf-16")
    (tmp_path / "b.txt").write_text(DUMP)
    room = IncidentRoom()
    live = Live(page, room)
    page.locator("input.file").set_input_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    expect(page.locator(".pasted")).to_have_value("a.txt\nb.txt")
    expect(page.locator(".finding .act")).to_have_text(ABORT)
    live.settle()
    assert [one["file"] for one in room.report["files"]] == ["a.txt", "b.txt"]


def test_lines_are_text_and_never_markup(page: Page, console_errors: list[str]) -> None:
    Live(page, IncidentRoom())
    paste(page, f"<img src=x onerror=document.title='broken'>\n{HANGING}\n{DUMP.replace('out-3', 'out<b>-3')}")
    expect(page.locator(".finding .act").first).to_have_text(ABORT)
    page.locator(".files summary").click()
    expect(page.locator(".files code").first).to_contain_text("<img src=x")
    assert page.locator(".incident_room img").count() == 0
    assert page.title() == "kafkalab"
    assert console_errors == []


def test_lines_that_say_nothing_are_told_so_and_empty_ones_are_not_sent(page: Page) -> None:
    Live(page, IncidentRoom())
    paste(page, "hello")
    expect(page.locator(".findings .none")).to_have_text(NOTHING)
    page.locator(".pasted").fill(" ")
    expect(page.locator('[data-action="read"]')).to_have_attribute("aria-disabled", "true")
    page.locator('[data-action="read"]').click(force=True)
    expect(page.locator(".incident_room .now")).to_have_text("Paste some lines first.")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen_and_readers_wait_in_view(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    Live(page, IncidentRoom())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    strip, waits = page.locator(".strip").bounding_box(), page.locator(".strip path").bounding_box()
    assert strip is not None
    assert waits is not None
    assert strip["x"] <= waits["x"] <= strip["x"] + strip["width"]
