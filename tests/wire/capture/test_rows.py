"""The rows of captured batches: offsets and times of their own, and steps that claim no more than brokers' clocks."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.hanging_transaction import hanging_transaction
from kafkalab.checks.zombie_write import zombie_write
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, TxnEntry
from kafkalab.protocol.messages.fetch import PartitionFetched
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.wire.batches import batch_bytes_of, read_batch
from kafkalab.wire.capture.capture import _markers_behind
from kafkalab.wire.capture.reading import LogKnowledge
from kafkalab.wire.capture.rows import DECIDED, IN_LOG, SKEW_MS, STEPS_A_MS, add_log, empty
from kafkalab.wire.capture.state import PartitionState
from tests.kafka.batches import TRANSACTIONAL, batch_bytes, batch_of, record_bytes

COMMIT = ControlType.COMMIT


def client_batch(offset: int, values: tuple[str, ...] = ("v",), epoch: int = 0, at_ms: int = 5) -> Batch:
    made = Batch(
        records=tuple(Record(None, value) for value in values), base_offset=offset, base_sequence=0, producer_id=7,
        producer_epoch=epoch, transactional=True, timestamp_ms=at_ms,
    )  # fmt: skip
    return read_batch(batch_bytes_of(made))


def end_of(offset: int, at_ms: int, epoch: int = 0, pid: int = 7) -> Batch:
    return marker(pid, epoch, COMMIT, 0, at_ms).place(offset, 0)


def read_rows(*batches: Batch, decisions: dict[Any, int] | None = None) -> list[LogRecord]:
    columns, state = empty(LogRecord), PartitionState(start=0, end=99, next=0)
    for batch in batches:
        add_log(columns, "in-0", "b1", batch, state, decisions or {})
    return [LogRecord(*values) for values in zip(*columns.values(), strict=True)]


def test_a_record_is_no_earlier_than_the_marker_before_it_whatever_its_producer_says() -> None:
    rows = read_rows(client_batch(0, at_ms=10**12), end_of(1, at_ms=100), client_batch(2, at_ms=1))
    assert [row.step for row in rows] == [0, 100 * STEPS_A_MS + IN_LOG, 100 * STEPS_A_MS + IN_LOG]
    assert [row.at_ms for row in rows] == [10**12, 100, 1]


@pytest.mark.parametrize(("late_ms", "moved"), [(0, False), (1, True), (SKEW_MS - 1, True), (SKEW_MS + 1, False)])
def test_a_marker_follows_a_decision_of_a_clock_that_is_a_little_ahead(late_ms: int, moved: bool) -> None:
    decided = (100 + late_ms) * STEPS_A_MS + DECIDED
    (row,) = read_rows(end_of(0, at_ms=100), decisions={(7, 0, "COMMIT", "in-0"): decided})
    assert row.step == (decided + 1 if moved else 100 * STEPS_A_MS + IN_LOG)


def test_records_that_compaction_left_keep_their_offsets_and_sequences() -> None:
    left = record_bytes(b"a", 1) + record_bytes(b"b", 4)
    data = batch_bytes(left, 2, 5, TRANSACTIONAL, 4, (7, 0, 20))
    rows = read_rows(read_batch(data).place(10, 3))
    assert [(row.offset, row.sequence, row.value) for row in rows] == [(11, 21, "a"), (14, 24, "b")]


def entries(*pairs: tuple[bytes, bytes | None]) -> Batch:
    """A batch of `__consumer_offsets` with these keys and values."""
    records = b"".join(record_bytes(value, number, key=key) for number, (key, value) in enumerate(pairs))
    return read_batch(batch_bytes(records, len(pairs), len(pairs), 0, 4, (-1, -1, -1))).place(0, 0)


OF_IN, OF_OTHER = b"\0\1\0\1g\0\2in\0\0\0\1", b"\0\1\0\1g\0\5other\0\0\0\0"
MEMBERS, KIP_848 = b"\0\2\0\1g", b"\0\3\0\1g"
OF_TOPIC = [(0, "g/in-1", "5"), (4, "g/in-1", None)]


@pytest.mark.parametrize(
    ("topics", "kept", "skipped"),
    [
        (("in",), OF_TOPIC, 3),
        (("in", OFFSETS_TOPIC), sorted([*OF_TOPIC, (1, "g/other-0", "5"), (2, None, None), (3, None, None)]), 0),
    ],
)
def test_of_committed_offsets_those_of_the_captured_topics_are_kept(
    topics: tuple[str, ...], kept: list[tuple[int, str | None, str | None]], skipped: int
) -> None:
    columns, state = empty(LogRecord), PartitionState(start=0, end=99, next=0)
    five = b"\0\3" + (5).to_bytes(8, "big") + b"\xff\xff\xff\xff\0\0" + bytes(8)
    batch = entries((OF_IN, five), (OF_OTHER, five), (MEMBERS, b"\0\3"), (KIP_848, b"\0\0"), (OF_IN, None))
    rows = add_log(columns, f"{OFFSETS_TOPIC}-1", "b1", batch, state, {}, topics)
    assert list(zip(columns["offset"], columns["record_key"], columns["value"], strict=True)) == kept
    assert {len(column) for column in columns.values()} == {rows} == {len(kept)}
    assert state.skipped == skipped


def test_each_record_has_the_time_that_its_producer_set() -> None:
    """They are relative to the first one; the header has the largest as well."""
    sent = batch_of({"values": ["a", "b", "c"], "timestamp_ms": 100, "later_ms": [0, 7, 3]})
    assert [row.at_ms for row in read_rows(read_batch(sent).place(10, 3))] == [100, 107, 103]


class Behind:
    """A source whose partition has these batches behind the end of the capture."""

    def __init__(self, *batches: Batch) -> None:
        self.batches = batches

    def end(self, partition: str, leader: str) -> int:
        return self.batches[-1].last_offset + 1

    def fetch(self, partition: str, leader: str, offset: int, committed: bool) -> PartitionFetched:
        return PartitionFetched(batches=tuple(b for b in self.batches if b.last_offset >= offset))


@pytest.mark.parametrize(("newest", "added"), [("CompleteCommit", [3]), ("PrepareCommit", [3]), ("Ongoing", [])])
def test_the_marker_of_a_transaction_that_ended_meanwhile_is_read(newest: str, added: list[int]) -> None:
    state = PartitionState(start=0, end=2, next=2, open={7: 0})
    columns = empty(LogRecord)
    source: Any = Behind(client_batch(2, epoch=1), end_of(3, at_ms=100), end_of(4, at_ms=101, pid=8))
    _markers_behind(source, "in-0", "b1", state, LogKnowledge({}, {7: (0, newest)}), columns)
    assert columns["offset"] == added


def entry(state: str, at_ms: int, epoch: int, order: int) -> TxnEntry:
    return TxnEntry(
        key="__transaction_state-0", offset=at_ms, transactional_id="pay", state=state, producer_id=7,
        producer_epoch=epoch, partitions=("in-0",), timeout_ms=60_000, start_ms=at_ms, step=at_ms * STEPS_A_MS + order,
        at_ms=at_ms,
    )  # fmt: skip


def test_a_zombie_is_found_behind_a_marker_and_no_clock_of_a_client_makes_one() -> None:
    fenced = (entry("Empty", 200, 1, 800),)
    honest = read_rows(client_batch(0, at_ms=999), end_of(1, at_ms=100), client_batch(2, at_ms=999))
    assert zombie_write(History(log=tuple(honest), transactions=fenced)).verdict == "ok"
    late = read_rows(client_batch(0), end_of(1, at_ms=300, pid=8), client_batch(2, at_ms=1))
    found = zombie_write(History(log=tuple(late), transactions=fenced)).findings
    assert [finding.offsets for finding in found] == [(2,)]


def test_an_open_transaction_that_its_coordinator_has_ended_hangs() -> None:
    log = tuple(read_rows(client_batch(0)))
    ended = hanging_transaction(History(log=log, transactions=(entry("CompleteCommit", 200, 0, 800),)))
    assert ended.verdict == "violated"
    going_on = hanging_transaction(History(log=log, transactions=(entry("Ongoing", 200, 0, 800),)))
    assert going_on.verdict == "ok"
