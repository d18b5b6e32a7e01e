"""The listeners of a server, one for each broker that runs: the port of one that has crashed refuses connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger("kafkalab.wire")

BACKLOG = 1_024
AGAIN_S = 0.5


class Listeners:
    """`connection` makes the protocol of a new connection to a broker; `alive` says whether the broker runs."""

    def __init__(self, connection: Callable[[str], asyncio.Protocol], alive: Callable[[str], bool]) -> None:
        self._connection, self._alive = connection, alive
        self._open: dict[str, asyncio.Server] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._ended: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def __contains__(self, broker: str) -> bool:
        return broker in self._open

    async def open(self, broker: str, host: str, port: int) -> int:
        """Listen for a broker, on any free port if it is 0; return the port. OSError if it is taken."""
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(lambda: self._connection(broker), host, port, backlog=BACKLOG)
        self._open[broker] = listener
        taken: int = listener.sockets[0].getsockname()[1]
        self._places[broker] = (host, taken)
        return taken

    def open_again(self, broker: str) -> None:
        """Listen again for a broker that has started again, as soon as its port is free."""
        task = asyncio.get_running_loop().create_task(self._open_again(broker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open_again(self, broker: str) -> None:
        while broker in self._places and broker not in self._open and self._alive(broker):
            try:
                await self.open(broker, *self._places[broker])
            except OSError as error:
                log.warning("%s: its port is not free, it tries again: %s", broker, error)
                await asyncio.sleep(AGAIN_S)

    def close(self, broker: str) -> None:
        """Refuse connections to a broker from now on."""
        if listener := self._open.pop(broker, None):
            listener.close()

    def close_all(self) -> None:
        """Refuse connections to all brokers, for ever."""
        self._places.clear()
        for task in self._tasks:
            task.cancel()
        self._ended = list(self._open.values())
        for broker in list(self._open):
            self.close(broker)

    async def wait_closed(self) -> None:
        """Wait until every listener is closed."""
        for listener in self._ended:
            await listener.wait_closed()
