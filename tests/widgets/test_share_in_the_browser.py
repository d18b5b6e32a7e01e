"""Sharing in Chromium: what is shown, copied and saved is the text twin's; what cannot be opened changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share
from tests.widgets.live import Live

pytestmark = pytest.mark.browser


def same(page: Page, share: Share) -> None:
    expect(page.locator(".share .code")).to_have_text(share.code)
    assert page.locator(".share .python").inner_text().strip() == share.python.strip()
    assert share.cluster.trace.digest() in page.locator(".share .where").inner_text()


@pytest.mark.smoke
def test_a_code_and_a_file_are_shown_saved_and_opened(page: Page, tmp_path: Path, console_errors: list[str]) -> None:
    share = Share(lab03())
    live = Live(page, share, Sequence(share))
    same(page, share)
    share.press("drop", "EndTxn#1")
    live.push()
    same(page, share)
    with page.expect_download() as saving:
        page.locator('[data-action="save"]').click()
    saving.value.save_as(tmp_path / "saved.klab")
    assert saving.value.suggested_filename == "a_full_commit_one_frame_at.klab"
    assert (tmp_path / "saved.klab").read_text() == share.file_text
    digest, code = share.cluster.trace.digest(), share.code
    share.press("undo")
    live.push()
    page.locator("input.file").set_input_files(tmp_path / "saved.klab")
    page.wait_for_function("models.j0.get('tree').length === 3")
    live.settle()
    same(page, share)
    assert (share.cluster.trace.digest(), share.journey.tree[-1]["label"]) == (digest, "opened saved.klab")
    expect(page.locator(".share .now")).to_have_text("Shown now: A full commit, one frame at a time.")
    page.locator(".typed").fill(code.lower())
    page.locator(".typed").press("Enter")
    page.wait_for_function("models.j0.get('tree').length === 4")
    live.settle()
    same(page, share)
    assert share.cluster.trace.digest() == digest
    assert console_errors == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "A.klab is not a scenario that kafkalab saved: it is no JSON."),
        ('{"format": "someone-elses"}', "A.klab is not a scenario that kafkalab saved."),
        (json.dumps({**lab03().to_json(), "version": 2}), "A.klab is a scenario of version 2; this kafkalab reads"),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_and_the_run_stays(
    page: Page, tmp_path: Path, text: str, message: str
) -> None:
    share = Share(lab03(), size="projector")
    live = Live(page, share)
    (tmp_path / "a.klab").write_text(text)
    page.locator("input.file").set_input_files(tmp_path / "a.klab")
    expect(page.locator(".share .now")).to_contain_text(message)
    live.settle()
    same(page, share)
    assert len(share.journey.tree) == 1


def test_a_typo_in_a_code_is_told_and_the_code_stays_to_be_mended(page: Page) -> None:
    share = Share(lab03())
    live = Live(page, share)
    button = page.locator('[data-action="code"]')
    expect(button).to_have_attribute("aria-disabled", "true")
    wrong = share.code[:-1] + ("A" if share.code[-1] != "A" else "B")
    page.locator(".typed").fill(wrong)
    button.click()
    expect(page.locator(".share .now")).to_contain_text("There is a typo in the code")
    live.settle()
    expect(page.locator(".typed")).to_have_value(wrong)
    page.locator(".typed").fill("K2" + wrong[2:])
    button.click()
    expect(page.locator(".share .now")).to_contain_text("newer than this kafkalab")
    same(page, share)


def test_copying_without_a_clipboard_selects(page: Page) -> None:
    share = Share(lab03())
    Live(page, share)
    page.locator('[data-action="copy"]').click()
    expect(page.locator(".share .now")).to_contain_text("The code is ")
    assert page.evaluate("getSelection().toString()") == share.code
    page.locator(".share").focus()
    page.keyboard.press("p")
    expect(page.locator(".share .now")).to_contain_text("The python is ")
