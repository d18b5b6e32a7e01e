"""What client methods await. The simulator resumes a program; in a notebook cell awaiting runs the simulator."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Promise(Generic[T]):
    """A value that will be there later, or an exception. `run_until` drives the world where no program does."""

    __slots__ = ("_callbacks", "_error", "_run_until", "_value", "done")

    def __init__(self, run_until: Callable[[Promise[Any]], bool]) -> None:
        self.done = False
        self._run_until = run_until
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def resolve(self, value: T) -> None:
        """The value is here; a second one changes nothing."""
        if not self.done:
            self.done, self._value = True, value
            self._tell()

    def fail(self, error: BaseException) -> None:
        """It went wrong; whoever awaits gets the exception."""
        if not self.done:
            self.done, self._error = True, error
            self._tell()

    def _tell(self) -> None:
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back once; at once if it is done."""
        if self.done:
            callback()
        else:
            self._callbacks.append(callback)

    def result(self) -> T:
        """The value; raises what went wrong."""
        assert self.done, "the answer is not there yet"
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def __await__(self) -> Generator[Promise[T], None, T]:
        if not self.done and not self._run_until(self):
            yield self
        return self.result()
