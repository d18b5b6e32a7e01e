"""`kafkalab serve` and raw bytes: what it answers, what it refuses, and that nothing of it stops the others."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafkalab.cli.main import main
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.crc32c import crc32c
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeat
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.fetch import Fetch, PartitionFetched
from kafkalab.protocol.messages.find_coordinator import FindCoordinator
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, ListOffsets
from kafkalab.protocol.messages.list_transactions import ListTransactions
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import read_batch
from kafkalab.wire.capture.internal import committed_offset, txn_entry
from kafkalab.wire.capture.records import raw_records
from kafkalab.wire.codec import ReadRequest
from kafkalab.wire.names import UNKNOWN_TOPIC_ID
from kafkalab.wire.primitives import Sink, Source, varint_bytes
from kafkalab.wire.server import Limits, missing_library
from kafkalab.wire.structs import raw
from tests.wire.clients.clusters import lab
from tests.wire.connection import Connection
from tests.wire.serving import serving

SENT = batch_bytes.encode(Batch(records=(Record("k", "v"),), base_offset=0, timestamp_ms=1_700_000_000_000))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serve") / "serve.log"


@pytest.fixture(scope="module")
def servers(log: Path) -> Iterator[str]:
    with serving(log.parent, "--topics", "orders:3,one,read") as found:
        yield found


def leader_of(servers: str, partition: str) -> int:
    """Return the number of the broker that leads it."""
    with Connection(servers) as client:
        return int(client.ask(Metadata(), 12).metadata.partitions[partition].leader[1:])


def produce(batch: Batch, acks: int = -1, partition: str = "orders-0") -> Produce:
    return Produce(transactional_id=None, acks=acks, timeout_ms=1_000, batches={partition: batch})


def with_records(codec: int, data: bytes) -> bytes:
    """Return a batch of one record, whose bytes are these."""
    tail = struct.pack(">h", codec) + SENT[23:61] + data
    return struct.pack(">qiib", 0, 49 + len(data), -1, 2) + struct.pack(">I", crc32c(tail)) + tail


def test_three_brokers_say_the_same_of_the_cluster(servers: str) -> None:
    for broker in (1, 2, 3):
        with Connection(servers, broker) as client:
            image = client.ask(Metadata(topics=("orders",)), 13).metadata
            assert (image.alive, list(image.partitions)) == (("b1", "b2", "b3"), ["orders-0", "orders-1", "orders-2"])


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_finalized_level_is_a_feature(servers: str, version: int) -> None:
    with Connection(servers) as client:
        assert client.ask(ApiVersions(), version).transaction_version == (2 if version >= 3 else 0)


def test_an_unknown_version_of_api_versions_is_answered_with_what_there_is(servers: str) -> None:
    with Connection(servers) as client:
        client.socket.sendall(struct.pack(">ihhih", 10, 18, 99, 5, -1))
        data = client.answer()
    assert struct.unpack_from(">ih", data) == (5, Error.UNSUPPORTED_VERSION.code)
    assert len(raw("ApiVersionsResponse", 0).read(Source(data, 4))["api_keys"]) > 20


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_of_the_consumer_protocol_gets_partitions_by_the_ids_of_their_topics(
    servers: str, version: int
) -> None:
    group_id = f"by-id-{version}"
    with Connection(servers, leader_of(servers, offsets_partition(group_id))) as client:
        joining = ConsumerGroupHeartbeat(
            group_id=group_id, member_id="m", member_epoch=0, subscribed_topic_names=("orders",),
            rebalance_timeout_ms=5_000, topic_partitions=(),
        )  # fmt: skip
        client.names.topic_id("orders")
        joined = client.ask(joining, version)
        orders = ("orders-0", "orders-1", "orders-2")
        assert (joined.error, joined.member_id, joined.assignment) == (Error.NONE, "m", orders)
        left = client.ask(ConsumerGroupHeartbeat(group_id=group_id, member_id="m", member_epoch=-1), version)
        assert (left.error, left.member_epoch) == (Error.NONE, -1)


def test_an_application_with_the_consumer_protocol_reads_and_commits(servers: str) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"bootstrap.servers": servers, "log_level": 0})
    producer.produce("read", key="new protocol", value="v")
    assert producer.flush(20) == 0
    settings = {"bootstrap.servers": servers, "group.id": "new", "group.protocol": "consumer", "log_level": 0}
    consumer = kafka.Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe(["read"])
    message = consumer.poll(20)
    assert message is not None
    assert (message.error(), message.key()) == (None, b"new protocol")
    committed = {one.partition: one for one in consumer.commit(asynchronous=False)}
    consumer.close()
    assert {one.error for one in committed.values()} == {None}
    assert committed[message.partition()].offset == message.offset() + 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a request of 1195725856 bytes"),
        (struct.pack(">i", Limits().request_bytes + 1), "at most"),
        (struct.pack(">i", -1), "a request of -1 bytes"),
        (struct.pack(">i", 4) + b"\0\0\0\0", "bad bytes"),
        (struct.pack(">ihhih", 10, 3, 12, 1, -1), "bad bytes"),
        (struct.pack(">ihhih", 10, 76, 0, 1, -1), "not offered: API 76 0"),
        (struct.pack(">ihhih", 10, 24, 5, 1, -1), "not offered: AddPartitionsToTxn 5"),
    ],
)
def test_bad_bytes_close_the_connection_with_a_log_line(servers: str, log: Path, data: bytes, says: str) -> None:
    lines = len(log.read_text().splitlines())
    with Connection(servers) as client:
        client.socket.sendall(data)
        with pytest.raises(ConnectionError):
            client.answer()
    (line,) = log.read_text().splitlines()[lines:]
    assert says in line
    with Connection(servers) as client:
        assert client.ask(ApiVersions(), 4).error is Error.NONE


def test_records_come_back_as_they_were_sent(servers: str) -> None:
    with Connection(servers, leader_of(servers, "orders-1")) as client:
        (done,) = client.ask(produce(read_batch(SENT), partition="orders-1"), 13).partitions.values()
        assert (done.error, done.base_offset) == (Error.NONE, 0)
        fetch = Fetch(isolation_level="read_committed", positions={"orders-1": 0})
        for version in (4, 12, 13, 18):
            found = client.ask(fetch, version).partitions["orders-1"]
            assert (found.high_watermark, found.last_stable_offset) == (1, 1)
            assert [b.data[16:] for b in found.batches] == [SENT[16:]]


def first_record(servers: str, of: FindCoordinator, request: Any, partition: str) -> tuple[bytes, bytes | None]:
    """Ask this of the coordinator, and return key and value of the first record of its log."""
    with Connection(servers) as client:
        coordinator = int(client.ask(of, 3).node_id[1:])
    with Connection(servers, coordinator) as client:
        client.ask(request, 4)
        fetched = client.ask(Fetch(isolation_level="read_committed", positions={partition: 0}), 12)
    (record, *_) = raw_records(fetched.partitions[partition].batches[0])
    return record.key or b"", record.value


def test_a_client_reads_the_internal_topics_as_kafka_writes_them(servers: str) -> None:
    of = FindCoordinator(key="reader", key_type=1)
    entry = first_record(servers, of, InitProducerId(transactional_id="reader"), transaction_partition("reader"))
    value = txn_entry(*entry)
    assert (value.transactional_id, value.state, value.producer_epoch) == ("reader", "Empty", 0)
    commit = OffsetCommit(group_id="workers", offsets={"orders-0": 7})
    entry = first_record(servers, FindCoordinator(key="workers", key_type=0), commit, offsets_partition("workers"))
    assert committed_offset(*entry) == ("workers/orders-0", "7")


def test_a_batch_with_a_wrong_checksum_is_refused(servers: str) -> None:
    with Connection(servers, leader_of(servers, "orders-0")) as client:
        client.names.topic_id("orders")
        sound = produce(read_batch(SENT))
        damaged = read_batch(SENT)
        object.__setattr__(damaged, "data", SENT[:-1] + b"!")
        assert client.ask(produce(damaged), 9).partitions["orders-0"].error is Error.CORRUPT_MESSAGE
        assert client.ask(sound, 9).partitions["orders-0"].error is Error.NONE


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (with_records(1, b"no gzip"), Error.UNKNOWN_SERVER_ERROR),
        (with_records(5, b"no codec"), Error.UNKNOWN_SERVER_ERROR),
        (struct.pack(">q", 5) + SENT[8:], Error.INVALID_RECORD),
        (SENT[:16] + b"\3" + SENT[17:], Error.CORRUPT_MESSAGE),
    ],
    ids=["gzip", "codec", "base offset", "magic"],
)
def test_records_that_kafka_refuses_are_refused_and_the_log_stays(servers: str, batch: bytes, error: Error) -> None:
    """A broken gzip was appended, and every consumer of the partition failed on it."""
    with Connection(servers, leader_of(servers, "orders-2")) as client:
        before = client.ask(ListOffsets(partitions=("orders-2",), timestamp=LATEST), 7).offsets
        sent = read_batch(SENT)
        object.__setattr__(sent, "data", batch)
        object.__setattr__(sent, "base_offset", int.from_bytes(batch[:8], "big"))
        found = client.ask(produce(sent, partition="orders-2"), 9).partitions["orders-2"]
        assert (found.error, found.base_offset) == (error, -1)
        assert client.ask(ListOffsets(partitions=("orders-2",), timestamp=LATEST), 7).offsets == before


@pytest.mark.parametrize(
    ("library", "body", "says"),
    [
        ("cramjam", produce(read_batch(with_records(4, b"zstd"))), "snappy, lz4 and zstd need cramjam: pip install '"),
        ("cramjam", produce(read_batch(with_records(1, b"gzip"))), ""),
        ("re2", ListTransactions(transactional_id_pattern="a+"), "to list transactions or subscribe by a pattern"),
        ("re2", ListTransactions(), ""),
        ("re2", ApiVersions(), ""),
    ],
)  # fmt: skip
def test_what_needs_a_library_that_is_not_there_ends_the_connection_with_its_name(
    library: str, body: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ReadRequest("", 0, 0, "", (body,))
    assert missing_library(asked) == ""
    monkeypatch.setitem(sys.modules, library, None)
    assert missing_library(asked).startswith(says)
    assert bool(missing_library(asked)) == bool(says)


def test_a_partition_that_is_named_twice_has_no_offset_whatever_it_is_asked_for(servers: str) -> None:
    """With two timestamps too, which are two of our messages; a running Kafka 4.3.1 answers so."""
    rows = [{"partition_index": 0, "timestamp": LATEST}, {"partition_index": 0, "timestamp": EARLIEST}]
    with Connection(servers, leader_of(servers, "orders-0")) as client:
        sink = Sink(struct.pack(">hhih", 2, 5, 7, -1))
        raw("ListOffsetsRequest", 5).write(sink, {"replica_id": -1, "topics": [{"name": "orders", "partitions": rows}]})
        client.socket.sendall(struct.pack(">i", len(sink)) + sink)
        (topic,) = raw("ListOffsetsResponse", 5).read(Source(client.answer(), 4))["topics"]
        assert [(p["error_code"], p["offset"]) for p in topic["partitions"]] == [(Error.INVALID_REQUEST.code, -1)]


def test_limits_of_a_fetch_and_the_end_of_an_epoch_travel_in_bytes(servers: str) -> None:
    with Connection(servers, leader_of(servers, "one-0")) as client:
        client.names.topic_id("one")
        assert client.ask(produce(read_batch(SENT), partition="one-0"), 9).partitions["one-0"].error is Error.NONE

        def fetch_one(at: int = 0, **fields: Any) -> PartitionFetched:
            request = Fetch(isolation_level="read_uncommitted", positions={"one-0": at}, max_wait_ms=0, **fields)
            found: PartitionFetched = client.ask(request, 12).partitions["one-0"]
            return found

        assert fetch_one(max_bytes=-1).error is Error.UNKNOWN_SERVER_ERROR
        assert fetch_one(partition_max_bytes={"one-0": -1}).error is Error.UNKNOWN_SERVER_ERROR
        assert len(fetch_one(max_bytes=0, partition_max_bytes={"one-0": 0}).batches) == 1
        assert fetch_one(9, last_fetched_epochs={"one-0": 0}).diverging == (0, 1)
        assert fetch_one(last_fetched_epochs={"one-0": 9}).error is Error.OFFSET_OUT_OF_RANGE
        assert fetch_one(1, last_fetched_epochs={"one-0": 0}).diverging is None


@pytest.mark.parametrize("tag", [5, 10_000])
def test_a_request_with_unknown_tagged_fields_is_answered(servers: str, tag: int) -> None:
    """KIP-482: readers skip them. The connection was closed."""
    with Connection(servers) as client:
        tagged = b"\x01" + varint_bytes(tag) + b"\x02ab"
        body = struct.pack(">hhih", 18, 3, 99, -1) + b"\0\x02a\x02b" + tagged
        client.socket.sendall(struct.pack(">i", len(body)) + body)
        assert struct.unpack_from(">ih", client.answer()) == (99, 0)


def test_no_answer_where_none_is_wanted(servers: str) -> None:
    with Connection(servers, leader_of(servers, "orders-2")) as client:
        client.send(produce(read_batch(SENT), acks=0, partition="orders-2"), 9)
        latest = ListOffsets(partitions=("orders-2",), timestamp=LATEST)
        assert client.ask(latest, 7).offsets == {"orders-2": 1}


def test_an_unknown_topic_is_created_when_a_client_names_it(servers: str) -> None:
    with Connection(servers) as client:
        assert client.ask(Metadata(topics=("made",)), 12).metadata.partitions == {}
        until = time.monotonic() + 10
        while not client.ask(Metadata(topics=("made",)), 12).metadata.partitions and time.monotonic() < until:
            time.sleep(0.05)
        assert list(client.ask(Metadata(topics=("made",)), 12).metadata.partitions) == ["made-0"]


def test_a_topic_id_that_nobody_gave_out(servers: str) -> None:
    with Connection(servers) as client:
        client.send(Fetch(isolation_level="read_committed", positions={"never heard of-0": 0}), 17)
        found = raw("FetchResponse", 17).read(Source(client.answer(), 5))
    assert found["responses"][0]["partitions"][0]["error_code"] == UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [10, 11, 12])
@pytest.mark.parametrize("given", [{"name": None}, {"topic_id": uuid4()}, {"name": None, "topic_id": uuid4()}])
def test_topics_have_names_and_no_ids_before_version_12(servers: str, version: int, given: dict[str, Any]) -> None:
    if version == 12 and len(given) < 2:
        return
    with Connection(servers) as client:
        found = _exchange(client, "Metadata", version, {"topics": [{"name": "orders", **given}]})
    (row,) = found["topics"]
    assert row["error_code"] == (Error.INVALID_REQUEST.code if version < 12 else UNKNOWN_TOPIC_ID)
    named = None if version == 12 else given.get("name", "orders") or ""
    assert (row["name"], row["partitions"]) == (named, ())


def test_requests_about_several_things_are_answered_in_one(servers: str) -> None:
    with Connection(servers) as client:
        found = _exchange(client, "FindCoordinator", 6, {"key_type": 1, "coordinator_keys": ("a", "b")})
        assert [row["key"] for row in found["coordinators"]] == ["a", "b"]
        assert all(row["port"] > 0 for row in found["coordinators"])
        found = _exchange(client, "OffsetFetch", 8, {"groups": [{"group_id": "g"}] * 2})
        assert [row["group_id"] for row in found["groups"]] == ["g", "g"]
        times = [{"partition_index": n, "timestamp": time} for n, time in enumerate((EARLIEST, LATEST))]
        found = _exchange(client, "ListOffsets", 7, {"topics": [{"name": "orders", "partitions": times}]})
        assert [row["partition_index"] for topic in found["topics"] for row in topic["partitions"]] == [0, 1]


def _exchange(client: Connection, api: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
    """Send a flexible request of these fields of Kafka's; return those of its response."""
    sink = Sink(struct.pack(">hhih", BY_NAME[api].key, version, 1, -1) + b"\0")
    raw(f"{api}Request", version).write(sink, values)
    client.socket.sendall(struct.pack(">i", len(sink)) + sink)
    found: dict[str, Any] = raw(f"{api}Response", version).read(Source(client.answer(), 5))
    return found


def test_topics_are_created_and_described(servers: str) -> None:
    with Connection(servers) as client:
        request = CreateTopics(topics=(NewTopic(name="new", num_partitions=2), NewTopic(name="no/good")))
        assert client.ask(request, 7).errors == {"new": Error.NONE, "no/good": Error.INVALID_TOPIC_EXCEPTION}
        assert client.ask(ListOffsets(partitions=("nowhere-0",), timestamp=EARLIEST), 7).errors == {
            "nowhere-0": Error.UNKNOWN_TOPIC_OR_PARTITION
        }


def test_requests_that_are_sent_ahead_are_answered_in_order(servers: str) -> None:
    with Connection(servers) as client:
        for _ in range(300):
            client.send(ApiVersions(), 4)
        assert [struct.unpack_from(">i", client.answer())[0] for _ in range(300)] == list(range(1, 301))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--cluster-level", "3"), "the cluster level (transaction.version) is 1 or 2, not 3"),
        (("--topics", "orders:x"), "--topics orders:3,payments:1, not 'orders:x'"),
        (("--topics", "orders:²"), "--topics orders:3,payments:1, not 'orders:²'"),
        (("--port", "70000"), "a port, at most 65,535, not '70000'"),
        (("--port", "65534"), "the last port there is is 65,535"),
        (("--brokers", "0"), "a number from 1 on, not '0'"),
        (("--config", "min.insync.replicas"), "--config min.insync.replicas=2"),
        (("--config", "min.insync.replicas=²"), "a whole number, not '²'"),
        (("--fault", "Delay:EndTxn#1:²"), "not 'Delay:EndTxn#1:²'"),
        (("--config", "nonsense=1"), "config has broker settings"),
        (("--fault", "Crash:b1:x"), "a fault is Drop:EndTxnResponse#1"),
        (("--fault", "Crash:b7"), "b7"),
        (("--fault", "Restart:b1"), "b1 is not down"),
    ],
)
def test_a_wrong_option_is_one_line(options: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_port_that_is_taken_is_one_line(servers: str) -> None:
    port = servers.split(",")[0].rsplit(":", 1)[1]
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", "--port", port]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)


def test_a_folder_is_for_one_server_and_one_cluster_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", str(tmp_path / "data"))
    with serving(tmp_path, *data, "--topics", "kept:2"):
        assert main(["serve", "--port", "0", *data]) == 2
        assert "is in use by another process" in capsys.readouterr().err
    assert main(["serve", "--port", "0", *data, "--cluster-level", "1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is of a cluster of level 2, not of level 1" in line
    with serving(tmp_path, *data) as found, Connection(found) as client:
        assert list(client.ask(Metadata(topics=("kept",)), 12).metadata.partitions) == ["kept-0", "kept-1"]


def test_control_c_stops_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline().startswith("ready: 127.0.0.1:")
    server.send_signal(signal.SIGINT)
    assert server.communicate(timeout=30) == ("", "")
    assert server.returncode == 0


def test_faults_typed_while_it_runs(tmp_path: Path) -> None:
    with lab(tmp_path, 2) as cluster, Connection(cluster.servers, broker=2) as connection:
        assert connection.ask(ApiVersions(), 3).error is Error.NONE
        cluster.type("nonsense")
        cluster.type("Crash:b2")
        with pytest.raises(ConnectionError):
            connection.answer()
    logged = (tmp_path / "serve.log").read_text()
    assert "a fault is Drop:EndTxnResponse#1" in logged
    assert "a fault is typed: Crash:b2\n" in logged


def test_faults_that_strike_and_those_that_never_do_are_printed(tmp_path: Path) -> None:
    options = ["--port", "0", "--fault", "Drop:t:ApiVersions#2", "--fault", "Hold:t:Fetch#1"]
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    servers = server.stdout.readline().removeprefix("ready: ").strip()
    with Connection(servers, 1, "t") as connection:
        assert connection.ask(ApiVersions(), 3).error is Error.NONE
        with pytest.raises(ConnectionError):
            connection.ask(ApiVersions(), 3)
    server.send_signal(signal.SIGTERM)
    said = server.communicate(timeout=30)[0].splitlines()
    assert said == [
        "struck: Drop(frame='t:ApiVersions#2')",
        "unknown: the fault Hold(frame='t:Fetch#1') never struck: t:Fetch#1 has not been sent",
    ]


def test_a_broker_crashes_at_its_time(tmp_path: Path) -> None:
    with lab(tmp_path, 2, "Crash:b2:700") as cluster, Connection(cluster.servers, broker=2) as connection:
        assert connection.ask(ApiVersions(), 3).error is Error.NONE
        with pytest.raises(ConnectionError):
            connection.answer()
