"""What processes have of the machine's memory: their proportional set size (PSS), in MiB. Linux only."""

from __future__ import annotations

from pathlib import Path

from kafkalab.grading.family import members


def share_mib(pid: int) -> float:
    """The process's share of memory; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def shares_mib(pid: int) -> dict[str, float]:
    """What the process and all that it has started have together, Java apart from Python."""
    found = {"JVM": 0.0, "Python": 0.0}
    for one in (pid, *members(pid)):
        try:
            name = Path(f"/proc/{one}/comm").read_text()
        except OSError:
            continue
        found["JVM" if name.startswith("java") else "Python"] += share_mib(one)
    return found
