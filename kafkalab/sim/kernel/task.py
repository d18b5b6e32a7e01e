"""Nodes, and the coroutines that run on client nodes."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.client.promise import Promise
from kafkalab.limits import truncate
from kafkalab.sim.kernel.schedule import Schedule
from kafkalab.sim.run_errors import ForeignAwaitError, UnawaitedCallError, is_of_asyncio
from kafkalab.trace import Frame


@dataclass(slots=True, eq=False)
class Node:
    """A process. Each crash begins another incarnation; what an earlier one has planned never happens.

    `last_frame_leaves`: the frame that was sent in the moment of the latest crash arrives.
    """

    name: str
    receive: Callable[[Frame], None]
    alive: bool = True
    paused: bool = False
    incarnation: int = 0
    consumers: int = 0
    last_frame_leaves: bool = False
    inbox: list[Callable[[], None]] = field(default_factory=list)


def no_requests(frame: Frame) -> None:
    """Refuse a request: no node sends one to a client."""
    raise AssertionError(f"{frame.name} was sent to a client")


class Task:
    """A coroutine that the simulator drives: whenever it awaits a promise, other nodes may act."""

    def __init__(
        self, schedule: Schedule, node: Node, coroutine: Coroutine[Any, Any, Any], result: Promise[Any], main: bool
    ) -> None:
        self.schedule = schedule
        self.node = node
        self.incarnation = node.incarnation
        self.coroutine = coroutine
        self.result = result
        self.main = main

    @property
    def live(self) -> bool:
        """True while the process that began this task runs."""
        return self.node.alive and self.node.incarnation == self.incarnation

    def resume(self) -> None:
        """Run until the next await that is not done yet, or to the end."""
        try:
            awaited = self._send()
        except StopIteration as end:
            self.result.resolve(end.value)
            return
        except KafkaError as error:
            self.result.fail(error)
            return
        except RuntimeError as error:
            if is_of_asyncio(error):
                raise self._foreign(f"used asyncio ({truncate(error)})") from None
            raise
        if not isinstance(awaited, Promise):
            self.coroutine.close()
            raise self._foreign(f"awaited {type(awaited).__name__!r}")
        awaited.when_done(self._later)

    def _send(self) -> Any:
        """Run the coroutine to its next await. UnawaitedCallError if it has dropped a coroutine that never ran.

        Python reports such a coroutine when it is dropped, to a function of `warnings`; here that is an error. No
        garbage is collected meanwhile: a coroutine of another run is none of this program.
        """
        dropped: list[str] = []
        before, collects = warnings._warn_unawaited_coroutine, gc.isenabled()  # type: ignore[attr-defined]
        gc.disable()
        warnings._warn_unawaited_coroutine = lambda one: dropped.append(one.__name__)  # type: ignore[attr-defined]
        try:
            return self.coroutine.send(None)
        finally:
            warnings._warn_unawaited_coroutine = before  # type: ignore[attr-defined]
            if collects:
                gc.enable()
            if dropped:
                self.coroutine.close()
                raise UnawaitedCallError.of(f"the program of {self.node.name!r}", dropped) from None

    def _foreign(self, did: str) -> ForeignAwaitError:
        return ForeignAwaitError.of(f"the program of {self.node.name!r}", did)

    def _later(self) -> None:
        if self.live:
            self.schedule.at(self.schedule.now, self.node.name, self.incarnation, self.resume)
