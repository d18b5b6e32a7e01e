"""The incident room in JupyterLab: run its first cell, paste, and read the command; the picture below follows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.diagnose.test_hanging import ABORT, HANGING

pytestmark = pytest.mark.browser


def test_pasted_lines_are_read_by_the_kernel(open_lab: Callable[[str], Page]) -> None:
    page = open_lab("95_incident_room")
    page.locator(".jp-Cell.jp-CodeCell").first.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    room = page.locator(".klab.incident_room")
    expect(room.locator(".finding .mark").first).to_have_text("certain")
    room.locator(".pasted").fill(HANGING)
    room.locator('[data-action="read"]').click()
    expect(room.locator(".finding .act")).to_have_text(ABORT)
    expect(room.locator(".where")).to_have_text("what you paste stays here")
