"""A server that is killed under load loses nothing that it acknowledged; `python -m tests.wire.kills` does so often."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize("options", [("--profile", "4.x/TV2"), ("--fsync", "--profile", "4.x/TV1")])
def test_three_kills_lose_nothing(options: tuple[str, ...]) -> None:
    """In a process of its own, with all the threads of clients that were left behind."""
    command = [sys.executable, "-m", "tests.wire.kills", "--times", "3", "--seed", "7", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert (run.returncode, run.stdout[:8], " 0 wrong" in run.stdout) == (0, "3 kills ", True), run.stdout + run.stderr
