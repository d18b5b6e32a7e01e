"""A capture that follows has each record once, wherever it was killed; stopped, it can be finished and audited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkalab.cli.main import main
from kafkalab.history.schema import Watermark
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.wire.capture import capture
from kafkalab.wire.capture.capture import HEARTBEAT_MS
from kafkalab.wire.capture.reading import ABSENT, DECISIONS_KEPT_MS, READ, LogKnowledge
from kafkalab.wire.capture.rows import STEPS_A_MS, empty
from kafkalab.wire.capture.state import CaptureState, PartitionState
from tests.wire.capture.written import writer
from tests.wire.following import following, state, stop, until_read
from tests.wire.serving import serving


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found = [row for file in sorted((folder / table).rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: (row.get("key", ""), row.get("offset", 0)))


def test_it_writes_what_arrives_and_goes_on_where_it_was_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night, whole = tmp_path / "night", tmp_path / "whole"
    with serving(tmp_path, "--topics", "in:2,out:1") as servers, writer(servers, "pay") as pay:
        with following(servers, night) as follower:
            pay.write("in-0", "a", "b")
            pay.end(committed=True)
            until_read(night, follower, in_0=3)
            pay.write("in-0", "c")
            until_read(night, follower, in_0=4)
        pay.write("out-0", "d")
        pay.end(committed=False)
        left = night / "log" / "bucket=0" / "part-99999.parquet"
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(b"what a killed capture had begun")
        with following(servers, night) as follower:
            until_read(night, follower, in_0=5, out_0=2)
            status, said = stop(follower)
        assert status == 0
        assert said == f"stopped; the same command goes on from here, and without --follow it finishes {night}\n"
        assert state(night)["known"] == "complete"
        assert [state(night)["partitions"]["out-0"][name] for name in ("listed", "aborted")] == [1, {}]
        again = ["capture", servers.split(",")[0], "--topics", "in,out", "--quiet", "--out"]
        assert main([*again, str(night)]) == 0
        assert main([*again, str(whole)]) == 0
        assert main([*again, str(night), "--follow"]) == 2
    assert "is a whole history already" in capsys.readouterr().err
    assert rows(night, "log") == rows(whole, "log")
    entries = [[(row["offset"], row["state"]) for row in rows(folder, "transactions")] for folder in (night, whole)]
    assert entries[0] == entries[1]
    marks = [(row["key"], row["high_watermark"], row["last_stable_offset"]) for row in rows(night, "watermarks")]
    assert list(dict.fromkeys(m for m in marks if m[0] == "in-0")) == [("in-0", 3, 3), ("in-0", 4, 3), ("in-0", 5, 5)]


class Described:
    """A source that knows of one partition."""

    info = PartitionInfo(leader="b1", leader_epoch=0, replicas=("b1",), isr=("b1",))
    metadata = ClusterMetadata(partitions={"in-0": info})

    def ends(self, leaders: dict[str, str], level: str = "") -> dict[str, int]:
        return dict.fromkeys(leaders, 4 if level else 5)

    def end(self, name: str, leader: str, level: str = "") -> int:
        return 4 if level else 5

    def offset(self, name: str, leader: str, timestamp: int) -> int:
        return 0

    def fetch(self, name: str, leader: str, offset: int, committed: bool) -> None:
        """It may be read."""


def test_partitions_and_a_transaction_log_that_come_later_are_read_from_their_beginning() -> None:
    one = PartitionState(start=0, end=2, next=2)
    known = CaptureState(["in"], "earliest", {"in-0": one}, transaction_log=ABSENT)
    capture._extend(Described(), known, dict.fromkeys(("in-0", "in-1", "__transaction_state-0", "other-0"), "b1"))  # type: ignore[arg-type]
    assert {name: (p.next, p.end, p.last_stable_offset) for name, p in known.partitions.items()} == {
        "in-0": (2, 5, 4), "in-1": (0, 5, 4), "__transaction_state-0": (0, 5, 4)
    }  # fmt: skip
    assert known.transaction_log == READ


def test_watermarks_are_written_when_something_came_or_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    one = PartitionState(start=0, end=9, next=9, high_watermark=9, last_stable_offset=9)
    known = CaptureState(["in"], "earliest", {"in-0": one})

    def rows_at(at_ms: int, read: int) -> int:
        monkeypatch.setattr(capture, "_now_ms", lambda: at_ms)
        return capture._mark(Described(), known, "in-0", read, empty(Watermark))  # type: ignore[arg-type]

    begin = 10**12
    assert [rows_at(begin, 5), rows_at(begin + 1, 9), rows_at(begin + HEARTBEAT_MS, 9)] == [1, 0, 0]
    one.last_stable_offset = 7
    assert [rows_at(begin + HEARTBEAT_MS - 1, 9), rows_at(begin + HEARTBEAT_MS, 9)] == [0, 1]
    assert rows_at(begin + HEARTBEAT_MS + 1, 9) == 0


def test_decisions_of_long_ago_are_forgotten() -> None:
    known = LogKnowledge()
    minute = DECISIONS_KEPT_MS * STEPS_A_MS
    for number in range(1_000):
        known.add([(7, number, "PrepareCommit", ("in-0",), number * minute // 10)])
        known.forget()
        assert (7, number, "COMMIT", "in-0") in known.decisions
    assert len(known.decisions) == 11
