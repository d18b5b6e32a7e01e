"""Environments with nothing in them but pip, for tests that install what users install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs_found import give_up


def plain() -> dict[str, str]:
    """The environment variables without those that make this folder's kafkalab importable, or name its Jupyter."""
    ours = ("PYTHONPATH", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "KAFKALAB_PROGRESS", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in ours}


def empty_environment(place: Path) -> Path:
    """Make an environment in `place`; return it."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, timeout=120)
    return place


def pip(place: Path, *words: str, timeout_s: int = 1800) -> str:
    """Run the environment's pip; return what it prints. Without an index the test is skipped, or fails in CI."""
    command = [str(place / "bin" / "pip"), "--disable-pip-version-check", *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, env=plain())
    if "ResolutionImpossible" in run.stderr:  # the index answered, and our ranges are at fault
        pytest.fail(run.stderr)
    if run.returncode:
        give_up(f"no package index has all of {' '.join(words)}: {run.stderr.strip()}", "index")
    return run.stdout


def install(place: Path, *words: str) -> str:
    """Let the environment's pip install these."""
    return pip(place, "install", *words)
