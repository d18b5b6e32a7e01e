"""Nodes, and the coroutines that run on client nodes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.client.promise import Promise
from kafkalab.trace import Frame

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster


@dataclass(slots=True, eq=False)
class Node:
    """A process. Each crash begins another life; what belongs to an earlier one never happens."""

    name: str
    receive: Callable[[Frame], None]
    alive: bool = True
    paused: bool = False
    life: int = 0
    consumers: int = 0
    inbox: list[Callable[[], None]] = field(default_factory=list)


def no_requests(frame: Frame) -> None:
    """What a client does with a request: nobody sends it one."""
    raise AssertionError(f"{frame.name} was sent to a client")


class ForeignAwaitError(TypeError):
    """A program awaited something that is not of its cluster."""


class Task:
    """A coroutine that the simulator drives: whenever it awaits a promise, the world may move on."""

    def __init__(
        self, cluster: Cluster, node: Node, coroutine: Coroutine[Any, Any, Any], result: Promise[Any], main: bool
    ) -> None:
        self.cluster = cluster
        self.node = node
        self.life = node.life
        self.coroutine = coroutine
        self.result = result
        self.main = main

    def resume(self) -> None:
        """Run until the next await that is not done yet, or to the end."""
        try:
            awaited = self.coroutine.send(None)
        except StopIteration as end:
            self.result.resolve(end.value)
            return
        except KafkaError as error:
            self.result.fail(error)
            return
        if not isinstance(awaited, Promise):
            self.coroutine.close()
            raise ForeignAwaitError(
                f"the program of {self.node.name!r} awaited {type(awaited).__name__!r}, which the simulator cannot "
                "drive: await only the methods of its producers and consumers, and app.sleep(ms)"
            )
        awaited.when_done(self._later)

    def _later(self) -> None:
        node, schedule = self.node, self.cluster.schedule
        if node.alive and node.life == self.life:
            schedule.at(schedule.now, node.name, self.life, self.resume)
