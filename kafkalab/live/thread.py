"""An event loop in a thread of its own, and calls into it from any other thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Found = TypeVar("Found")
CLOSE_S = 10.0
CHANGED_S, SOON_S = 0.1, 0.04
"""Watchers are called at most once in the first time, and the second after a change: what belongs together comes
together."""
TURNS = 8
"""More than a connection takes from the socket that accepts it to the end of `connection_lost`."""


async def _some_turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


class EventLoopThread:
    """Runs an event loop until `close()`. The thread is a daemon: it never keeps Python from ending."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafkalab live", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether calls are made in the loop."""
        return not self._loop.is_closed()

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the loop's thread."""
        return threading.current_thread() is self._thread

    def run(self, coroutine: Coroutine[Any, Any, Found]) -> Found:
        """Run a coroutine in the loop to its end; return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def call(self, action: Callable[[], Found]) -> Found:
        """Call in the loop's thread and return the result, or raise what it raises; after `close()` call here."""
        if self.is_here or not self.running:
            return action()
        done: Future[Found] = Future()

        def act() -> None:
            try:
                done.set_result(action())
            except BaseException as error:  # it is raised where the call was made
                done.set_exception(error)

        self._loop.call_soon_threadsafe(act)
        return done.result()

    def settle(self) -> None:
        """Wait until what is due now has happened: the loop accepts, makes and closes a connection in several turns."""
        self.run(_some_turns())

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Call from the loop's thread after `delay_s`; after `close()` from a thread of its own."""
        if self.is_here:
            self._loop.call_later(delay_s, action)
        elif self.running:
            self._loop.call_soon_threadsafe(self._loop.call_later, delay_s, action)
        else:
            timer = threading.Timer(delay_s, action)
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        """End the loop and its thread, when what is due has happened."""
        self.settle()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        self._loop.close()


class Watchers:
    """Calls those who watch something, soon after it has changed; `later(delay_s, action)` is the loop's."""

    def __init__(self, later: Callable[[float, Callable[[], None]], None]) -> None:
        self._later = later
        self._actions: list[Callable[[], None]] = []
        self._told_s = 0.0
        self._planned = False

    def add(self, action: Callable[[], None]) -> None:
        """Call `action` from now on."""
        self._actions.append(action)

    def changed(self) -> None:
        """Plan the next call, unless it is planned."""
        if self._actions and not self._planned:
            self._planned = True
            self._later(max(SOON_S, self._told_s + CHANGED_S - time.monotonic()), self.tell)

    def tell(self) -> None:
        """Call all."""
        self._planned, self._told_s = False, time.monotonic()
        for action in self._actions:
            action()
