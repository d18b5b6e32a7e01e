"""What processes have of the machine: their proportional set size (PSS), in MiB, and CPU seconds. Linux only."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.grading.process_tree import members

EVERY_S = 0.25


def shares_mib(pids: Iterable[int]) -> dict[str, float]:
    """Return what these processes have together, Java apart from Python; one that is gone has nothing."""
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


@dataclass(frozen=True, slots=True)
class Used:
    """The use of a process and all below it: MiB of `shares_mib` when they had most, and CPU seconds."""

    mib: dict[str, float]
    cpu_s: float

    @property
    def peak_mib(self) -> float:
        return sum(self.mib.values())


def watch(process: subprocess.Popen[Any]) -> Used:
    """Return what a process and all below it use until it ends.

    What one of them does in the EVERY_S before its own end is not seen.
    """
    peak, cpu_s = tree_mib(process.pid), dict[int, float]()
    while process.poll() is None:
        pids = [process.pid, *members(process.pid)]
        cpu_s |= {pid: spent for pid in pids if (spent := _cpu_s(pid)) is not None}
        peak = max(peak, shares_mib(pids), key=lambda now: sum(now.values()))
        time.sleep(EVERY_S)
    return Used(peak, sum(cpu_s.values()))


def _cpu_s(pid: int) -> float | None:
    """Return the CPU seconds, of user and system, that a process has had; None if it is gone."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return None
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _is_its_parents(pid: int) -> bool:
    """Return True if its memory is that of the process that started it, as for a moment before it runs a command."""
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return Path(f"/proc/{pid}/cmdline").read_bytes() == Path(f"/proc/{parent}/cmdline").read_bytes()
