"""The folder of `--data`: what a second cluster finds of the first one's, whole or damaged."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_records import DeleteRecords
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import read_batch
from kafkalab.wire.data.folder import DataFolder
from kafkalab.wire.data.image import IMAGE
from kafkalab.wire.data.log_files import stored_batch, stored_bytes
from kafkalab.wire.live import RealTime, scenario_of


class Lab:
    """A cluster on a folder. `kill` leaves everything as it is at that moment."""

    def __init__(self, folder: Path, topics: dict[str, int] | None = None, fsync: bool = False, **other: Any) -> None:
        given = {"cluster_level": 2, "brokers": 3, "config": {}, "kafka": "4.3", **other}
        self.failed: list[bool] = []
        self.folder = DataFolder(folder, fsync, lambda: self.failed.append(True))
        try:
            topics = topics or {"t": 1}
            scenario = scenario_of(given["cluster_level"], given["brokers"], topics, given["config"], given["kafka"])
            self.live = RealTime(scenario, prepare=self.folder.prepare)
        except ValueError:
            self.folder.close()
            raise
        self.pass_ms(50)

    def pass_ms(self, duration_ms: int) -> None:
        self.live.kernel.catch_up(max(self.live.now_ms, self.live.kernel.now) + duration_ms)

    def leader(self, partition: str) -> str:
        return self.live.cluster.controller.metadata.leader(partition)

    def ask(self, partition: str, body: object, version: int) -> Any:
        """Ask the leader of the partition."""
        answers: list[object] = []
        self.live.ask(self.live.client("c"), self.leader(partition), body, version, answers.append)
        self.pass_ms(50)
        (answer,) = answers
        return answer

    def write(self, *texts: str, **fields: Any) -> Error:
        records = tuple(Record(None, v) for v in texts)
        made = Batch(records=records, base_offset=0, timestamp_ms=self.live.now_ms, **fields)
        sent = read_batch(batch_bytes.encode(made))
        request = Produce(transactional_id=None, acks=-1, timeout_ms=100, batches={"t-0": sent})
        error: Error = self.ask("t-0", request, 9).partitions["t-0"].error
        return error

    def values(self, broker: str = "") -> list[str]:
        log = self.live.cluster.brokers[broker or self.leader("t-0")].state.log("t-0")
        return [r.value for b in log.batches if b.control is None for r in b.records]

    def kill(self) -> None:
        self.folder._files.close_all()
        self.folder._lock.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Make clusters on one folder, one after the other."""
    made: list[Lab] = []

    def make(**given: Any) -> Lab:
        for earlier in made:
            earlier.kill()
        made.append(Lab(tmp_path / "data", **given))
        return made[-1]

    yield make
    for one in made:
        one.kill()


Make = Callable[..., Lab]


@pytest.mark.parametrize("fsync", [False, True])
def test_records_offsets_and_transactions_are_there_after_a_kill(lab: Make, fsync: bool) -> None:
    first = lab(fsync=fsync)
    assert first.write("a", "b") is Error.NONE
    place = transaction_partition("pay")
    given = first.ask(place, InitProducerId(transactional_id="pay"), 4)
    commit = OffsetCommit(group_id="g", offsets={"t-0": 2}, metadata={"t-0": "here"})
    assert first.ask(offsets_partition("g"), commit, 8).errors == {"t-0": Error.NONE}
    second = lab()
    assert second.values() == second.values("b1") == second.values("b3") == ["a", "b"]
    log = second.live.cluster.log_of("t-0")
    assert (log.high_watermark, log.log_end_offset, log.batches[0].leader_epoch) == (2, 2, 0)
    again = second.ask(place, InitProducerId(transactional_id="pay"), 4)
    assert (again.producer_id, again.producer_epoch) == (given.producer_id, given.producer_epoch + 1)
    fetched = second.ask(offsets_partition("g"), OffsetFetch(group_id="g", partitions=("t-0",)), 8)
    assert (fetched.offsets, fetched.metadata) == ({"t-0": 2}, {"t-0": "here"})


def test_a_repeated_batch_is_recognised_after_a_kill(lab: Make) -> None:
    fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    assert lab().write("a", **fields) is Error.NONE
    second = lab()
    assert second.write("a", **fields) is Error.NONE
    assert second.values() == ["a"]


def test_a_decision_is_carried_out_after_a_kill(lab: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server dies after PrepareCommit is on the disk, and before any marker is."""
    first, place = lab(), transaction_partition("pay")
    given = first.ask(place, InitProducerId(transactional_id="pay"), 4)
    identity = {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    sent = Batch(records=(Record(None, "x"),), base_offset=0, base_sequence=0, transactional=True, **identity)
    batches = {"t-0": read_batch(batch_bytes.encode(sent))}
    request = Produce(transactional_id="pay", acks=-1, timeout_ms=100, batches=batches)
    assert first.ask("t-0", request, 12).partitions["t-0"].error is Error.NONE

    written, append = list[str](), first.folder._append

    def dies_after_the_decision(node: str, partition: str, batch: Batch) -> None:
        if len(written) < 3:
            append(node, partition, batch)
            written.append(partition)

    monkeypatch.setattr(first.folder, "_append", dies_after_the_decision)
    first.ask(place, EndTxn(transactional_id="pay", **identity, committed=True), 5)
    assert written == [place] * 3
    second = lab()
    assert second.live.cluster.log_of("t-0").last_stable_offset == 2
    assert second.live.cluster.log_of("t-0").batches[-1].control is not None


def test_producer_ids_are_given_out_once(lab: Make) -> None:
    """Blocks are of two ids, so that several are handed out in each life."""
    place, given = transaction_partition("pay"), []
    for _ in range(3):
        cluster = lab(config={"producer_id_block_size": 2})
        for _ in range(9):
            found = cluster.ask(place, InitProducerId(transactional_id=None), 4).producer_id
            given += [found] * (found >= 0)
    assert len(dict.fromkeys(given)) == len(given) >= 15


def test_topics_that_were_created_are_there_and_new_ones_can_be(lab: Make) -> None:
    first = lab()
    first.live.create_topics("b1", ["made"])
    first.pass_ms(10)
    second = lab(topics={"t": 1, "more": 2})
    known = second.live.cluster.brokers["b2"].state.metadata
    assert [len(known.partitions_of(t)) for t in ("t", "made", "more")] == [1, 1, 2]


def test_in_sync_sets_are_kept_and_leaders_are_in_sync(lab: Make) -> None:
    first = lab()
    leader = first.leader("t-0")
    first.live.cluster.controller.fence_broker(leader, -1)
    first.pass_ms(10)
    assert first.write("a") is Error.NONE
    in_sync = first.live.cluster.controller.metadata.partitions["t-0"].isr
    second = lab()
    now = second.live.cluster.controller.metadata.partitions["t-0"]
    assert leader not in in_sync
    assert (now.leader, set(now.isr) >= set(in_sync), second.values()) == (in_sync[0], True, ["a"])


@pytest.mark.parametrize("torn", [1, 30, 61, 69])
def test_a_torn_tail_is_cut_and_the_log_says_so(
    lab: Make, tmp_path: Path, torn: int, caplog: pytest.LogCaptureFixture
) -> None:
    first = lab()
    first.write("a")
    leader = first.leader("t-0")
    (path,) = (tmp_path / "data" / leader / "t-0").glob("*.log")
    whole = path.read_bytes()
    first.kill()
    path.write_bytes(whole + whole[:torn])
    second = lab()
    assert f"{leader} t-0: {torn} torn bytes behind offset 1 are cut" in caplog.text
    assert (path.read_bytes(), second.values()) == (whole, ["a"])
    assert second.write("b") is Error.NONE
    assert lab().values() == ["a", "b"]


def test_damaged_bytes_are_cut_and_come_back_from_another_replica(lab: Make, tmp_path: Path) -> None:
    first = lab()
    first.write("a")
    first.write("b")
    follower = next(b for b in ("b1", "b2", "b3") if b != first.leader("t-0"))
    (path,) = (tmp_path / "data" / follower / "t-0").glob("*.log")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"!")
    second = lab()
    assert second.values(follower) == ["a", "b"]
    assert path.read_bytes() == whole


def test_records_that_were_deleted_stay_so(lab: Make) -> None:
    first = lab()
    first.write("a")
    first.write("b")
    assert first.ask("t-0", DeleteRecords(offsets={"t-0": 1}, timeout_ms=100), 2).errors["t-0"] is Error.NONE
    assert lab().live.cluster.log_of("t-0").log_start_offset == 1


def test_a_truncated_log_is_shorter_on_disk_too(lab: Make, tmp_path: Path) -> None:
    first = lab()
    for text in ("a", "b", "c"):
        first.write(text)
    replica = first.live.cluster.brokers[first.leader("t-0")].replication
    replica.truncate("t-0", 2, -1)
    (path,) = (tmp_path / "data" / first.leader("t-0") / "t-0").glob("*.log")
    assert len(path.read_bytes()) == 2 * 69
    replica.truncate("t-0", 0, -1)
    assert not path.exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cluster_level": 1}, "is of a cluster of level 2, not of level 1"),
        ({"kafka": "4.4"}, r"is of a cluster of Kafka 4\.3, not of Kafka 4\.4"),
        ({"brokers": 1}, "is of 3 brokers, not 1"),
        ({"topics": {"t": 2}}, "has 1 partitions of t, not 2"),
    ],
)
def test_a_folder_of_another_cluster_is_refused(lab: Make, given: dict[str, Any], says: str) -> None:
    lab().kill()
    with pytest.raises(ValueError, match=says):
        lab(**given)


def test_a_folder_in_use_is_refused(lab: Make, tmp_path: Path) -> None:
    lab()
    with pytest.raises(ValueError, match="is in use by another process"):
        DataFolder(tmp_path / "data")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is damaged: it is no JSON"),
        ("[]", "is damaged: it is not of a folder that kafkalab wrote"),
        ("[" * 100_000, "is damaged: it has too many levels of nesting"),
        ('{"format": "kafkalab-data", "version": 2}', "is of another version of kafkalab, 2, not 1"),
    ],
)
def test_a_damaged_image_is_refused(lab: Make, tmp_path: Path, text: str, says: str) -> None:
    lab().kill()
    (tmp_path / "data" / IMAGE).write_text(text)
    with pytest.raises(ValueError, match=says):
        lab()


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    "files",
    [
        {"letter.txt": "dear"},
        {".lock": "somebody else's process"},
        {".lock": "4711", "letter.txt": "dear"},
        {"b1/t-0/00000000000000000000.log": ""},
    ],
)
def test_a_folder_with_other_files_is_refused_and_not_touched(lab: Make, tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text(text)
    with pytest.raises(ValueError, match="has other files"):
        lab()
    assert contents(tmp_path / "data") == {name: text.encode() for name, text in files.items()}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("dear")
    with pytest.raises(ValueError, match="is no folder"):
        DataFolder(tmp_path / "data")
    assert (tmp_path / "data").read_text() == "dear"


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s.update(brokers="3"), "brokers is '3', not a number from 1 to 9"),
        (lambda s: s.update(brokers=True), "brokers is True, not a number"),
        (lambda s: s.update(profile=["4.x/TV2"]), "profile is ['4.x/TV2']"),
        (lambda s: s.update(next_producer_id=-1), "next_producer_id is -1, not a number from 0 on"),
        (lambda s: s.update(metadata_version=None), "metadata_version is None, not a number from 0 on"),
        (lambda s: s.update(partitions={}), "partitions lacks those of __transaction_state"),
        (lambda s: s.update(partitions=[]), "partitions lacks those of __transaction_state"),
        (lambda s: s["partitions"].update({"t-0": None}), "the partition 't-0' is {}"),
        (lambda s: s["partitions"].update({"t": s["partitions"]["t-0"]}), "the partition 't' is"),
        (lambda s: s["partitions"].update({"t-2": s["partitions"]["t-0"]}), "'t' lacks some of its partitions"),
        (lambda s: s["partitions"]["t-0"].update(leader=5), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(leader="b4"), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(leader_epoch="0"), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(replicas=[]), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(replicas=["b1", "b1"]), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(isr=["b9"]), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(isr="b1"), "the partition 't-0' is"),
        (lambda s: s["partitions"]["t-0"].update(replicas=[1]), "the partition 't-0' is"),
    ],
)
def test_a_wrong_value_of_the_image_is_named_and_nothing_is_changed(
    lab: Make, tmp_path: Path, change: Change, says: str
) -> None:
    lab().write("a")
    folder = lab().folder.folder
    for one in (folder / ".lock", *folder.glob("*.tmp")):
        one.unlink()
    stored = json.loads((folder / IMAGE).read_text())
    change(stored)
    (folder / IMAGE).write_text(json.dumps(stored))
    before = contents(folder)
    with pytest.raises(ValueError, match=re.escape(f"is damaged: {says}")):
        lab()
    assert contents(folder) == before


def log_of(first: Lab, broker: str) -> Path:
    (path,) = (first.folder.folder / broker / "t-0").glob("*.log")
    return path


def shorten(path: Path, how: str) -> None:
    """Empty the file, remove it, leave one of its batches, or damage the second."""
    data = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": data[:69], "damaged": data[:-1] + b"!"}[how])


HOW = ("empty", "removed", "cut", "damaged")


@pytest.mark.parametrize("how", HOW)
def test_committed_records_come_back_from_a_replica(
    lab: Make, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = lab()
    first.write("a")
    first.write("b")
    first.folder._write_marks()
    leader, whole = first.leader("t-0"), log_of(first, first.leader("t-0")).read_bytes()
    first.kill()
    shorten(log_of(first, leader), how)
    second = lab()
    assert second.values(leader) == second.values() == ["a", "b"]
    assert log_of(second, leader).read_bytes() == whole
    assert "below its high watermark 2; the rest comes from b" in caplog.text
    assert second.write("c") is Error.NONE
    assert lab().values() == ["a", "b", "c"]


@pytest.mark.parametrize("how", HOW)
def test_committed_records_that_no_replica_has_are_missed_and_nothing_is_changed(lab: Make, how: str) -> None:
    first = lab()
    first.write("a")
    first.write("b")
    first.folder._write_marks()
    first.kill()
    for broker in ("b1", "b2", "b3"):
        shorten(log_of(first, broker), how)
    before = contents(first.folder.folder)
    with pytest.raises(ValueError, match=r"ends at offset [01], but [12] offsets were committed, and no replica has"):
        lab()
    assert contents(first.folder.folder) == before
    for broker in ("b1", "b2", "b3"):
        (first.folder.folder / broker / "replication-offset-checkpoint").unlink()
    assert lab().values() == (["a"] if how in ("cut", "damaged") else [])


def test_a_replica_that_differs_below_the_high_watermark_is_no_source(lab: Make) -> None:
    first = lab()
    first.write("a")
    path = log_of(first, first.leader("t-0"))
    changed = stored_bytes("t-0", replace(stored_batch("t-0", path.read_bytes()), leader_epoch=5))
    first.write("b")
    first.folder._write_marks()
    first.kill()
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="ends at offset 1, but 2 offsets were committed, and no replica has the rest"):
        lab()


def test_a_truncation_below_the_high_watermark_lowers_the_checkpoint_first(lab: Make) -> None:
    first = lab()
    for text in ("a", "b", "c"):
        first.write(text)
    first.folder._write_marks()
    for broker in ("b1", "b2", "b3"):
        first.live.cluster.brokers[broker].replication.truncate("t-0", 1, -1)
    assert lab().values() == ["a"]


def test_a_file_that_is_no_log_is_named(lab: Make) -> None:
    first = lab()
    first.write("a")
    (log_of(first, "b1").parent / "x.log").write_text("dear")
    with pytest.raises(ValueError, match=r"b1/t-0/x\.log is no log of a partition: move it away"):
        lab()
    assert (log_of(first, "b2").parent.parent.parent / "b1/t-0/x.log").read_text() == "dear"


def test_a_damaged_checkpoint_is_named_with_what_to_do(lab: Make) -> None:
    first = lab()
    first.write("a")
    first.folder._write_marks()
    (first.folder.folder / "b1" / "replication-offset-checkpoint").write_text("0\n2\nt 0 -5\n")
    with pytest.raises(ValueError, match="replication-offset-checkpoint is damaged: remove it"):
        lab()


def test_nothing_is_answered_that_cannot_be_written(
    lab: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = lab()

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    first.write("a")
    assert first.failed
    assert "cannot be written (no space left on device), so no more is answered; nothing is lost" in caplog.text
    assert not any(record.exc_info for record in caplog.records)
