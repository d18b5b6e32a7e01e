"""The system's Firefox, driven by Playwright as Chromium is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Playwright

from tests.browser.firefox_relay import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
CHANNEL = "moz-firefox"
"""Playwright's name for a Firefox that it has not built itself; it speaks WebDriver BiDi with it."""
RELAY = "tests.browser.firefox_relay"
START_WITHIN_MS = 60_000


@contextmanager
def firefox(
    playwright: Playwright, program: str, preferences: dict[str, str | float | bool] | None = None
) -> Iterator[Browser]:
    """Start Firefox without a window, in an empty profile with these preferences; it ends with the block."""
    with TemporaryDirectory() as folder:
        relay = Path(folder, "firefox")
        relay.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {RELAY} "$@"\n')
        relay.chmod(0o700)
        browser = playwright.firefox.launch(
            channel=CHANNEL,
            executable_path=relay,
            env={**os.environ, PROGRAM: program, "PYTHONPATH": str(ROOT)},
            firefox_user_prefs=preferences or {},
            timeout=START_WITHIN_MS,
        )
        try:
            yield browser
        finally:
            browser.close()
