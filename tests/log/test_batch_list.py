"""A list of batches with a spill file is the list that it would be without one, whatever is done to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.log.batch_list import BatchList
from kafkalab.log.cleaner import would_clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.records import Batch, Record

MEMORY = 8
WEIGHT = 1


class Memory:
    """A spill file that counts what it holds; with `full` it takes nothing more."""

    def __init__(self) -> None:
        self.held: dict[int, list[Batch]] = {}
        self.shared: dict[int, int] = {}
        self.count, self.reads, self.full = 0, 0, False

    def weight(self, batch: Batch) -> int:
        return WEIGHT

    def put(self, batches: Sequence[Batch]) -> int:
        assert batches
        if self.full:
            return -1
        self.count += 1
        self.held[self.count] = list(batches)
        return self.count

    def get(self, number: int) -> list[Batch]:
        self.reads += 1
        return list(self.held[number])

    def share(self, number: int) -> None:
        self.shared[number] = self.shared.get(number, 0) + 1

    def free(self, number: int) -> None:
        if self.shared.get(number, 0):
            self.shared[number] -= 1
        else:
            del self.held[number]


def batch(base: int, records: int = 1) -> Batch:
    return Batch(records=(Record("k", "v"),) * records, base_offset=base, timestamp_ms=base * 7 % 11)


def in_both(log: PartitionLog, plain: PartitionLog, act: str, a: int, b: int) -> None:
    """Do the same with a log that has a spill file and with one that has none."""
    low, high = sorted((a, b))
    for one in (log, plain):
        if act == "append":
            one.replicate(batch(one.log_end_offset + a % 2, 1 + b % 3))
        elif act == "truncate":
            one.truncate(a)
        elif act == "clean":
            found = one.batches_between(low, high)
            one.replace_batches(low, high, found[::2])
        elif act == "drop":
            one.batches.replace(0, low, ())
        elif act == "start":
            one.start_at(a)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(["append"] * 6 + ["truncate", "clean", "drop", "start", "full", "room"]),
                          st.integers(0, 60), st.integers(0, 60)), max_size=120))  # fmt: skip
def test_a_shelf_changes_nothing(acts: list[tuple[str, int, int]]) -> None:
    spill_file = Memory()
    log, plain = PartitionLog("t-0", spill_file=spill_file), PartitionLog("t-0")
    with patch("kafkalab.log.batch_list.MEMORY_BYTES", MEMORY):
        log.batches._most = MEMORY
        for act, a, b in acts:
            spill_file.full = {"full": True, "room": False}.get(act, spill_file.full)
            in_both(log, plain, act, a, b)
            assert list(log.batches) == list(plain.batches)
        assert len(log.batches) == len(plain.batches) == sum(1 for _ in plain.batches)
        for low in range(0, log.log_end_offset + 3, 2):
            for high in (low, low + 1, low + 7, low + 40):
                assert log.batches_between(low, high) == plain.batches_between(low, high)
                assert log.read(low, high) == plain.read(low, high) == list(log.stream(low, high))
                assert log.batches.extent(low, high) == plain.batches.extent(low, high)
        assert log.batches.copy() == plain.batches
        follower = PartitionLog("t-0", spill_file=spill_file)
        follower.take_over(log)
        assert follower.batches == plain.batches
    held = sum(len(batches) for batches in spill_file.held.values())
    assert held <= 2 * len(plain.batches) + MEMORY  # nothing that was dropped is kept


@pytest.fixture
def long_log(monkeypatch: pytest.MonkeyPatch) -> tuple[PartitionLog, Memory]:
    monkeypatch.setattr("kafkalab.log.batch_list.MEMORY_BYTES", MEMORY)
    spill_file = Memory()
    log = PartitionLog("t-0", spill_file=spill_file)
    log.batches._most = MEMORY
    for number in range(1_000):
        log.append(batch(number), 0)
    return log, spill_file


def test_memory_holds_the_newest_batches_only(long_log: tuple[PartitionLog, Memory]) -> None:
    log, spill_file = long_log
    assert len(log.batches._memory) <= MEMORY
    assert sum(map(len, spill_file.held.values())) + len(log.batches._memory) == 1_000


def test_what_is_read_at_the_end_does_not_touch_the_spill_file(long_log: tuple[PartitionLog, Memory]) -> None:
    log, spill_file = long_log
    assert [log.batches[-1].base_offset, log.read(999, 1_000)[0].base_offset] == [999, 999]
    assert spill_file.reads == 0


def test_whether_a_cleaning_would_change_a_long_log_is_seen_at_its_beginning(
    long_log: tuple[PartitionLog, Memory],
) -> None:
    log, spill_file = long_log
    log.advance(1_000)
    assert would_clean(log, 0)
    assert spill_file.reads == 1


def test_a_reader_of_a_long_log_gets_it_in_parts(
    long_log: tuple[PartitionLog, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, spill_file = long_log
    monkeypatch.setattr("kafkalab.log.partition_log.READ_BYTES", 500)
    found, place, parts = [], 0, 0
    while place < 1_000:
        part = log.read_segment(place, 1_000)
        assert 1 <= len(part) <= 10
        found += [b.base_offset for b in part]
        place, parts = part[-1].last_offset + 1, parts + 1
    assert found == list(range(1_000))
    assert spill_file.reads < 2 * parts + 300


def test_the_size_of_a_segment_is_known_without_its_batches(long_log: tuple[PartitionLog, Memory]) -> None:
    log, spill_file = long_log
    newest, size = log.batches.extent(0, log.log_end_offset)
    assert (newest, size) == (10, sum(b.size_bytes for b in [batch(0)] * 1_000))
    assert spill_file.reads == 0


def test_a_log_read_back_has_the_same_batches(long_log: tuple[PartitionLog, Memory]) -> None:
    log, spill_file = long_log
    again: Any = log.reload()
    assert [b.base_offset for b in again.batches] == list(range(1_000))
    count = spill_file.count
    for number in range(1_000, 1_500):
        again.append(batch(number), 0)
    assert spill_file.count > count, "what is appended next goes there, too"
    assert isinstance(again.batches, BatchList)


def test_a_follower_shares_what_its_leader_has_on_the_spill_file(long_log: tuple[PartitionLog, Memory]) -> None:
    log, spill_file = long_log
    follower = PartitionLog("t-0", spill_file=spill_file)
    count = spill_file.count
    for number in range(1_000, 1_500):
        if number % 37 == 0:
            follower.take_over(log)
        log.append(batch(number), 0)
    follower.take_over(log)
    assert spill_file.reads == 0
    assert spill_file.count - count < 500
    assert [b.base_offset for b in follower.batches] == list(range(1_500))
    follower.truncate(700)
    assert [b.base_offset for b in log.batches] == list(range(1_500))
    log.truncate(600)
    log.append(batch(7), 1)
    assert [b.base_offset for b in follower.batches] == list(range(700))
    follower.truncate(0)
    log.truncate(0)
    assert spill_file.held == {}
