"""A server that is killed under load loses nothing that it acknowledged; `python -m tests.wire.kills` does so often."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("confluent_kafka")


def test_a_sequence_that_a_client_used_twice_is_told_from_a_loss() -> None:
    from tests.wire.kills import Worker, find_reused

    worker = Worker("w0", "", 0)
    worker.acknowledged = {"w0-3-0": (0, 5), "w0-4-0": (0, 6), "w0-5-0": (0, 7), "w0-6-0": (0, 8)}
    places = {(0, 5): "w0-2-0", (0, 6): "w0-4-0", (0, 7): "w1-5-0"}
    assert find_reused(worker, places) == ["w0-3-0"]


@pytest.mark.parametrize("options", [("--cluster-level", "2"), ("--fsync", "--cluster-level", "1")])
def test_three_kills_lose_nothing(options: tuple[str, ...]) -> None:
    """In a process of its own, with all the threads of clients that were left behind."""
    command = [sys.executable, "-m", "tests.wire.kills", "--times", "3", "--seed", "7", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert (run.returncode, run.stdout[:8], " 0 wrong" in run.stdout) == (0, "3 kills ", True), run.stdout + run.stderr
