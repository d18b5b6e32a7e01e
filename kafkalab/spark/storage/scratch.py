"""Folders of what is under way: each is locked by its process, and what a killed process left is removed."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

LOCK = ".lock"
NEW_S = 86_400
"""A folder without a lock may be one that was made this moment; after a day it is not."""


class Scratch:
    """A new folder in `parent` whose name begins with `prefix`. `remove()` removes it, and so does the end of Python.

    Folders of the same prefix whose process is gone are removed first.
    """

    def __init__(self, parent: str | Path | None, prefix: str) -> None:
        parent = Path(parent or tempfile.gettempdir())
        for left in parent.glob(f"{prefix}*"):
            _remove_if_left(left)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = (self.folder / LOCK).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.remove = weakref.finalize(self, _remove, self.folder, lock)


def _remove(folder: Path, lock: IO[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _remove_if_left(folder: Path) -> None:
    """Remove the folder unless a process holds its lock, or it is new and has none, or it is somebody else's."""
    with suppress(OSError):
        if not (folder / LOCK).exists():
            if time.time() - folder.stat().st_mtime > NEW_S:
                shutil.rmtree(folder, ignore_errors=True)
            return
        with (folder / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
