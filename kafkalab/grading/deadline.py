"""A limit of time for the grader's own work, where a student's answer decides how long it takes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OutOfTimeError(BaseException):
    """The work has taken too long. Nothing that catches errors of an answer may catch it."""


@contextmanager
def limit_time(seconds: int) -> Iterator[None]:
    """Raise OutOfTimeError after `seconds`; where there are no alarms, or in another thread than the first, never."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
