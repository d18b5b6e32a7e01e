"""`Tap("host:9092")`: a proxy before a running Kafka in a thread of its own, for notebooks and scripts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from kafkalab.limits import quoted, whole_number
from kafkalab.sim.faults import Delay, Drop
from kafkalab.sim.recording import Recording
from kafkalab.wire.tap.gate import Gate
from kafkalab.wire.tap.proxy import Proxy, TapError
from kafkalab.wire.tap.recorder import MOST_EVENTS, Recorder
from kafkalab.wire.tap.session import Session

T = TypeVar("T")
START_S = 30


def place_of(address: str) -> tuple[str, int]:
    """`place_of("localhost:9092") == ("localhost", 9092)`. ValueError for anything else."""
    host, _, port = address.rpartition(":")
    if not host or not 0 < whole_number(port) <= 65_535:
        raise ValueError(f"an address is HOST:PORT, not {quoted(address)}")
    return host.strip("[]"), whole_number(port)


class Tap:
    """Record what clients and a running Kafka say to each other; `Sequence(tap)` shows it.

    Clients connect to `bootstrap_servers`. The tap reads, and changes nothing but brokers' addresses, unless `faults`
    is true. `events` bounds what is kept for pictures; with `save` every frame is written to that file as it passes.
    TapError if no broker answers at `address`, or a port is taken.
    """

    def __init__(
        self,
        address: str,
        port: int = 0,
        faults: bool = False,
        host: str = "127.0.0.1",
        save: str | Path = "",
        events: int = MOST_EVENTS,
    ) -> None:
        upstream = place_of(address)
        self._files = ExitStack()
        file = self._files.enter_context(Path(save).open("w", encoding="utf-8")) if save else None  # noqa: SIM115
        self._session = Session(Recorder(f"tap of {address}", events), file)
        self.gate = Gate(allowed=faults)
        self._proxy = Proxy(upstream, self._session, self.gate, host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"tap of {address}", daemon=True)
        self._thread.start()
        try:
            self._wait(self._proxy.open())
        except BaseException:
            self.close()
            raise

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(START_S)

    def _do(self, action: Callable[[], T]) -> T:
        """Do it between two frames; raise what it raises."""

        async def act() -> T:
            return action()

        return self._wait(act())

    @property
    def bootstrap_servers(self) -> str:
        """What clients need instead of the cluster's own bootstrap servers."""
        return self._proxy.bootstrap_servers

    def recording(self) -> Recording:
        """Return what has passed by now; a copy, which does not grow."""
        return self._do(self._session.recorder.recording) if self._thread.is_alive() else self._last()

    def _last(self) -> Recording:
        return self._session.recorder.recording()

    # faults

    def drop(self, frame: str) -> None:
        """Lose a frame that is still to come, "EndTxnResponse#1": its connection breaks, as it would over TCP."""
        self._do(lambda: self.gate.plan(Drop(frame)))

    def delay(self, frame: str, ms: int) -> None:
        """Let a frame that is still to come, and all behind it on its connection, wait for `ms`."""
        self._do(lambda: self.gate.plan(Delay(frame, ms)))

    def hold(self, name: str = "") -> None:
        """Hold every frame of an API ("EndTxn"), of an answer ("EndTxnResponse"), of a client or a broker; of all
        without a name."""

        def hold() -> None:
            self.gate.check()
            self.gate.names[name] = None

        self._do(hold)

    def free(self, name: str = "") -> None:
        """Hold such frames no longer; those that are held stay so until `let_go`."""
        self._do(lambda: self.gate.names.pop(name, None))

    @property
    def held(self) -> list[str]:
        """The frames that wait, oldest first."""
        return self._do(lambda: list(self.gate.held))

    def let_go(self, frame: str) -> None:
        """Let a held frame go on. ValueError for one that is not held."""
        self._do(lambda: self.gate.let_go(frame))

    # the end

    def close(self) -> None:
        """Close every connection; what was recorded stays."""
        if self._thread.is_alive():
            try:
                self._wait(self._proxy.close())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()
        self._files.close()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        recorder = self._session.recorder
        return f"<Tap {self.bootstrap_servers}, {recorder.frames_seen} frames{', full' if recorder.full else ''}>"


__all__ = ["Tap", "TapError", "place_of"]
