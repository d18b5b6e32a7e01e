"""A process and all that it has started: their memory together, and their end. On Linux, from /proc.

A process that has called `adopt_orphans` stays the ancestor of all that comes from it, also of what leaves its session
or outlives its own parent. Elsewhere than on Linux the tree is the process alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

SET_CHILD_SUBREAPER = 36
OWN = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
"""The fields that add up to a process's own memory and its share of shared memory, without the files that it runs."""

ROUNDS, ROUND_S = 100, 0.01
"""A process may start another one just before it is killed: look again, ROUNDS times, ROUND_S apart."""


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    session: int
    gone: bool


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind; see prctl(2). Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def members(root: int, mark: str = "") -> list[int]:
    """Return the living processes below `root`, in its session, or with `mark` in their environment; without `root`."""
    known = _processes()
    found = {root} | {pid for pid, process in known.items() if process.session == root}
    if mark:
        found |= {pid for pid in known if mark.encode() in _read(pid, "environ")}
    while new := {pid for pid, process in known.items() if process.parent in found} - found:
        found |= new
    return sorted(pid for pid in found - {root, os.getpid()} if pid in known and not known[pid].gone)


def memory_mb(pids: list[int]) -> float:
    """Return the memory of these processes together, in MB; what several of them share is counted once.

    Files in memory (memfd_create) that they have open count whole, also where nothing of them is mapped.
    """
    files: dict[tuple[int, int], int] = {}
    for pid in pids:
        files |= _memory_files(pid)
    return sum(map(_own_kb, pids)) / 1024 + sum(files.values()) / 2**20


def cpu_s(pids: list[int]) -> float:
    """Return the processor time of these processes, and of their children that have ended, in seconds."""
    ticks = 0
    for pid in pids:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15])) if len(fields) > 14 else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def end(root: int, mark: str = "", alive: bool = True, spare: Collection[int] = ()) -> None:
    """Kill all that `root` has started, except `spare`; stop `root` itself, if it is `alive`, for its parent to end."""
    if alive:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(root, signal.SIGSTOP)
    for _ in range(ROUNDS):
        living = [pid for pid in members(root, mark) if pid not in spare]
        if not living:
            return
        for pid in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_S)


def _processes() -> dict[int, _Process]:
    """Return every process that this one may see; none where there is no /proc."""
    found = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        fields = _read(int(name), "stat").rpartition(b")")[2].split() if name.isdigit() else []
        if fields:
            found[int(name)] = _Process(int(fields[1]), int(fields[3]), fields[0] in (b"Z", b"X"))
    return found


def _memory_files(pid: int) -> dict[tuple[int, int], int]:
    """Return the bytes of each file in memory that the process has open, by device and number."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}").startswith("/memfd:"):
                    facts = os.stat(f"/proc/{pid}/fd/{name}")
                    found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return found


def _own_kb(pid: int) -> int:
    rows = [line.split() for line in _read(pid, "smaps_rollup").decode("ascii", "replace").splitlines()]
    return sum(int(row[1]) for row in rows if row and row[0] in OWN)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
