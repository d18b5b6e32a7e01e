"""What one client, or many, may take of a server, and that the others are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import resource
import socket
import struct
import time
from collections.abc import Awaitable, Callable

import pytest

from kafkalab.faults.node import Crash, Restart
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.delete_groups import DeleteGroups
from kafkalab.protocol.messages.fetch import Fetch
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import read_batch
from kafkalab.wire.codec import read_response, request_bytes
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.server import REQUESTS_AHEAD, Limits, Server

MEGABYTE = 1024 * 1024
VALUE = "x" * 900_000
OPENED: list[asyncio.StreamWriter] = []


class Client:
    """A connection to the server's first broker, or to another one."""

    def __init__(self, server: Server) -> None:
        self.server, self.count = server, 0

    async def open(self, broker: str = "b1") -> Client:
        self.reader, self.writer = await asyncio.open_connection(*self.server.names.addresses[broker])
        OPENED.append(self.writer)
        return self

    def send(self, body: object, version: int) -> None:
        self.count += 1
        api = type(body).__name__
        self.writer.write(request_bytes(api, version, self.count, "c", body, self.server.names))

    async def ask(self, body: object, version: int) -> object:
        self.send(body, version)
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return read_response(type(body).__name__, version, await self.reader.readexactly(size), self.server.names)[1]

    async def is_closed(self) -> bool:
        """Wait until the server has closed the connection."""
        with contextlib.suppress(ConnectionError):
            while await asyncio.wait_for(self.reader.read(MEGABYTE), 20):
                pass
        return True

    async def is_served(self, within_s: float = 10) -> bool:
        answer = await asyncio.wait_for(self.ask(ApiVersions(), 3), within_s)
        return getattr(answer, "error", None) is Error.NONE


def serve_scene(scene: Callable[[Server], Awaitable[None]], **limits: float) -> None:
    """Run a scene with a server that has these limits."""

    async def run() -> None:
        live = RealTime(scenario_of(2, 3, {"t": 3}, {}))
        server = Server(live, Limits(**limits))  # type: ignore[arg-type]
        await server.listen(port=0)
        try:
            await scene(server)
        finally:
            for writer in OPENED:
                writer.transport.abort()
            OPENED.clear()
            await server.close()
            await asyncio.sleep(0)

    asyncio.run(run())


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


def test_connections_are_limited_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        first, _, third = [await Client(server).open() for _ in range(3)]
        assert await third.is_closed()
        assert await first.is_served()

    serve_scene(scene, connections=2)
    assert "refused, there are 2 connections" in caplog.text


def test_a_connection_on_which_nothing_comes_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        half_open = await Client(server).open()
        half_open.writer.write(struct.pack(">i", 1_000) + b"half")
        assert await half_open.is_closed()
        assert server.unread_bytes == 0

    serve_scene(scene, idle_s=0.3)
    assert "closed, idle for 0.3 s" in caplog.text


def test_requests_that_are_never_whole_take_no_more_than_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        halves = [await Client(server).open() for _ in range(6)]
        for client in halves:
            client.writer.write(struct.pack(">i", 8 * MEGABYTE) + bytes(MEGABYTE))
            with contextlib.suppress(ConnectionError):
                await client.writer.drain()
        ended = time.monotonic() + 20
        while "bytes that cannot be handled yet" not in caplog.text and time.monotonic() < ended:
            await asyncio.sleep(0.02)
        assert server.unread_bytes <= 4 * MEGABYTE
        assert await (await Client(server).open()).is_served()

    serve_scene(scene, unread_bytes=4 * MEGABYTE)
    assert "bytes that cannot be handled yet" in caplog.text


async def _fill(server: Server, batches: int) -> str:
    """Write records of a megabyte to t-0; return its leader."""
    leader = server.live.cluster.controller.metadata.leader("t-0")
    client = await Client(server).open(leader)
    record = batch_bytes.encode(Batch(records=(Record(None, VALUE),), base_offset=0, timestamp_ms=1))
    request = Produce(transactional_id=None, acks=-1, timeout_ms=1_000, batches={"t-0": read_batch(record)})
    for _ in range(batches):
        await client.ask(request, 9)
    client.writer.close()
    return leader


def test_slow_readers_are_closed_when_they_hold_too_much(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        leader = await _fill(server, 1)
        slow = [await Client(server).open(leader) for _ in range(16)]  # of each some part of a megabyte stays unsent
        for client in slow:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(40):
                client.send(Fetch(isolation_level="read_uncommitted", positions={"t-0": 0}), 12)
        ended = time.monotonic() + 20
        while "bytes unread" not in caplog.text and time.monotonic() < ended:
            await asyncio.sleep(0.02)
        assert server.unsent_bytes <= 3 * MEGABYTE
        assert await (await Client(server).open(leader)).is_served()
        for client in slow:
            client.writer.transport.abort()
        await asyncio.sleep(0.2)
        assert server.unsent_bytes == 0

    serve_scene(scene, unsent_bytes=3 * MEGABYTE)
    assert "leave" in caplog.text
    assert "bytes unread" in caplog.text


def test_a_slow_reader_is_asked_nothing_more_and_gets_all_its_answers() -> None:
    async def scene(server: Server) -> None:
        client = await Client(server).open(await _fill(server, 3))
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(20):
            client.send(Fetch(isolation_level="read_uncommitted", positions={"t-0": 0}), 12)
        await asyncio.sleep(0.3)
        assert sum(c.transport.get_write_buffer_size() for c in server.connections) < 6 * MEGABYTE
        assert server.unsent_bytes < 6 * MEGABYTE
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(20):
            size = int.from_bytes(await client.reader.readexactly(4), "big")
            assert len(await client.reader.readexactly(size)) == size

    serve_scene(scene)


def test_requests_behind_one_that_waits_are_read_and_answered_once_it_is() -> None:
    """More are waiting than are read ahead, so reading pauses; the rest of them comes in later reads."""

    async def scene(server: Server) -> None:
        leader = server.live.cluster.controller.metadata.leader("t-0")
        client = await Client(server).open(leader)
        client.send(Fetch(isolation_level="read_uncommitted", positions={"t-0": 0}, max_wait_ms=500, min_bytes=1), 12)
        for _ in range(2 * REQUESTS_AHEAD):
            client.send(Metadata(topics=tuple("#" * 200 + str(n) for n in range(30))), 12)
        for number in range(1, client.count + 1):
            size = int.from_bytes(await asyncio.wait_for(client.reader.readexactly(4), 20), "big")
            assert int.from_bytes((await client.reader.readexactly(size))[:4], "big") == number

    serve_scene(scene)


def test_an_answer_that_cannot_be_written_closes_its_connection_with_a_log_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(server: Server) -> None:
        client = await Client(server).open()
        monkeypatch.setattr(server.request_cache, "response", lambda asked, answers: 1 // 0)
        client.send(ApiVersions(), 3)
        assert await client.is_closed()
        monkeypatch.undo()
        assert await (await Client(server).open()).is_served()

    serve_scene(scene)
    (peer,) = re.findall(r"(b1 127\.0\.0\.1:\d+): the answer to ApiVersions 3\n", caplog.text)
    assert f"{peer}: closed, its answer cannot be written" in caplog.text


def test_a_thousand_connections_leave_the_others_served() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2_300  # both ends of each connection are in this process
    if hard < wanted:
        pytest.skip(f"this machine allows a process {hard} files")

    async def scene(server: Server) -> None:
        busy = await Client(server).open()
        many = [await Client(server).open() for _ in range(1_000)]
        assert len(server.connections) == 1_001
        times = []
        for _ in range(20):
            began = time.process_time()
            assert await busy.is_served()
            times.append(time.process_time() - began)
        assert sorted(times)[10] < 0.05
        for client in many[::100]:
            assert await client.is_served()

    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        serve_scene(scene)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_partitions_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        greedy = await Client(server).open()
        greedy.send(CreateTopics(topics=(NewTopic(name="huge", num_partitions=2**31 - 1),)), 7)
        assert await greedy.is_closed()
        client = await Client(server).open()
        await client.ask(Metadata(topics=tuple(f"auto{n}" for n in range(60))), 12)
        await client.ask(Metadata(topics=tuple(f"just{n}" for n in range(47))), 12)
        image = server.live.cluster.controller.metadata
        assert (image.has_topic("auto0"), image.has_topic("just46"), image.has_topic("huge")) == (False, True, False)

    serve_scene(scene, partitions=150)
    assert "it wants 2147483647 partitions; 47 more can be made" in caplog.text
    assert "60 topics are not created, there is room for 47" in caplog.text


def test_a_request_of_too_many_rows_is_refused_and_the_others_are_served(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(server: Server) -> None:
        other = await Client(server).open()
        assert await other.is_served()
        greedy = await Client(server).open()
        data = struct.pack(">hhihi", 3, 1, 1, -1, 1_500_000) + b"\0\0" * 1_500_000
        greedy.writer.write(struct.pack(">i", len(data)) + data)
        began = time.process_time()
        assert await greedy.is_closed()
        assert await other.is_served()
        assert time.process_time() - began < 1

    serve_scene(scene)
    assert "closed, bad bytes: a request of more than 30,000 rows and tagged fields" in caplog.text


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (Metadata(topics=tuple(f"t{n}" for n in range(25_000))), 4),
        (DeleteGroups(groups=tuple(f"g{n}" for n in range(25_000))), 1),
    ],
    ids=["Metadata", "DeleteGroups"],
)
def test_the_largest_requests_cost_a_time_that_grows_with_their_rows(body: object, version: int) -> None:
    """Of 25,000 unknown topics each was searched among all partitions, and each group's answer among all answers."""
    async def scene(server: Server) -> None:
        client = await Client(server).open()
        await client.ask(CreateTopics(topics=(NewTopic(name="wide", num_partitions=3_000, replication_factor=1),)), 7)
        client.send(body, version)
        began = time.process_time()
        size = int.from_bytes(await client.reader.readexactly(4), "big")
        await client.reader.readexactly(size)
        assert time.process_time() - began < 3

    serve_scene(scene)


def test_many_names_of_clients_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalab.wire.live.MOST_CLIENTS", 20)
    live = RealTime(scenario_of(2, 3, {}, {}))
    names = [live.client(f"{n}" * 300) for n in range(100)]
    live.stop()
    assert max(map(len, names)) <= 249
    assert len(live.kernel.nodes) <= 22


def test_the_server_listens_where_it_is_told() -> None:
    async def run() -> None:
        server = Server(RealTime(scenario_of(2, 1, {}, {})))
        await server.listen(host="127.0.0.3", port=0, advertised="localhost.test")
        host, port = server.names.addresses["b1"]
        reader, writer = await asyncio.open_connection("127.0.0.3", port)
        assert host == "localhost.test"
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await server.close()
        assert await reader.read() == b""

    with contextlib.suppress(ConnectionResetError):
        asyncio.run(run())


def test_a_fetch_that_waits_leaves_nothing_where_nothing_comes() -> None:
    async def scene(server: Server) -> None:
        leader = server.live.cluster.controller.metadata.leader("t-0")
        client = await Client(server).open(leader)
        asked = Fetch(isolation_level="read_uncommitted", positions={"t-0": 0}, max_wait_ms=5, min_bytes=1)
        for _ in range(20):
            await client.ask(asked, 12)
        assert server.live.cluster.brokers[leader].state.parked_fetches == {"t-0": []}

    serve_scene(scene)


def test_a_crashed_broker_refuses_connections_until_it_has_started_again() -> None:
    async def scene(server: Server) -> None:
        client = await Client(server).open("b2")
        server.live.strike(Crash("b2", at_ms=0))
        assert await client.is_closed()
        with pytest.raises(ConnectionRefusedError):
            await Client(server).open("b2")
        assert await (await Client(server).open("b1")).is_served()
        host, port = server.names.addresses["b2"]
        with socket.create_server((host, port)):  # somebody else has the port for a while
            server.live.strike(Restart("b2", at_ms=0))
            await asyncio.sleep(0.1)
        async with asyncio.timeout(20):
            while "b2" not in server._listeners:
                await asyncio.sleep(0.05)
        assert server.names.addresses["b2"] == (host, port)
        assert await (await Client(server).open("b2")).is_served()

    serve_scene(scene)
