"""The sockets of a tap: a door for each broker, and behind it a connection to the broker for each of a client's."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from functools import partial

from kafkalab.limits import truncate
from kafkalab.protocol.error_responses import error_response
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.wire.codec import read_response, request_bytes, response_bytes
from kafkalab.wire.primitives import BadMessageError
from kafkalab.wire.structs import UNREADABLE
from kafkalab.wire.tap.addresses import UnreadAddressError, places_in, with_doors
from kafkalab.wire.tap.gate import Gate
from kafkalab.wire.tap.session import Exchange, Session

log = logging.getLogger("kafkalab.tap")

FRAME_BYTES = 104_857_600
"""socket.request.max.bytes of Kafka; Fetch answers are below it unless a single batch is larger."""
CONNECTIONS = 1_000
ASK_S = 10
TLS = b"\x16\x03"


class TapError(Exception):
    """The tap cannot begin: the message says why, in one line."""


class Proxy:
    """Doors on `host` from `port` on (0: any free ports) to the cluster that answers at `upstream`."""

    def __init__(self, upstream: tuple[str, int], session: Session, gate: Gate, host: str, port: int) -> None:
        self.upstream, self.session, self.gate = upstream, session, gate
        gate.was_sent = session.recorder.frame_names.was_sent
        self.host, self.port = host, port
        self.brokers: dict[int, tuple[str, int]] = {}
        self.doors: dict[int, asyncio.Server] = {}
        self.crossings: dict[asyncio.Task[None], None] = {}
        self._began_ns = time.monotonic_ns()
        self._opening: dict[int, tuple[str, int]] = {}
        self._learning = asyncio.Lock()

    def now(self) -> int:
        """Milliseconds since the tap began."""
        return (time.monotonic_ns() - self._began_ns) // 1_000_000

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of every door, as clients want them."""
        return ",".join(f"{host}:{port}" for host, port in self._opening.values())

    async def open(self) -> None:
        """Ask the cluster for its brokers and open a door for each. TapError if it does not answer."""
        where = "{}:{}".format(*self.upstream)
        try:
            found = await asyncio.wait_for(self._ask_brokers(), ASK_S)
        except TimeoutError:
            raise TapError(f"{where} has not answered within {ASK_S} s; is it the address of a Kafka broker?") from None
        except (OSError, EOFError, *UNREADABLE) as error:
            why = truncate(error) or type(error).__name__
            raise TapError(f"{where} does not answer as a Kafka broker without TLS ({why})") from None
        if not found:
            raise TapError(f"{where} names no brokers")
        for node_id, place in sorted(found.items()):
            await self._open_door(node_id, *place)

    async def _ask_brokers(self) -> dict[int, tuple[str, int]]:
        reader, writer = await asyncio.open_connection(*self.upstream)
        names = self.session.recorder.names
        try:
            writer.write(request_bytes("Metadata", 1, 1, "kafkalab tap", Metadata(topics=("__none",)), names))
            head = await reader.readexactly(4)
            if head[:2] == b"\x15\x03":
                raise BadMessageError("it speaks TLS")
            data = await reader.readexactly(int.from_bytes(head, "big"))
        finally:
            writer.close()
        read_response("Metadata", 1, data, names)
        return {names.node_id(name): place for name, place in names.addresses.items()}

    async def _open_door(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        self.brokers[node_id] = (host, port)
        door = await self._listen(node_id, self.port and self.port + len(self.doors))
        self._opening[node_id] = (self.host, door.sockets[0].getsockname()[1])
        log.info("broker %d at %s:%d is behind %s:%d", node_id, host, port, *self._opening[node_id])
        return self._opening[node_id]

    async def _listen(self, node_id: int, port: int) -> asyncio.Server:
        try:
            door = await asyncio.start_server(partial(self._cross, node_id), self.host, port, limit=1 << 20)
        except OSError as error:
            raise TapError(f"port {port} for broker {node_id}: {error.strerror}") from None
        self.doors[node_id] = door
        return door

    async def open_again(self) -> None:
        """Open the doors that `close` has closed. TapError if a port has been taken meanwhile."""
        for node_id, (_, port) in self._opening.items():
            await self._listen(node_id, port)

    async def close(self) -> None:
        """Close every door and connection."""
        for door in self.doors.values():
            door.close()
        for crossing in list(self.crossings):
            crossing.cancel()
        await asyncio.gather(*self.crossings, return_exceptions=True)

    async def know(self, rows: dict[int, tuple[str, int]]) -> None:
        """Follow brokers that have moved, and open doors for new ones."""
        async with self._learning:
            for node_id, place in rows.items():
                if node_id not in self.doors:
                    await self._open_door(node_id, *place)
                elif self.brokers[node_id] != place:
                    log.info("broker %d is at %s:%d now", node_id, *place)
                    self.brokers[node_id] = place

    def door_of(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        """Return the door of a broker that `know` has been told of."""
        return self._opening[node_id]

    async def _cross(self, node_id: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        peer = "{}:{}".format(*(writer.get_extra_info("peername") or ("?", 0))[:2])
        if len(self.crossings) >= CONNECTIONS:
            log.warning("b%d %s: refused, there are %d connections", node_id, peer, CONNECTIONS)
            writer.transport.abort()
            return
        self.crossings[task] = None
        crossing = ProxiedConnection(self, node_id, peer, reader, writer)
        try:
            await crossing.run()
        except asyncio.CancelledError:
            pass
        except Exception:  # a mistake of ours must not reach the other connections
            log.exception("b%d %s: closed", node_id, peer)
        finally:
            self.crossings.pop(task, None)
            crossing.end()


class ProxiedConnection:
    """A client's connection and the one behind it. Answers come in the order of the requests, as Kafka sends them."""

    def __init__(
        self, proxy: Proxy, node_id: int, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.proxy, self.node_id, self.peer = proxy, node_id, peer
        self.client, self.to_client = reader, writer
        self.to_broker: asyncio.StreamWriter | None = None
        self.waiting: deque[Exchange] = deque()

    async def run(self) -> None:
        """Carry frames both ways until either side closes, or one is dropped."""
        place = self.proxy.brokers[self.node_id]
        try:
            broker, self.to_broker = await asyncio.wait_for(asyncio.open_connection(*place, limit=1 << 20), ASK_S)
        except (OSError, TimeoutError) as error:
            why = str(error) or f"no answer within {ASK_S} s"
            log.warning("b%d %s: no connection to %s:%d (%s)", self.node_id, self.peer, *place, why)
            return
        both = [asyncio.create_task(self._requests()), asyncio.create_task(self._answers(broker))]
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                with suppress(EOFError, ConnectionError):
                    if why := task.result():
                        log.warning("b%d %s: closed, %s", self.node_id, self.peer, why)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    def end(self) -> None:
        """Close both connections; what is not answered now never will be."""
        for writer in (self.to_client, self.to_broker):
            if writer is not None:
                writer.transport.abort() if self.waiting else writer.close()
        for exchange in self.waiting:
            self.proxy.session.on_loss(self.proxy.now(), exchange)
            self.proxy.gate.end((*exchange.frames, *exchange.answers))
        self.waiting.clear()

    async def _requests(self) -> str:
        """Carry requests; return why the connection is to be closed."""
        proxy, session = self.proxy, self.proxy.session
        assert self.to_broker is not None
        while True:
            try:
                head = await self.client.readexactly(4)
            except (EOFError, ConnectionError):
                await self._await_late_answers()
                raise
            size = int.from_bytes(head, "big")
            if not 0 < size <= FRAME_BYTES:
                return "a client speaks TLS; the tap reads only plain text" if head[:2] == TLS else f"{size} bytes"
            data = await self.client.readexactly(size)
            try:
                exchange = session.on_request(proxy.now(), f"b{self.node_id}", data)
            except BadMessageError as error:
                return str(error)
            body = exchange.asked.bodies[0]
            if not (isinstance(body, Produce) and body.acks == 0):
                self.waiting.append(exchange)
            if not await proxy.gate.meet(session, exchange, proxy.now):
                session.on_loss(proxy.now(), exchange, "dropped")
                return f"{exchange.frames[0].id} is dropped"
            session.on_arrival(proxy.now(), exchange)
            if exchange.respond_with and not exchange.respond_with.handled:
                await self._respond(exchange)
                continue
            self.to_broker.write((head + data) * exchange.copies)
            if exchange in self.waiting:
                self.waiting.extend([exchange] * (exchange.copies - 1))
            else:
                proxy.gate.end(exchange.frames)
            await self.to_broker.drain()

    async def _await_late_answers(self) -> None:
        """Keep the connection to the broker until it has answered what came late: the client has given it up."""
        last = time.monotonic() + ASK_S
        while any(exchange.was_late for exchange in self.waiting) and time.monotonic() < last:
            await asyncio.sleep(0.01)

    async def _respond(self, exchange: Exchange) -> None:
        """Answer with an error, when all that was asked before has been answered."""
        while self.waiting and self.waiting[0] is not exchange:
            await asyncio.sleep(0.001)
        data = self._error(exchange)
        self.proxy.session.on_response(self.proxy.now(), exchange, data)
        self.proxy.session.on_arrival(self.proxy.now(), exchange)
        self.waiting.popleft()
        await self._write(data)

    def _error(self, exchange: Exchange) -> bytes:
        """Return the bytes of the response that says nothing but the error."""
        assert exchange.respond_with is not None
        asked, error = exchange.asked, Error[exchange.respond_with.error]
        bodies = [error_response(body, error) for body in asked.bodies]
        return response_bytes(asked, bodies, self.proxy.session.recorder.names)[4:]

    async def _write(self, data: bytes) -> None:
        self.to_client.write(len(data).to_bytes(4, "big") + data)
        await self.to_client.drain()

    async def _answers(self, broker: asyncio.StreamReader) -> str:
        """Carry answers; return why the connection is to be closed."""
        proxy, session = self.proxy, self.proxy.session
        while True:
            size = int.from_bytes(await broker.readexactly(4), "big")
            if not 0 < size <= FRAME_BYTES:
                return f"an answer of {size} bytes"
            data = await broker.readexactly(size)
            if not self.waiting:
                return "the broker answers what was not asked"
            exchange = self.waiting[0]
            if exchange.answers:  # the second answer to a request that was doubled
                self.waiting.popleft()
                continue
            if exchange.respond_with:
                data = self._error(exchange)
            answer = session.on_response(proxy.now(), exchange, data)
            proxy.gate.end(exchange.frames)
            if not await proxy.gate.meet(session, exchange, proxy.now):
                session.on_loss(proxy.now(), exchange, "dropped")
                self.waiting.popleft()
                return f"{exchange.answers[0].id} is dropped"
            try:
                await proxy.know(places_in(answer))
                data = with_doors(answer, proxy.door_of)
            except (UnreadAddressError, TapError) as error:
                return str(error)
            session.on_arrival(proxy.now(), exchange)
            self.waiting.popleft()
            await self._write(data)
            proxy.gate.end(exchange.answers)
