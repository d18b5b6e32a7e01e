"""Positions outside Kafka: what a history says of them, and what a checkpoint of Spark holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.history.history import History, load_history
from kafkalab.history.positions import POSITION, OutsidePositions, positions_in_spark, with_positions


def test_a_history_keeps_the_positions_that_it_was_given(tmp_path: Path) -> None:
    made = with_positions(History(), "in", {"in-1": 0, "in-0": 5})
    assert made.label(POSITION) == ("in", "in-0@5", "in-1@0")
    assert with_positions(made, "in", {"in-0": 5}) == made
    made.save(tmp_path / "h.jsonl")
    found = OutsidePositions(load_history(tmp_path / "h.jsonl"))
    assert found
    assert [(found.has(key), found.get(key)) for key in ("in-0", "in-1", "in-2", "out-0")] == [
        (True, 5), (True, 0), (True, None), (False, None)
    ]  # fmt: skip
    assert with_positions(History(), "in", "unknown").label(POSITION) == ("in",)
    assert not OutsidePositions(History())


@pytest.mark.parametrize(
    ("positions", "why"),
    [
        ({"out-0": 1}, "positions has 'out-0': 1, not offsets of partitions as in-0"),
        ({"in-0": -1}, "positions has 'in-0': -1"),
        ({"in-0": True}, "positions has 'in-0': True"),
        ({7: 1}, "positions has 7: 1"),
        ("outside", 'positions are {"in-0": 3} or "unknown", not \'outside\''),
        (None, "positions are"),
    ],
)
def test_what_is_no_position_is_refused(positions: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        with_positions(History(), "in", positions)


def test_two_positions_of_a_partition_are_refused() -> None:
    made = with_positions(History(), "in", {"in-0": 5})
    with pytest.raises(ValueError, match="the position of in-0 is 5 and 6: a history has one of each partition"):
        with_positions(made, "in", {"in-0": 6})


def checkpoint(folder: Path, *ends: object, done: int) -> Path:
    """Write the files of a checkpoint as Spark 4 names them: a batch for each of `ends`, the first `done` committed."""
    for part in ("offsets", "commits"):
        (folder / part).mkdir()
    for number, end in enumerate(ends):
        text = "\n".join(["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps(end)])
        (folder / "offsets" / str(number)).write_text(text)
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
        if number < done:
            (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def test_a_checkpoint_holds_the_end_of_the_last_batch_that_is_done(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, {"in": {"0": 3, "1": 0}}, {"in": {"0": 4, "1": 2}}, done=1)
    assert positions_in_spark(path) == {"in-0": 3, "in-1": 0}
    (path / "commits" / "1").write_text("v1\n{}")
    assert positions_in_spark(str(path)) == {"in-0": 4, "in-1": 2}


def test_a_checkpoint_of_no_batch_has_no_position(tmp_path: Path) -> None:
    assert positions_in_spark(checkpoint(tmp_path, {"in": {"0": 3}}, done=0)) == {}


def test_a_batch_after_the_ninth_is_a_later_one(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, *({"in": {"0": number}} for number in range(12)), done=11)
    assert positions_in_spark(path) == {"in-0": 10}


@pytest.mark.parametrize("end", [{"seed": 5}, ["in"], {"in": {"0": "3"}}, {"in": {"x": 3}}])
def test_a_checkpoint_of_another_source_is_refused(tmp_path: Path, end: object) -> None:
    with pytest.raises(ValueError, match="does not hold the offsets of a Kafka source 0"):
        positions_in_spark(checkpoint(tmp_path, end, done=1))
    with pytest.raises(ValueError, match="is no checkpoint of Spark: it has no folder offsets"):
        positions_in_spark(tmp_path / "offsets")
