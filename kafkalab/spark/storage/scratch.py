"""Folders of what is under way; what a killed process left is removed by the next one.

On this machine each is locked by its process. Other stores have no locks: there a folder is left when it is a day old.
"""

from __future__ import annotations

import atexit
import fcntl
import secrets
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

from kafkalab.spark.storage.places import Place, PlaceError, Where, place_of

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


class ScratchElsewhere:
    """The same in a place that is not on this machine."""

    def __init__(self, parent: Place, prefix: str) -> None:
        for name in parent.folders():
            if name.startswith(prefix) and time.time() - (parent / name).newest() > NEW_S:
                (parent / name).remove()
        self.folder = parent / f"{prefix}{secrets.token_hex(6)}"
        self.remove = weakref.finalize(self, _remove_elsewhere, self.folder)
        self.remove.atexit = False
        atexit.register(self.remove)  # before pyarrow, which was there first, closes its file systems


def scratch_at(parent: Where | None, prefix: str) -> Scratch | ScratchElsewhere:
    """Return a new folder in `parent`, in that of temporary files if not given, wherever it is."""
    place = place_of(parent or tempfile.gettempdir())
    return Scratch(place.local, prefix) if place.local is not None else ScratchElsewhere(place, prefix)


def _remove(folder: Path, lock: IO[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _remove_elsewhere(folder: Place) -> None:
    with suppress(PlaceError):  # out of reach at the end: the next one removes it after a day
        folder.remove()


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
