"""A promise: what client methods await. In a notebook cell awaiting one runs the simulator."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Promise(Generic[T]):
    """A later value or exception. `run_until` runs the simulator if no program does, and returns whether it is done."""

    __slots__ = ("_callbacks", "_error", "_run_until", "_value", "done")

    def __init__(self, run_until: Callable[[Promise[Any]], bool]) -> None:
        self.done = False
        self._run_until = run_until
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def resolve(self, value: T) -> None:
        """Set the value; a second one changes nothing."""
        if not self.done:
            self.done, self._value = True, value
            self._call_back()

    def fail(self, error: BaseException) -> None:
        """Set the exception that awaiting raises; a second one changes nothing."""
        if not self.done:
            self.done, self._error = True, error
            self._call_back()

    def _call_back(self) -> None:
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, now if the promise is done."""
        if self.done:
            callback()
        else:
            self._callbacks.append(callback)

    def result(self) -> T:
        """Return the value, or raise the exception."""
        assert self.done, "the answer is not there yet"
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def __await__(self) -> Generator[Promise[T], None, T]:
        if not self.done and not self._run_until(self):
            yield self
        return self.result()
