"""A tap passes bytes on, keeps clients on its side, and records what it sees."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkalab.live.tap import Tap
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.fetch import Fetch
from kafkalab.protocol.messages.find_coordinator import TRANSACTION, FindCoordinator
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.list_offsets import LATEST, ListOffsets
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.wire.codec import request_bytes
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.primitives import Sink, Source
from kafkalab.wire.structs import raw
from kafkalab.wire.tap.addresses import places_in, with_doors
from kafkalab.wire.tap.cluster_view import Knowledge
from kafkalab.wire.tap.frames import Answer, read_frame
from kafkalab.wire.tap.proxy import TapError
from kafkalab.wire.tap.session import load_tap
from tests.wire.tap.behind import asker, exchange, start_tap, until

NAMES = LearnedNames()


def coordinator(tap: Tap, tid: str) -> Any:
    found = asker(tap).ask(FindCoordinator(key=tid, key_type=TRANSACTION), 2)
    return asker(tap, int(found.node_id[1:]))


def leader(tap: Tap, partition: str) -> Any:
    image = asker(tap).ask(Metadata(topics=(partition.rpartition("-")[0],)), 7).metadata
    return asker(tap, int(image.leader(partition)[1:]))


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (ApiVersions(), 4),
        (ListOffsets(partitions=("in-0",), timestamp=LATEST), 4),
        (InitProducerId(transactional_id="nobody's coordinator"), 1),
    ],
)
def test_bytes_that_name_no_address_pass_unchanged(body: object, version: int, servers: str) -> None:
    with start_tap(servers) as tap:
        data = request_bytes(type(body).__name__, version, 7, "app", body, NAMES)
        direct, through = servers.split(",")[1], tap.bootstrap_servers.split(",")[1]
        assert exchange(through, data) == exchange(direct, data) != b""


@pytest.mark.parametrize("version", [0, 1, 7, 12])
def test_metadata_names_the_doors(version: int, servers: str) -> None:
    with start_tap(servers) as tap:
        client = asker(tap)
        client.ask(Metadata(topics=("in",)), version)
        places = client.names.addresses.values()
        assert ",".join(f"{host}:{port}" for host, port in places) == tap.bootstrap_servers != servers


@pytest.mark.parametrize("version", [0, 2, 4, 6])
def test_a_coordinator_is_behind_its_door(version: int, servers: str) -> None:
    with start_tap(servers) as tap:
        data = asker(tap).exchange(FindCoordinator(key="pay", key_type=TRANSACTION if version else 0), version)
        found = raw("FindCoordinatorResponse", version).read(Source(data, 4 + (version >= 3)))
        row = found["coordinators"][0] if version >= 4 else found
        assert f"{row['host']}:{row['port']}" == tap.bootstrap_servers.split(",")[row["node_id"] - 1]


def transaction(tap: Tap) -> None:
    """One transaction of version 2 with one record."""
    at_coordinator = coordinator(tap, "pay")
    got = at_coordinator.ask(InitProducerId(transactional_id="pay"), 4)
    of = {"producer_id": got.producer_id, "producer_epoch": got.producer_epoch}
    batch = Batch(records=(Record("k", "v"),), base_sequence=0, transactional=True, timestamp_ms=1, **of)
    leader(tap, "in-0").ask(Produce(transactional_id="pay", acks=-1, timeout_ms=1000, batches={"in-0": batch}), 12)
    at_coordinator.ask(EndTxn(transactional_id="pay", committed=True, **of), 5)


def test_frames_have_the_simulators_names_and_tell_of_logs_and_states(servers: str) -> None:
    with start_tap(servers) as tap:
        transaction(tap)
        recording = tap.recording()
    trace = recording.trace
    assert [f.id for f in trace.frames.values() if f.kind == "request" and f.name != "Metadata"] == [
        "FindCoordinator#1", "InitProducerId#1", "Produce#1", "EndTxn#1"
    ]  # fmt: skip
    assert trace.frames["EndTxnResponse#1"].of == "EndTxn#1"
    assert {f.fate for f in trace.frames.values()} == {"delivered"}
    (appended,) = trace.of("append")
    produced = trace.frames["ProduceResponse#1"].body.partitions["in-0"]
    assert (appended.name, tuple(appended.data.records)) == ("in-0", (Record("k", "v"),))
    assert appended.data.base_offset == produced.base_offset
    assert trace.events[appended.cause].frame == "Produce#1"
    states = [e.data["state"] for e in trace.of("state", "transaction")]
    assert states == ["Empty", "Ongoing", "PrepareCommit"]
    assert [e.data["partitions"] for e in trace.of("state", "transaction")][1:] == [["in-0"], ["in-0"]]
    assert [e.data["state"] for e in trace.of("state", "producer")] == ["READY", "IN_TRANSACTION", "READY"]
    assert recording.cast.nodes == ("app", "b1", "b2", "b3")


def test_an_api_without_a_message_is_shown_by_its_name(servers: str) -> None:
    share_group_heartbeat = (76).to_bytes(2, "big") + b"\0\1\0\0\0\7\0\3app\0"
    with start_tap(servers) as tap:
        answer = exchange(
            tap.bootstrap_servers.split(",")[0], len(share_group_heartbeat).to_bytes(4, "big") + share_group_heartbeat
        )
        until(lambda: tap.recording().trace.frames["ShareGroupHeartbeat#1"].fate != "in flight")
        frame = tap.recording().trace.frames["ShareGroupHeartbeat#1"]
    assert answer == b""  # `kafkalab serve` does not offer it, and closes the connection
    assert (frame.sender, frame.body.api_key, frame.body.bytes, frame.fate) == ("app", 76, 14, "delivered")


def test_a_saved_session_gives_the_same_trace(servers: str, tmp_path: Path) -> None:
    with start_tap(servers, save=tmp_path / "x.tap") as tap:
        transaction(tap)
        digest = tap.recording().trace.digest()
    path = tmp_path / "x.tap"
    assert load_tap(path).recording().trace.digest() == digest
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:-5])
    assert load_tap(path).recording().trace.digest() != digest
    path.write_text("".join([*lines[:3], '["answered",1,99,"AAAA"]\n']))
    with pytest.raises(ValueError, match=r"x\.tap: line 4 is no row of a session"):
        load_tap(path)
    path.write_text("{}\n")
    with pytest.raises(ValueError, match="no session that a tap saved"):
        load_tap(path)


def test_a_password_is_not_saved(servers: str, tmp_path: Path) -> None:
    secret = b"\0user\0open sesame"
    sasl = (36).to_bytes(2, "big") + b"\0\0\0\0\0\7\0\3app" + len(secret).to_bytes(4, "big") + secret
    with start_tap(servers, save=tmp_path / "x.tap") as tap:
        exchange(tap.bootstrap_servers.split(",")[0], len(sasl).to_bytes(4, "big") + sasl)
        until(lambda: "SaslAuthenticate#1" in tap.recording().trace.frames)
    rows = load_tap(tmp_path / "x.tap").recording().trace.frames
    assert rows["SaslAuthenticate#1"].body.bytes == 13


def test_what_is_kept_is_bounded_and_frames_pass_on(servers: str) -> None:
    with start_tap(servers, events=20) as tap:
        transaction(tap)
        transaction(tap)
        trace = tap.recording().trace
        assert "full" in repr(tap)
        assert "Recording has stopped after 2" in Sequence(tap).text()
    assert 21 <= len(trace.events) <= 25
    assert [event.step for event in trace.of("state", "recording stopped")] == [len(trace.events) - 1]
    assert all(event.step == place for place, event in enumerate(trace.events))


def test_no_kafka_is_one_sentence() -> None:
    with pytest.raises(TapError, match=r"127.0.0.1:1 does not answer as a Kafka broker"):
        Tap("127.0.0.1:1")
    with pytest.raises(ValueError, match="an address is HOST:PORT, not 'localhost'"):
        Tap("localhost")


def test_an_address_that_never_answers_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason was "()": a TimeoutError has no text, and is true all the same."""
    monkeypatch.setattr("kafkalab.wire.tap.proxy.ASK_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        said = f"^{where} has not answered within 0.2 s; is it the address of a Kafka broker\\?$"
        with pytest.raises(TapError, match=said):
            Tap(where)


def test_tls_is_named(servers: str, caplog: pytest.LogCaptureFixture) -> None:
    with start_tap(servers) as tap:
        assert exchange(tap.bootstrap_servers.split(",")[0], b"\x16\x03\x01\x02\x00\x01\x00") == b""
        until(lambda: "TLS" in caplog.text)
    assert "closed, a client speaks TLS; the tap reads only plain text" in caplog.text


def test_views_show_a_tap(servers: str) -> None:
    with start_tap(servers) as tap:
        with pytest.raises(ValueError, match="no frame has passed yet"):
            Sequence(tap)
        transaction(tap)
        view = Sequence(tap)
        view.press("end")
        assert "pay: PrepareCommit" in view.text()
        assert "EndTxnResponse#1" in view.text()
        with pytest.raises(ValueError, match="recorded before a running Kafka"):
            view.press("drop", "EndTxn#1")
        assert "<svg" in view.svg()
        assert LogTape(tap).text()


def test_a_batch_that_a_reader_shows_late_stands_at_its_offset(servers: str) -> None:
    with start_tap(servers) as tap:
        transaction(tap)
        transaction(tap)
        at = leader(tap, "in-0")
        at.ask(Fetch(isolation_level="read_committed", positions={"in-0": 0}), 11)
        view = Sequence(tap)
        view.press("end")
        line = next(line for line in view.text().splitlines() if line.startswith("in-0 on"))
    offsets = [int(word[1:]) for word in line.split() if word.startswith("[")]
    assert offsets == sorted(offsets)
    assert "COMMIT" in line


def test_a_leaders_address_in_an_answer_is_its_door() -> None:
    """KIP-951: a Produce that was sent to the wrong broker is answered with the right one's address."""
    sink = Sink(b"\0\0\0\7\0")
    raw("ProduceResponse", 10).write(sink, {"node_endpoints": [{"node_id": 2, "host": "far", "port": 9092}]})
    empty = Produce(transactional_id=None, acks=1, timeout_ms=1, batches={})
    asked = read_frame(request_bytes("Produce", 10, 7, "app", empty, NAMES)[4:], NAMES)
    answer = Answer(asked, bytes(sink))
    assert places_in(answer) == {2: ("far", 9092)}
    moved = Answer(asked, with_doors(answer, lambda node_id, host, port: ("127.0.0.1", 19093)))
    assert moved.values is not None
    (moved_to,) = moved.values["node_endpoints"]
    assert (moved_to["node_id"], moved_to["host"], moved_to["port"]) == (2, "127.0.0.1", 19093)


def test_the_command_prints_frames_and_ends_cleanly(servers: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafkalab.cli.main", "tap", servers.split(",")[0], "--port", "0"]
    command += ["--save", str(tmp_path / "x.tap"), "--faults", "Drop:EndTxn#9"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    door = running.stdout.readline().removeprefix("ready: ").strip().split(",")[0]
    exchange(door, request_bytes("ApiVersions", 3, 1, "app", ApiVersions(), NAMES))
    lines = [running.stdout.readline() for _ in range(2)]
    running.terminate()
    said, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert "app → b1  ApiVersions#1 v3" in lines[0]
    assert "b1 → app  ApiVersionsResponse#1 v3" in lines[1]
    assert "2 frames passed" in errors
    assert said == "unknown: the fault Drop(frame='EndTxn#9') never struck: EndTxn#9 has not been sent\n"
    assert list(load_tap(tmp_path / "x.tap").recording().trace.frames) == ["ApiVersions#1", "ApiVersionsResponse#1"]


def test_a_mistake_in_what_is_learned_keeps_no_answer_from_its_client(
    servers: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Knowledge, "broker_did", wrong)
    with start_tap(servers) as tap:
        assert asker(tap).ask(Metadata(topics=("in",)), 7).metadata.has_topic("in")
    assert "what the answer to Metadata#1 tells is not shown" in caplog.text


def test_a_request_whose_connection_broke_counts_as_an_attempt(servers: str) -> None:
    body = InitProducerId(transactional_id=None)
    with start_tap(servers, faults=True) as tap:
        tap.drop("InitProducerIdResponse#1")
        with pytest.raises((EOFError, OSError)):
            asker(tap).ask(body, 4)
        for _ in range(2):
            asker(tap).ask(body, 4)
        frames = tap.recording().trace.frames
    assert [frames[f"InitProducerId#{n}"].attempt for n in (1, 2, 3)] == [1, 2, 1]
