"""A capture that follows has each record once, wherever it was killed; stopped, it can be finished and audited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkalab.cli.main import main
from kafkalab.wire.capture.capture import DECISIONS_KEPT_MS, Known
from kafkalab.wire.capture.rows import STEPS_A_MS
from tests.wire.capture.written import writer
from tests.wire.following import following, state, stop, until_read
from tests.wire.serving import serving


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found = [row for file in sorted((folder / table).rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: (row.get("key", ""), row.get("offset", 0)))


def test_it_writes_what_arrives_and_goes_on_where_it_was_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    night, whole = tmp_path / "night", tmp_path / "whole"
    with serving(tmp_path, "--topics", "in:2,out:1") as servers, writer(servers, "pay") as pay:
        with following(servers, night) as capture:
            pay.write("in-0", "a", "b")
            pay.end(committed=True)
            until_read(night, capture, in_0=3)
            pay.write("in-0", "c")
            until_read(night, capture, in_0=4)
        pay.write("out-0", "d")
        pay.end(committed=False)
        left = night / "log" / "bucket=0" / "part-99999.parquet"
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(b"what a killed capture had begun")
        with following(servers, night) as capture:
            until_read(night, capture, in_0=5, out_0=2)
            status, said = stop(capture)
        assert status == 0
        assert said == f"stopped; the same command goes on from here, and without --follow it finishes {night}\n"
        assert state(night)["known"] == "complete"
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


def test_decisions_of_long_ago_are_forgotten():
    known = Known()
    minute = DECISIONS_KEPT_MS * STEPS_A_MS
    for number in range(1_000):
        known.add([(7, number, "PrepareCommit", ("in-0",), number * minute // 10)])
        known.forget()
        assert (7, number, "COMMIT", "in-0") in known.decisions
    assert len(known.decisions) == 11
