"""The errors that end a run; each message shows the last events."""

from __future__ import annotations

from collections.abc import Sequence


class RunawayError(RuntimeError):
    """The run did not end within its limit."""


class StuckError(RuntimeError):
    """A program waits, and nothing changes any more."""


class ForeignAwaitError(TypeError):
    """A program awaited something that is not of its cluster."""

    @classmethod
    def of(cls, program: str, did: str) -> ForeignAwaitError:
        """Return the error of a program that `did` what the simulator cannot drive, with what to do instead."""
        remedy = "await only the methods of its producers and consumers, and app.sleep(ms)"
        return cls(f"{program} {did}, which the simulator cannot drive: {remedy}")


def is_of_asyncio(error: RuntimeError) -> bool:
    """Return whether asyncio raised the error because no event loop runs, or none that it may use here."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = place.tb_frame.f_globals.get("__name__", "") if place is not None else ""
    return str(module).partition(".")[0] == "asyncio" or "event loop" in str(error)


class UnawaitedCallError(TypeError):
    """A program called a coroutine function and dropped the coroutine: what it should have done never ran."""

    @classmethod
    def of(cls, who: str, names: Sequence[str]) -> UnawaitedCallError:
        """Return the error for a program that called these functions."""
        calls = ", ".join(f"{name}()" for name in dict.fromkeys(names))
        return cls(f"{who} called {calls} without `await`, so nothing of it happened: write `await` before the call")
