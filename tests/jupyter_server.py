"""A JupyterLab that a test has started: when it answers, and how it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

START_WITHIN_S = 180
STOP_WITHIN_S = 15


def address_of(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Return the server's address once it answers, with a slash at its end; raise its last words if it does not.

    `runtime` is Jupyter's folder of running servers. The server's file there is looked at until it can be read whole:
    for a moment it is there and empty.
    """
    until, info = time.monotonic() + START_WITHIN_S, runtime / f"jpserver-{process.pid}.json"
    while time.monotonic() < until and process.poll() is None:
        try:
            address: str = json.loads(info.read_text())["url"]
            with urllib.request.urlopen(f"{address}api", timeout=20):
                return address
        except (OSError, json.JSONDecodeError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start within {START_WITHIN_S} s:\n{log.read_text()[-3000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server, and the kernels that it has started; it must lead a session of its own."""
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
