"""A capture has every record and marker, goes on where it stopped, and its audit claims no more than a log tells."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.from_a_log import BY_DECISIONS, COMPACTED, COMPLETE, DESCRIBED, NEEDS, UNREAD, needs
from kafkalab.cli.main import main
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.wire.capture import reading
from kafkalab.wire.capture.source import CaptureError, Source
from tests.wire.capture.written import writer
from tests.wire.serving import serving


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Brokers with a committed, two aborted and an open transaction."""
    with serving(tmp_path_factory.mktemp("serve"), "--topics", "in:2,out:1", "--cluster-level", "1") as found:
        with writer(found, "pay") as pay, writer(found, "open") as still:
            pay.write("in-0", "a", "b")
            pay.write("out-0", "c")
            pay.end(committed=True)
            for value in ("no", "no more"):
                pay.write("in-0", value)
                pay.end(committed=False)
            still.write("out-0", "later")
            time.sleep(0.2)  # the markers are written behind the answer
        yield found


def run_capture(servers: str, folder: Path, *more: str) -> int:
    return main(["capture", servers.split(",")[0], "--topics", "in,out", "--out", str(folder), "--quiet", *more])


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found = [row for file in sorted((folder / table).rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: (row.get("key", ""), row.get("offset", 0)))


def test_a_capture_has_records_and_markers(servers: str, tmp_path: Path) -> None:
    assert run_capture(servers, tmp_path / "night") == 0
    log = rows(tmp_path / "night", "log")
    assert [(r["key"], r["offset"], r["value"], r["control"], r["transactional"]) for r in log] == [
        ("in-0", 0, "a", "", True),
        ("in-0", 1, "b", "", True),
        ("in-0", 2, None, "COMMIT", True),
        ("in-0", 3, "no", "", True),
        ("in-0", 4, None, "ABORT", True),
        ("in-0", 5, "no more", "", True),
        ("in-0", 6, None, "ABORT", True),
        ("out-0", 0, "c", "", True),
        ("out-0", 1, None, "COMMIT", True),
        ("out-0", 2, "later", "", True),
    ]
    assert [r["sequence"] for r in log if not r["control"]] == [0, 1, 2, 3, 0, 0]
    assert log[0]["headers"] == ["h=1"]
    marks = {r["key"]: (r["high_watermark"], r["last_stable_offset"]) for r in rows(tmp_path / "night", "watermarks")}
    assert marks == {"in-0": (7, 7), "in-1": (0, 0), "out-0": (3, 2)}
    said = json.loads((tmp_path / "night" / "capture.json").read_text())
    assert [said["partitions"]["in-0"][name] for name in ("listed", "unlisted")] == [2, 0]
    assert sorted(p["current_txn_start_offset"] for p in said["producers"]["out-0"]) == [-1, 2]
    states = {t["transactional_id"]: t["state"] for t in said["transactions"]}
    assert states == {"pay": "CompleteAbort", "open": "Ongoing"}


def test_a_stopped_capture_goes_on(servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK_ROWS", 1)
    fetch, count = Source.fetch, [0]

    def breaks(self: Source, partition: str, leader: str, offset: int, committed: bool) -> Any:
        count[0] += partition == "out-0"
        if count[0] == 1 and partition == "out-0":
            raise CaptureError("the cable is cut")
        return fetch(self, partition, leader, offset, committed)

    monkeypatch.setattr(Source, "fetch", breaks)
    assert run_capture(servers, tmp_path / "night") == 2
    assert not (tmp_path / "night" / "history.json").exists()
    assert rows(tmp_path / "night", "log") != []
    assert run_capture(servers, tmp_path / "night", "--from", "1") == 2  # it was begun in another way
    assert run_capture(servers, tmp_path / "night") == 0
    monkeypatch.undo()
    assert run_capture(servers, tmp_path / "whole") == 0
    assert rows(tmp_path / "night", "log") == rows(tmp_path / "whole", "log")
    assert run_capture(servers, tmp_path / "night") == 2  # it is whole already


def test_from_an_offset_on(servers: str, tmp_path: Path) -> None:
    assert run_capture(servers, tmp_path / "night", "--from", "3") == 0
    assert [(r["key"], r["offset"]) for r in rows(tmp_path / "night", "log")] == [("in-0", n) for n in (3, 4, 5, 6)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("127.0.0.1:1", "--topics", "in"), "127.0.0.1:1 does not answer Metadata"),
        (("nowhere", "--topics", "in"), "an address is HOST:PORT"),
        (("{}", "--topics", "absent"), "there is no topic absent"),
        (("{}", "--topics", "in", "--from", "monday"), "--from earliest, an offset or a time, not 'monday'"),
    ],
)
def test_what_cannot_be_captured_is_one_line(
    words: tuple[str, ...], message: str, servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.replace("{}", servers.split(",")[0]) for word in words]
    assert main(["capture", *given, "--out", str(tmp_path / "night")]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "answer", [b"\0\0\0\1", b"\0\0\0\1" + bytes(4) + b"\x7f\xff\xff\xff", b""], ids=["none", "rows", "closed"]
)
def test_an_answer_that_cannot_be_is_one_sentence(answer: bytes) -> None:
    """An answer of two billion brokers in eight bytes ended with a BadMessageError."""
    with socket.create_server(("127.0.0.1", 0)) as broken:

        def serve() -> None:
            client, _ = broken.accept()
            with client:
                client.recv(1_000)
                client.sendall(len(answer).to_bytes(4, "big") + answer if answer else b"")

        thread = threading.Thread(target=serve)
        thread.start()
        source = Source(("127.0.0.1", broken.getsockname()[1]))
        with pytest.raises(CaptureError, match=r"^127\.0\.0\.1:\d+"):
            source.ask("", Metadata(topics=("t",)))
        thread.join()
        source.close()


def test_each_audit_is_answered_or_says_what_it_lacks() -> None:
    """Logs and the transaction log answer a check that needs no other table, and most sequence gaps."""
    answered = {name for name, check in BY_NAME.items() if {*check.needs} <= {"log", "transactions"}} | {"sequence gap"}
    assert answered >= {"zombie write", "hanging transaction"}
    assert {*NEEDS} <= {*BY_NAME}
    asked = {known: set(BY_NAME) - set(needs(known)) for known in (COMPLETE, COMPACTED, DESCRIBED, UNREAD)}
    assert asked[COMPLETE] == {*answered, *BY_DECISIONS}
    assert asked[COMPACTED] == {*answered, "decision without marker"}
    assert asked[DESCRIBED] == answered
    assert asked[UNREAD] == answered - {"hanging transaction"}


@pytest.mark.spark
def test_the_audit_of_a_capture(servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_capture(servers, tmp_path / "night") == 0
    assert main(["audit", str(tmp_path / "night"), "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "zombie write             forbidden  ok              6  0" in text
    assert "duplicate                forbidden  unknown         0  0" in text
    assert "unknown: duplicate; the audit needs what producers sent" in text
    assert "1 with an open transaction" in text
    assert "out-0: producer" in text
    assert "aborted lists of Fetch: 2 transactions, each with its ABORT marker" in text


def test_an_audit_that_no_log_answers_needs_no_spark(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_capture(servers, tmp_path / "night") == 0
    assert main(["audit", str(tmp_path / "night"), "--only", "duplicate,g1a"]) == 0
    lines = capsys.readouterr().out.splitlines()[-2:]
    assert [line.partition(";")[0] for line in lines] == ["unknown: G1a", "unknown: duplicate"]
