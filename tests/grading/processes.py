"""The processes of this machine, for tests of what outlives a notebook."""

from __future__ import annotations

from pathlib import Path


def running(words: str) -> list[str]:
    """The processes in whose command line these words stand."""
    found = []
    for process in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        try:
            line = (process / "cmdline").read_bytes().decode("utf-8", "replace") if process.name.isdigit() else ""
        except OSError:
            continue
        found += [process.name] * (words in line)
    return found
