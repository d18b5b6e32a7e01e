"""The programs beside Python that tests use, by the need that they meet, and where they lie."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

PROGRAMS = {
    "browser": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
    "dot": ("dot",),
    "java": ("java",),
    "node": ("node", "nodejs"),
    "npm": ("npm",),
    "bwrap": ("bwrap",),
}
"""By need, the best first: Chromium's headless shell takes a quarter less time than the browser itself."""


def find_program(need: str) -> str | None:
    """Return the path of the first program that meets the need, None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS[need])), None)


def give_up(why: str, *needs: str) -> NoReturn:
    """Skip the test, which needs what is not there; fail it if KAFKALAB_REQUIRE names all these needs."""
    if {*needs} <= {*os.environ.get("KAFKALAB_REQUIRE", "").split(",")}:
        pytest.fail(why)
    pytest.skip(why)
