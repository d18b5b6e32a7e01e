"""A moment in which nothing that is started can write to stderr, not even after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silence(wanted: bool = True) -> Iterator[None]:
    """Processes that are started in here have no stderr; this one has its own again at the end."""
    if not wanted:
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
