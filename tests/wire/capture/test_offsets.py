"""A capture has the offsets that groups committed of its topics, and what it shows of them is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.main import main
from kafkalab.diagnose.captured import judge_capture
from kafkalab.spark.audits.summary import CHECKS, KEY_PASS, WAYS
from kafkalab.wire.capture.source import CaptureError, Source
from tests.wire.capture.test_capture import rows, run_capture
from tests.wire.capture.written import Writer, writer
from tests.wire.following import following, state, stop, until_read
from tests.wire.serving import serving

ONE = "torn transaction", "offset/output split"


def work(app: Writer) -> None:
    """A transaction that holds two offsets of in-0, the lower one last; one that moves in-1 back; and one of other."""
    app.write("out-0", "a")
    app.commit_offsets("g", {"in-0": 2, "in-1": 9}, {"in-0": 1})
    app.end(committed=True)
    for offset in (5, 3):
        app.commit_offsets("g", {"in-0": offset, "in-1": 7}, {"other-0": offset})
        app.end(committed=offset == 3)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("serve"), "--topics", "in:2,out:1,other:1", "--cluster-level", "1") as found:
        with writer(found, "app") as app:
            work(app)
        yield found


def list_offsets(folder: Path) -> list[tuple[Any, ...]]:
    """The records and markers of `__consumer_offsets` that a capture has."""
    names = ("record_key", "value", "producer_epoch", "transactional", "control")
    return [tuple(r[n] for n in names) for r in rows(folder, "log") if r["key"].startswith("__consumer_offsets-")]


def judge_folder(folder: Path) -> list[tuple[str, str]]:
    judged = judge_capture(folder, state(folder)["known"])
    assert judged is not None
    return [(anomaly, text) for anomaly, _, text in judged.findings]


def check_capture(folder: Path) -> None:
    commit, abort = ((None, None, 0, True, word) for word in ("COMMIT", "ABORT"))
    pairs = (("in-0", 2), ("in-1", 9), ("in-0", 1)), (("in-0", 5), ("in-1", 7)), (("in-0", 3), ("in-1", 7))
    first, second, third = ([(f"g/{key}", str(offset), 0, True, "") for key, offset in some] for some in pairs)
    assert list_offsets(folder) == [*first, commit, *second, abort, *third, commit]
    (torn, split) = judge_folder(folder)
    assert (torn[0], split[0]) == ONE
    assert torn[1].endswith("holds the offsets 2, 1 of g/in-0; 1 counts, which is lower than one before it")
    assert split[1] == "the committed offset of g/in-1 went back from 9 to 7 in a transaction of producer 2000"
    assert sum(one["skipped"] for one in state(folder)["partitions"].values()) == 2


def test_a_capture_has_committed_offsets_and_what_they_show_is_found(servers: str, tmp_path: Path) -> None:
    assert run_capture(servers, tmp_path / "night") == 0
    check_capture(tmp_path / "night")


def test_a_capture_that_follows_has_them_too(tmp_path: Path) -> None:
    night = tmp_path / "night"
    with serving(tmp_path, "--topics", "in:2,out:1,other:1", "--cluster-level", "1") as servers:
        with writer(servers, "app") as app, following(servers, night) as follower:
            until_read(night, follower, in_0=0)
            work(app)
            until_read(night, follower, out_0=2, __consumer_offsets_3=12)
            assert stop(follower)[0] == 0
        assert run_capture(servers, night) == 0
    check_capture(night)


def test_offsets_that_may_not_be_read_are_said_to_be_missing(
    servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = Source.fetch

    def refuse(self: Source, partition: str, leader: str, offset: int, committed: bool) -> Any:
        if partition.startswith("__consumer_offsets"):
            raise CaptureError(f"{partition} at offset {offset}: TOPIC_AUTHORIZATION_FAILED")
        return fetch(self, partition, leader, offset, committed)

    monkeypatch.setattr(Source, "fetch", refuse)
    assert run_capture(servers, tmp_path / "night") == 0
    assert state(tmp_path / "night")["offsets"] == "TOPIC_AUTHORIZATION_FAILED"
    assert list_offsets(tmp_path / "night") == []
    assert judge_folder(tmp_path / "night") == []


def test_from_an_offset_on_committed_offsets_are_read_from_their_beginning(servers: str, tmp_path: Path) -> None:
    """An offset says where to begin in the captured topics, and nothing of another topic."""
    assert run_capture(servers, tmp_path / "night", "--from", "3") == 0
    assert len(list_offsets(tmp_path / "night")) == 10


@pytest.mark.spark
@pytest.mark.parametrize("way", [CHECKS, KEY_PASS])
def test_the_audit_names_both_in_either_way(
    way: str, servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkalab.spark.audits import audit

    monkeypatch.setattr(audit, "SMALL", 100_000 if way == CHECKS else 0)
    assert run_capture(servers, tmp_path / "night") == 0
    assert main(["audit", str(tmp_path / "night"), "--quiet", "--only", ",".join(ONE)]) == 1
    text = capsys.readouterr().out
    assert "torn transaction     forbidden  violated         0  1 forbidden" in text
    assert "offset/output split  forbidden  violated         0  1 forbidden" in text
    assert "__consumer_offsets: read, without 2 entries that are no offset of these topics" in text
    assert f"Audited {WAYS[way]}" in text
    assert "offsets 2, 1 of g/in-0; 1 counts" in text
    assert "went back from 9 to 7" in text
    assert "unknown: torn" not in text
