"""Sixteen clients get no error; `python -m tests.wire.soak` lets them work for ten minutes, and looks at memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize("options", [(), ("--data",)], ids=["memory", "data"])
def test_sixteen_clients_get_no_error(options: tuple[str, ...]) -> None:
    """In so short a time caches still fill: growth is limited to what they may take."""
    command = [sys.executable, "-m", "tests.wire.soak", "--minutes", "0.2", "--warm", "6", "--rate", "20"]
    run = subprocess.run([*command, "--growth", "25", *options], capture_output=True, text=True, timeout=200)
    assert (run.returncode, ": 0 wrong" in run.stdout) == (0, True), run.stdout + run.stderr
