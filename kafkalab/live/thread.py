"""An event loop in a thread of its own, and calls into it from any other thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Found = TypeVar("Found")
CLOSE_S = 10.0
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
        """True if calls are made in the loop."""
        return not self._loop.is_closed()

    @property
    def is_here(self) -> bool:
        """True if the caller is in the loop's thread."""
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
        """Call from the loop's thread after `delay_s`."""
        if self.running:
            self._loop.call_later(delay_s, action)

    def close(self) -> None:
        """End the loop and its thread, when what is due has happened."""
        self.settle()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        self._loop.close()
