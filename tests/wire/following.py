"""Run `kafkalab capture --follow` in a process of its own, wait for what it writes, and end it in several ways."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kafkalab.saved_data import CAPTURE

LONGEST_S = 120


@contextlib.contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command of kafkalab; what is left of it and of what it started is killed at the end.

    A shell's background processes ignore Control-C, and so do theirs: this one does not.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkalab.cli.main", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def following(servers: str, folder: Path) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Follow the topics in and out into the folder."""
    address = servers.split(",")[0]
    return command("capture", address, "--topics", "in,out", "--out", str(folder), "--quiet", "--follow")


def stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    """End it as Control-C does, with all that it started; return its status and what it said."""
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=LONGEST_S)
    return process.returncode, said


def state(folder: Path) -> dict[str, Any]:
    """Return what the capture in the folder notes; an empty one where there is none yet."""
    file = folder / CAPTURE
    return dict(json.loads(file.read_text())) if file.exists() else {"whole": 0, "chunks": 0, "partitions": {}}


def until_read(folder: Path, process: subprocess.Popen[str], **ends: int) -> int:
    """Wait until whole rounds have these partitions (`in_0` is in-0) up to these offsets; return their chunks."""

    def is_done() -> bool:
        found = state(folder)
        there = {name.replace("-", "_"): one["next"] for name, one in found["partitions"].items()}
        return found["whole"] == found["chunks"] and all(there.get(name, -1) >= end for name, end in ends.items())

    until(is_done, process)
    return int(state(folder)["whole"])


def until(done: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Look again and again, for at most LONGEST_S, while the process runs."""
    last = time.monotonic() + LONGEST_S
    while not done():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < last, "it took too long"
        time.sleep(0.05)
