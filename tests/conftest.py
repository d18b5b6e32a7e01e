"""What all tests share: where the project lies, and how a missing program is met."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "browser": ("chromium", "chromium-browser", "google-chrome"),
    "dot": ("dot",),
    "java": ("java",),
}


def pytest_configure() -> None:
    """Notebooks that the tests run see this environment's kernels and settings, not those of the user's home."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        folder = Path(sys.prefix) / "jupyter" / "tests" / name.lower()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(folder)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """A function from a need ("browser", "dot", "java") to the path of a program that meets it.

    Where none is on the PATH the test is skipped, or fails if KAFKALAB_REQUIRE names the need.
    """

    def find(need: str) -> str:
        path = next(filter(None, map(shutil.which, PROGRAMS[need])), None)
        if path is None:
            reason = f"no {PROGRAMS[need][0]} on the PATH"
            if need in os.environ.get("KAFKALAB_REQUIRE", "").split(","):
                pytest.fail(f"{reason}, and KAFKALAB_REQUIRE asks for it")
            pytest.skip(reason)
        return path

    return find
