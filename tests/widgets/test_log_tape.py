"""The log tape without a browser: what two consumers are given, presses, the text twin, the static picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from kafkalab import lab03, lab05, lab10
from kafkalab.faults.node import Crash
from kafkalab.faults.storage import Compact, DeleteSegment
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.log_view import (
    LEVELS,
    MEANING,
    batch_fields,
    find_delivery,
    lag_of,
    positions_at,
    reading,
    record_lines,
    replicas_at,
)
from kafkalab.widgets.payload.text import ViewState, offsets_of, replay
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence


@pytest.fixture
def tape() -> LogTape:
    return LogTape(lab03())


@pytest.mark.parametrize("faults", [(), (Crash("app", at_step=150),), (Crash("b3", at_step=150),)], ids=str)
def test_at_the_end_readers_are_given_what_the_clusters_consumers_read(faults: tuple[Crash, ...]) -> None:
    cluster = Cluster(lab03().with_faults(*faults))
    tape = LogTape(cluster)
    tape.press("end")
    shown = replay(tape.payload, tape.step)
    read_to_the_end(cluster)
    for level in LEVELS:
        polls = [e.data for e in cluster.trace.of("complete", "poll") if e.node == f"final-{level}"]
        seen = sorted((r[0], r[1]) for data in polls for r in data["records"])
        drawn = []
        for partition in ("transfers-0", "accounts-0", "accounts-1"):
            log = replicas_at(tape.payload, shown, partition)[0]
            got = [b for b, outcome, _ in log.cells() if find_delivery(log, b, outcome, level) == "gets"]
            drawn += [(partition, offset) for b in got for offset in offsets_of(b)]
        assert sorted(drawn) == seen


def test_what_is_open_waits_what_is_aborted_is_skipped_and_markers_are_never_given() -> None:
    tape = LogTape(lab03().with_faults(Crash("app", at_step=150)))
    tape.press("end")
    (log, *_) = replicas_at(tape.payload, replay(tape.payload, tape.step), "accounts-0")
    assert [find_delivery(log, b, o, level) for level in LEVELS for b, o, _ in log.cells()] == [
        "gets", "never", "skips", "never",
    ]  # fmt: skip
    assert reading(log, "read_committed") == "gets nothing; skips 0–1"
    tape.step = 140
    (log, *_) = replicas_at(tape.payload, replay(tape.payload, tape.step), "accounts-0")
    assert (reading(log, "read_uncommitted"), reading(log, "read_committed")) == (
        "gets 0–1",
        "gets nothing; waits for 0–1",
    )


def test_an_aborted_record_behind_the_last_stable_offset_is_held_up_and_then_skipped() -> None:
    """The record `sorry` of lab 5: aborted while an earlier transaction is still open."""
    tape = LogTape(lab05())
    found = []
    for step in tape.journey.stops():
        (log, *_) = replicas_at(tape.payload, replay(tape.payload, step), "ledger-0")
        found += [(step, log, b) for b, o, _ in log.cells() if find_delivery(log, b, o, LEVELS[1]) == "held"]
    assert found
    step, log, batch = found[0]
    assert [value for _, value in batch["records"]] == ["sorry"]
    assert find_delivery(log, batch, "aborted", LEVELS[0]) == "gets"
    assert f"; held up, then skipped: {batch['base']}" in reading(log, LEVELS[1])
    assert str(batch["base"]) not in reading(log, LEVELS[1]).split("waits for")[1].split(";")[0]
    tape.step = step
    assert "held up, then skipped" in tape.svg()
    tape.press("end")
    assert "held up" not in tape.text()


def two_readers() -> Scenario:
    """A transaction left open behind a committed one, and a reader of each level, of which one crashes late."""
    steps: list[list[Any]] = [["init_transactions"]]
    for value, end in (("first", ["commit_transaction"]), ("second", ["sleep", 2_000])):
        steps += [["begin_transaction"], ["send", "out", value, None, 0], ["flush"], end]
    look: list[list[Any]] = [["sleep", 500], ["assign", ["out-0"]], ["poll", 300], ["poll", 300]]
    readers = (
        Program(name, "consumer_operations", {"steps": [*look, ["sleep", 1_500]], "isolation_level": level})
        for name, level in (("careful", LEVELS[1]), ("eager", LEVELS[0]))
    )
    writer = Program("w", "operations", {"transactional_id": "w-0", "steps": steps})
    return Scenario(topics={"out": 1}, programs=(writer, *readers), faults=(Crash("eager", at_ms=1_800),))


def test_a_consumers_position_and_its_lag_are_shown_as_its_level_has_them_as_long_as_it_runs() -> None:
    tape = LogTape(two_readers())
    step = {e.at_ms: e.step for e in tape.cluster.trace.events}
    tape.step = step[max(at for at in step if at < 450)]
    assert "position of" not in str(tape)
    tape.step = step[max(at for at in step if at < 1_700)]
    assert "    position of careful: 2, lag 0 (read_committed)\n    position of eager: 3, lag 0" in str(tape)
    shown = replay(tape.payload, tape.step)
    (log, *_) = replicas_at(tape.payload, shown, "out-0")
    assert (log.last_stable_offset, log.high_watermark) == (2, 3)
    assert [lag_of(log, 1, level) for level in LEVELS] == [2, 1]
    assert [lag_of(log, 5, level) for level in LEVELS] == [-2, -3]  # an unclean election took away what it has read
    assert positions_at(tape.payload, shown, "__consumer_offsets-1") == []
    assert "▲ 2" in tape.svg()
    assert "careful: position 2, lag 0" in tape.svg()
    tape.press("end")
    assert "position of careful" in str(tape)
    assert "position of eager" not in str(tape), "it is dead"


def test_the_text_tells_each_log_its_marks_and_its_readers(tape: LogTape) -> None:
    tape.press("end")
    text = str(tape)
    assert text == tape.text()
    for part in (
        "> transfers-0 on b1 (leader): log start 0, LSO 2, HW 2, end 2",
        "    [0–1 -10, -25 · pid 2000 e0 seq 0 · committed]",
        "    [2 COMMIT marker · pid 2000 e1]",
        "    read_committed gets 0–1",
        "    [5 payments-0: CompleteCommit, producer 2000 epoch 1]",
        "    [0 offset 2 of transfers-0 for payments · pid 2000 e0 seq 0 · committed]",
    ):
        assert part in text
    assert "(in sync)" not in text
    tape.press("replicas")
    assert "accounts-0 on b2 (in sync): log start 0" in str(tape)


def test_the_position_of_a_member_goes_with_its_partition_and_with_its_process() -> None:
    tape = LogTape(lab10().with_faults(Crash("ben", at_ms=50_000)))
    one, two = (e for e in tape.cluster.trace.of("complete", "poll") if e.data["records"])
    assert (one.node, two.node) == ("anna", "ben")
    tape.step = two.step
    assert "position of anna: 2" in str(tape)
    assert "position of ben: 2" in str(tape)
    (crash,) = tape.cluster.trace.of("crash")
    tape.step = crash.step
    assert "position of ben" not in str(tape)


def test_a_batch_is_looked_into_field_by_field(tape: LogTape) -> None:
    tape.press("end")
    tape.press("choose", "accounts-0@1")
    assert (tape.partition, tape.offset, tape.inspect) == ("accounts-0", 0, True)
    text = str(tape)
    assert "    last sequence = 1. The sequence of its last record." in text
    assert "    outcome = committed. " in text
    assert "    offset 1, key none: -25, header kafkalab-source=transfers-0@1" in text
    tape.press("after")
    assert "    control = COMMIT. " in str(tape)
    assert "    coordinator epoch = 0. " in str(tape)
    with pytest.raises(ValueError, match="there is no batch after this one"):
        tape.press("after")
    tape.press("before")
    assert tape.offset == 0
    tape.press("inspect")
    assert "last sequence" not in str(tape)


def test_internal_entries_are_decoded_with_key_value_and_tombstone() -> None:
    tape = LogTape(lab03())
    tape.press("end")
    (log, *_) = replicas_at(tape.payload, replay(tape.payload, tape.step), "__transaction_state-22")
    (line,) = record_lines(log.batches[0])
    assert line.startswith("offset 0, key payments-0: transactional_id payments-0, producer_id 2000")
    gone = {"base": 7, "last": 7, "kind": "data", "records": [["k", ""]], "decoded": "k: removed", "fields": [[]]}
    assert list(record_lines(gone)) == ["offset 7, key k: tombstone: removes the key"]


def test_what_left_a_log_is_shown_with_why() -> None:
    tape = LogTape(
        lab03().with_faults(Compact("__transaction_state-22", at_step=260), DeleteSegment("transfers-0", at_step=200))
    )
    tape.press("end")
    text = str(tape)
    assert "payments-0: Empty, producer 2000 epoch 0 · compacted]" in text
    assert "transfers-0 on b1 (leader): log start 2" in text
    assert "    [0–1 10, 25 · deleted]" in text
    assert "    read_committed gets nothing\n" in text


def test_fields_have_meanings_and_only_those_that_apply_are_told(tape: LogTape) -> None:
    tape.press("end")
    for partition in tape.payload["partitions"]:
        for log in replicas_at(tape.payload, replay(tape.payload, tape.step), partition):
            for batch, outcome, _ in log.cells():
                names = [name for name, _ in batch_fields(log, batch, outcome)]
                assert names == [name for name in MEANING if name in names]
                assert ("control" in names) == (batch["kind"] != "data")


def test_up_and_down_go_through_the_partitions(tape: LogTape) -> None:
    known = tape.payload["partitions"]
    with pytest.raises(ValueError, match="this is the first partition"):
        tape.press("up")
    for partition in known[1:]:
        tape.press("down")
        assert tape.partition == partition
    with pytest.raises(ValueError, match="this is the last partition"):
        tape.press("down")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("account-0", "did you mean 'accounts-0'"),
        ("accounts-0@9", "no batch at offset 9 of accounts-0 at this step; there is nothing"),
        ("accounts-0@x", "no batch at offset x"),
    ],
)
def test_what_is_not_there_cannot_be_chosen(tape: LogTape, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tape.press("choose", target)
    assert (tape.partition, tape.offset) == ("transfers-0", -1)


def test_other_presses_are_the_journeys_and_the_cursor_is_shared() -> None:
    journey = Journey(lab03())
    sequence, tape = Sequence(journey), LogTape(journey, partition="accounts-1", replicas=True)
    sequence.press("drop", "EndTxn#1")
    assert "faults: Drop(frame='EndTxn#1')" in str(tape)
    tape.press("end")
    assert sequence.step == tape.step


@pytest.mark.parametrize("replicas", [False, True])
def test_the_static_picture_is_an_svg_with_literal_colours(replicas: bool) -> None:
    tape = LogTape(lab03(), replicas=replicas)
    tape.press("end")
    picture = tape.svg()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "var(" not in picture
    assert picture.count("COMMIT") >= (3 if not replicas else 9)
    data, _ = tape._repr_mimebundle_()
    assert (data["image/svg+xml"], data["text/plain"]) == (picture, str(tape))


def test_a_partition_has_no_log_before_its_topic_is_there() -> None:
    assert replicas_at({"nodes": []}, ViewState(), "later-0") == []
