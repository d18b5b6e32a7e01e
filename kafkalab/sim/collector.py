"""Python's garbage collector during a run: it is asked less often, since a run leaves hardly any cycles behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 10_000
"""New objects between two collections; Python's own number is 700 in 3.11."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Within, the youngest objects are collected after OBJECTS new ones; afterwards as often as before.

    Never more often than before, and not at all where the collector is off.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
