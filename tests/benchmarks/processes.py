"""What processes have of the machine's memory: their proportional set size (PSS), in MiB. Linux only."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkalab.grading.process_tree import members

EVERY_S = 0.25


def shares_mib(pids: Iterable[int]) -> dict[str, float]:
    """What these processes have together, Java apart from Python; one that is gone has nothing."""
    found = {"JVM": 0.0, "Python": 0.0}
    for pid in pids:
        try:
            name = Path(f"/proc/{pid}/exe").readlink().name
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            if name == "java" and _is_its_parents(pid):
                continue
        except OSError:
            continue
        share = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
        found["JVM" if name == "java" else "Python"] += share
    return found


def tree_mib(pid: int) -> dict[str, float]:
    """The same for a process and all that it has started."""
    return shares_mib([pid, *members(pid)])


def watched(process: subprocess.Popen[Any]) -> dict[str, float]:
    """What it and all below it had when they had most, until it ended."""
    peak = tree_mib(process.pid)
    while process.poll() is None:
        peak = max(peak, tree_mib(process.pid), key=lambda now: sum(now.values()))
        time.sleep(EVERY_S)
    return peak


def _is_its_parents(pid: int) -> bool:
    """Whether its memory is that of the process that started it, as for a moment before it runs a command."""
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return Path(f"/proc/{pid}/cmdline").read_bytes() == Path(f"/proc/{parent}/cmdline").read_bytes()
