"""Say how far a check has come, when it takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kafkalab.grading import progress

FIRST_S, EVERY_S = 2.0, 0.5
T = TypeVar("T")


def show_progress(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Yield the items; in a notebook show "40 of 200 schedules" meanwhile, from the third second on.

    The line is gone when the last item has been used, so it is in no saved notebook. Nothing is shown where no progress
    is kept, as when notebooks are tested.
    """
    if progress.place() is None or not progress.in_a_kernel():
        yield from items
        return
    display: Any = sys.modules["IPython"].display
    next_at = time.monotonic() + FIRST_S
    said = False
    for number, item in enumerate(items):
        if time.monotonic() >= next_at:
            display.clear_output(wait=True)
            print(f"Checking: {number} of {total} {what}", flush=True)
            next_at, said = time.monotonic() + EVERY_S, True
        yield item
    if said:
        display.clear_output()
