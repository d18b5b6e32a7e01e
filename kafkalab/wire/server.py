"""Sockets before the brokers: one listener for each, requests in order on each connection, limits."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from dataclasses import dataclass
from typing import Any

from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.broker.patterns import import_re2
from kafkalab.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeat
from kafkalab.protocol.messages.create_topics import CreateTopics
from kafkalab.protocol.messages.list_transactions import ListTransactions
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.wire.codec import ReadRequest, UnsupportedVersionError
from kafkalab.wire.compression import import_codec
from kafkalab.wire.listeners import Listeners
from kafkalab.wire.live import RealTime
from kafkalab.wire.names import UNKNOWN_ID, Names
from kafkalab.wire.primitives import BadMessageError
from kafkalab.wire.request_cache import RequestCache
from kafkalab.wire.special import all_topics, asked_topics

log = logging.getLogger("kafkalab.wire")

REQUESTS_AHEAD = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of clients. A connection beyond a limit is closed, with a log line.

    `unread_bytes` counts what has come from all clients and is not handled yet, `unsent_bytes` the answers that slow
    readers have not taken yet.
    """

    connections: int = 2_000
    partitions: int = 10_000
    request_bytes: int = 16 * 1024 * 1024
    unread_bytes: int = 128 * 1024 * 1024
    unsent_bytes: int = 128 * 1024 * 1024
    idle_s: float = 600


class Server:
    """The listeners of all brokers of a cluster. `names` has their addresses once `listen` has returned."""

    def __init__(self, live: RealTime, limits: Limits | None = None) -> None:
        self.live, self.limits = live, limits or Limits()
        self.connections: dict[Connection, None] = {}
        self.unread_bytes = self.unsent_bytes = 0
        self.carried_bytes = 0
        """The length of all requests and responses by now."""
        self.names = Names({})
        self.request_cache = RequestCache(self.names)
        self._listeners = Listeners(lambda broker: Connection(self, broker), live.alive)

    async def listen(self, host: str = "127.0.0.1", port: int = 9092, advertised: str = "") -> None:
        """Listen on `port` for the first broker, and on the following ones for the others; 0 chooses free ports.

        OSError if a port is taken.
        """
        addresses: dict[str, tuple[str, int]] = {}
        try:
            for number, broker in enumerate(self.live.cluster.broker_names):
                taken = await self._listeners.open(broker, host, port and port + number)
                addresses[broker] = (advertised or host, taken)
        except OSError:
            await self.close()
            raise
        self.names = Names(addresses, kafka=self.live.cluster.rules.kafka)
        self.request_cache = RequestCache(self.names)
        self.names.learn(self.live.cluster.controller.metadata)
        self.live.when_ended, self.live.when_started = self.disconnect, self._listeners.open_again
        self.live.start(asyncio.get_running_loop())
        self._close_idle()

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of every broker, as clients want them."""
        return ",".join(f"{host}:{port}" for host, port in self.names.addresses.values())

    def disconnect(self, broker: str) -> None:
        """Refuse and break the connections of a broker whose process has ended, as its machine does."""
        self._listeners.close(broker)
        for connection in [c for c in self.connections if c.broker == broker]:
            connection.transport.abort()

    async def close(self) -> None:
        """Close every connection and listener."""
        self._listeners.close_all()
        for connection in list(self.connections):
            connection.transport.abort()
        await self._listeners.wait_closed()
        self.live.stop()

    def _close_idle(self) -> None:
        """Close connections on which nothing has come for `connections.max.idle.ms`."""
        loop = asyncio.get_running_loop()
        for connection in list(self.connections):
            if loop.time() - connection.heard_s > self.limits.idle_s:
                connection.close(f"idle for {self.limits.idle_s:g} s")
        loop.call_later(self.limits.idle_s / 10, self._close_idle)


class Connection(asyncio.Protocol):
    """A client's connection to one broker. The next request is handled when the one before it is answered, as Kafka
    does (`SocketServer` mutes the channel)."""

    transport: asyncio.Transport

    def __init__(self, server: Server, broker: str) -> None:
        self.server, self.live, self.broker = server, server.live, broker
        self.heard_s = 0.0
        self._buffer = bytearray()
        self._waiting: deque[bytes] = deque()
        self._busy = self._blocked = self._working = False
        self._unread = self._unsent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refuse what is too many, and connections to a broker that does not run."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.heard_s = asyncio.get_running_loop().time()
        if len(self.server.connections) >= self.server.limits.connections:
            log.warning("%s: refused, there are %d connections", self._peer(), len(self.server.connections))
            transport.abort()
        elif not self.live.alive(self.broker):
            transport.abort()
        else:
            self.server.connections[self] = None
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; what is asked already is handled, and its answer is lost."""
        self.server.connections.pop(self, None)
        self._forget()

    def close(self, why: str) -> None:
        """Close the connection and log the reason."""
        log.warning("%s: closed, %s", self._peer(), why)
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        self._waiting.clear()
        self._buffer.clear()
        self._count(-self._unread, -self._unsent)

    def _count(self, unread: int, unsent: int = 0) -> None:
        """Count bytes that this connection has made the server keep, or has set free."""
        self._unread += unread
        self._unsent += unsent
        self.server.unread_bytes += unread
        self.server.unsent_bytes += unsent

    def _peer(self) -> str:
        host, port = (self.transport.get_extra_info("peername") or ("?", 0))[:2]
        return f"{self.broker} {host}:{port}"

    def data_received(self, data: bytes) -> None:
        """Take whole requests out of the stream."""
        self.heard_s = asyncio.get_running_loop().time()
        if self.transport.is_closing():
            return
        buffer, limits = self._buffer, self.server.limits
        buffer += data
        self._count(len(data))
        self.server.carried_bytes += len(data)
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big", signed=True)
            if not 0 < size <= limits.request_bytes:
                self.close(f"a request of {size} bytes; at most {limits.request_bytes} are read")
                return
            if len(buffer) < 4 + size:
                break
            self._waiting.append(bytes(memoryview(buffer)[4 : 4 + size]))
            del buffer[: 4 + size]
        if len(self._waiting) > REQUESTS_AHEAD:
            self.transport.pause_reading()
        self._work()
        if self.server.unread_bytes > limits.unread_bytes:
            self.close(f"all clients together have sent {self.server.unread_bytes} bytes that cannot be handled yet")

    def pause_writing(self) -> None:
        """The client reads slower than it asks: handle nothing more until it has read."""
        self._blocked = True
        self._count(0, self.transport.get_write_buffer_size())
        self.transport.pause_reading()
        if self.server.unsent_bytes > self.server.limits.unsent_bytes:
            self.close(f"all clients together leave {self.server.unsent_bytes} bytes unread")

    def resume_writing(self) -> None:
        """The client has read."""
        self._blocked = False
        self._count(0, -self._unsent)
        self.transport.resume_reading()
        self._work()

    def _work(self) -> None:
        """Handle requests until one has to wait for its answer."""
        if self._working:
            return
        self._working = True
        while self._waiting and not self._busy and not self._blocked:
            data = self._waiting.popleft()
            self._count(-4 - len(data))
            self._handle(data)
        self._working = False
        if not self._blocked and len(self._waiting) <= REQUESTS_AHEAD and not self.transport.is_closing():
            self.transport.resume_reading()

    def _handle(self, data: bytes) -> None:
        names = self.server.names
        names.learn(self.live.cluster.brokers[self.broker].state.metadata)
        try:
            asked = self.server.request_cache.read(data)
        except (BadMessageError, UnsupportedVersionError) as error:
            kind = "a version that is not offered" if isinstance(error, UnsupportedVersionError) else "bad bytes"
            self.close(f"{kind}: {error}")
            return
        if self._is_too_much(asked):
            return
        if lacking := missing_library(asked):
            self.close(lacking)
            return
        client = self.live.client(asked.client_id)
        if not asked.bodies:
            self._answer(asked, ())
            return
        if isinstance(asked.bodies[0], Produce) and asked.bodies[0].acks == 0:
            self.live.ask(client, self.broker, asked.bodies[0], asked.version, None)
            return
        self._busy = True
        if len(asked.bodies) == 1:
            self.live.ask(client, self.broker, asked.bodies[0], asked.version, lambda one: self._answer(asked, (one,)))
        else:
            self._ask_several(client, asked)
        if isinstance(asked.bodies[0], Metadata):
            self._create_topics(asked)

    def _ask_several(self, client: str, asked: ReadRequest) -> None:
        """Ask the parts of a request one after the other, and answer when all are answered."""
        answers: list[Any] = [None] * len(asked.bodies)
        missing = [len(answers)]
        for index, body in enumerate(asked.bodies):

            def then(response: object, index: int = index) -> None:
                answers[index], missing[0] = response, missing[0] - 1
                if missing[0] == 0:
                    self._answer(asked, answers)

            self.live.ask(client, self.broker, body, asked.version, then)

    def _is_too_much(self, asked: ReadRequest) -> bool:
        """Close the connection of a client that wants more partitions than there may be (Kafka: POLICY_VIOLATION)."""
        if not asked.bodies or not isinstance(asked.bodies[0], CreateTopics):
            return False
        wanted, room = sum(max(t.num_partitions, 1) for t in asked.bodies[0].topics), self._room()
        if wanted > room:
            self.close(f"it wants {wanted} partitions; {room} more can be made")
        return wanted > room

    def _room(self) -> int:
        return self.server.limits.partitions - len(self.live.cluster.controller.metadata.partitions)

    def _create_topics(self, asked: ReadRequest) -> None:
        """Create the unknown topics that a Metadata request names, if it allows that (`auto.create.topics.enable`).

        The answer has gone out already: as with Kafka, the client asks again.
        """
        known = self.live.cluster.brokers[self.broker].state.metadata
        if not asked.aside.get("allow_auto_topic_creation", True) or all_topics(asked):
            return
        names = asked_topics(asked, self.server.names)
        unknown = [n for n in names if not known.has_topic(n) and not n.startswith(UNKNOWN_ID) and is_legal(n)]
        if len(unknown) > max(room := self._room(), 0):
            log.warning("%s: %d topics are not created, there is room for %d", self._peer(), len(unknown), room)
        elif unknown:
            self.live.create_topics(self.broker, unknown)

    def _answer(self, asked: ReadRequest, answers: Any) -> None:
        """Write the response; close the connection if a frame is lost, or the broker's process has ended."""
        self._busy = False
        if self.transport.is_closing():
            return
        if any(answer is None for answer in answers):
            self.close(f"{asked.api} {asked.version} has no answer: a frame is lost, or the broker has crashed")
            return
        try:
            data = self.server.request_cache.response(asked, answers)
        except Exception:  # a mistake of ours must not reach the brokers, in whose midst this runs
            log.exception("%s: the answer to %s %d", self._peer(), asked.api, asked.version)
            self.close("its answer cannot be written")
            return
        self.server.carried_bytes += len(data)
        self.transport.write(data)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._work)


def missing_library(asked: ReadRequest) -> str:
    """Return which library this Python lacks for a request; "" if none."""
    body = asked.bodies[0] if asked.bodies else None
    try:
        if isinstance(body, Produce):
            for batch in body.batches.values():
                import_codec(batch.codec)
        elif isinstance(body, ListTransactions) and body.transactional_id_pattern:
            import_re2()
        if isinstance(body, ConsumerGroupHeartbeat) and body.subscribed_topic_regex:
            import_re2()
    except ModuleNotFoundError as error:
        return str(error)
    return ""
