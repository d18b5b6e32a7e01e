"""What a cleaning says that it did, what it leaves beside the records, and whether one would change anything."""

from __future__ import annotations

from copy import deepcopy
from random import Random

import pytest

from kafkalab.log.cleaner import Cleaning, clean, cleanable_end, is_dirty, would_clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, CleanedBatch, ControlType, Record, marker
from kafkalab.protocol.rules import DELETE_HORIZON, LAST_BATCH_STAYS, NO_NEEDLESS_BATCH
from tests.conformance.cleaning import RETENTION_MS, Written


def written_by_chance(seed: int) -> Written:
    """A log of two transactional producers and one without an id: some segments, some cleanings, some still open."""
    random = Random(seed)
    off = tuple(r.name for r in (DELETE_HORIZON, LAST_BATCH_STAYS) if random.random() < 0.3)
    w = Written(Rules("4.x/TV2", off))
    opened: dict[int, None] = {}
    for _ in range(random.randrange(12)):
        act = random.random()
        producer = random.choice((-1, 1, 2))
        if act < 0.5:
            keys = [random.choice((*"abcdefgh", None if random.random() < 0.1 else "i")) for _ in range(2)]
            w.data(producer, *keys, value=None if random.random() < 0.2 else "v")
            if producer > 0:
                opened[producer] = None
        elif act < 0.75 and opened:
            producer = next(iter(opened))
            del opened[producer]
            w.end(random.choice(("COMMIT", "ABORT")), producer)
        elif act < 0.9:
            w.log.roll(w.now)
        else:
            w.clean(after_ms=random.choice((0, RETENTION_MS)))
        w.now += random.choice((1, RETENTION_MS // 2))
    return w


@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 400, 50)], ids=repr)
def test_whether_a_cleaning_would_change_a_log_is_known_before_and_told_after(seeds: range) -> None:
    told = []
    for seed in seeds:
        w = written_by_chance(seed)
        batches, segments = list(w.log.batches), list(w.log.segments)
        expected = would_clean(w.log, w.now, RETENTION_MS)
        assert (list(w.log.batches), w.log.segments) == (batches, segments), f"seed {seed}: looking has changed the log"
        other = deepcopy(w)
        other.log.roll(other.now)
        found = other.clean() if is_dirty(other.log) else Cleaning(first_dirty=0, end=0)
        assert found.changed == (other.log.batches != batches) == expected, f"seed {seed}"
        assert found.batches_removed == len(batches) - len(other.log.batches)
        assert found.records_removed == sum(len(b.records) for b in batches) - len(other.offsets)
        told.append(expected)
    assert 10 < sum(told) < 45


def test_a_log_without_records_is_not_cleaned() -> None:
    w = Written()
    assert not would_clean(w.log, w.now)
    assert w.clean() == Cleaning(first_dirty=0, end=0)


def test_a_log_without_dirty_records_is_left_alone_until_there_are_new_ones() -> None:
    """`LogCleanerManager.grabFilthiestCompactedLog`: what has become removable meanwhile makes no log dirty."""
    w = Written()
    w.data(-1, "a", value=None)
    assert w.clean().horizons_set == 1
    w.now += RETENTION_MS
    assert (would_clean(w.log, w.now, RETENTION_MS), is_dirty(w.log)) == (False, False)
    w.data(-1, "b")
    assert would_clean(w.log, w.now, RETENTION_MS)
    w.log.roll(w.now)
    assert is_dirty(w.log)
    w.clean()
    assert w.keys == ["b"]


def test_an_undecided_transaction_keeps_a_log_from_being_cleaned() -> None:
    w = Written()
    w.data(1, "a", "a")
    assert not would_clean(w.log, w.now)
    w.end("COMMIT", 1)
    assert would_clean(w.log, w.now)


def test_a_record_without_a_key_goes() -> None:
    w = Written()
    w.data(-1, "a", None)
    assert would_clean(w.log, w.now)
    w.clean()
    assert w.keys == ["a"]


def test_the_log_start_limits_what_is_cleaned() -> None:
    w = Written()
    w.data(-1, "a", None)
    w.log.roll(w.now)
    w.log.raise_log_start(w.log.log_end_offset)
    assert not would_clean(w.log, w.now)
    assert w.clean() == Cleaning(first_dirty=2, end=2)
    assert w.offsets == [0, 1], "deletion is for what is below the log start"


def test_up_to_4_3_each_cleaning_keeps_its_last_batch_though_it_is_empty() -> None:
    w = Written()
    assert not w.log.producers.rules.on(NO_NEEDLESS_BATCH)
    w.data(-1, None)
    w.data(-1, None)
    w.log.roll(w.now)
    w.data(-1, "a")
    assert w.clean(roll=False) == Cleaning(first_dirty=0, end=2, batches_removed=1, records_removed=2)
    assert [(b.base_offset, len(b.records)) for b in w.log.batches] == [(1, 0), (2, 1)]


def test_a_batch_that_ends_at_the_high_watermark_stays_though_it_is_empty() -> None:
    for profile in ("4.x/TV2", "4.4/TV2"):
        w = Written(Rules(profile))
        w.data(-1, None)
        w.data(-1, None)
        assert w.clean() == Cleaning(first_dirty=0, end=2, batches_removed=1, records_removed=2)
        assert [b.base_offset for b in w.log.batches] == [1]


def test_a_log_whose_cleaned_segments_are_empty_can_be_cleaned_again() -> None:
    w = Written(Rules("4.4/TV2"))
    w.data(-1, None)
    w.log.roll(w.now)
    w.data(-1, "a")
    assert w.clean(roll=False) == Cleaning(first_dirty=0, end=1, batches_removed=1, records_removed=1)
    assert w.clean(roll=False) == Cleaning(first_dirty=1, end=1)
    assert w.offsets == [1]


def test_an_aborted_transaction_that_was_cleaned_does_not_make_the_producers_next_one_aborted() -> None:
    w = Written()
    w.data(-1, "a")
    w.data(1, "b")
    w.end("ABORT", 1)
    w.clean()
    assert w.index == [(1, 1, 2, 3)]
    w.data(1, "a")
    w.end("COMMIT", 1)
    w.clean()
    assert w.keys == ["a"]
    assert 0 not in w.offsets


def test_each_batch_that_gets_a_delete_horizon_is_counted() -> None:
    w = Written()
    w.data(-1, "a", "b", value=None)
    w.data(-1, "c", value=None)
    assert w.clean() == Cleaning(first_dirty=0, end=3, horizons_set=2)


def test_before_kip_534_a_first_cleaning_keeps_every_tombstone() -> None:
    w = Written(Rules(off=(DELETE_HORIZON.name,)))
    w.now = 1  # no segment is clean, so the horizon is 0
    w.data(-1, "a", value=None)
    w.data(-1, "b")
    w.clean(after_ms=10 * RETENTION_MS)
    assert w.keys == ["a", "b"]


def test_a_cleaning_says_from_where_to_where_it_went() -> None:
    w = Written()
    w.data(-1, "a", "a", "b")
    assert w.clean() == Cleaning(first_dirty=0, end=3, records_removed=1)
    w.data(-1, "a")
    w.data(-1, "b")
    assert w.clean() == Cleaning(first_dirty=3, end=5, batches_removed=1, records_removed=2)
    assert w.clean() == Cleaning(first_dirty=5, end=5)


def test_a_rewritten_batch_keeps_all_but_its_records() -> None:
    w = Written()
    w.log.append(make_replacement("a", "b"), 4)
    w.data(1, "a")
    w.end("ABORT", 1)
    w.data(-1, "b")
    w.log.advance(w.log.log_end_offset)
    before = w.log.batches[0]
    w.clean()
    after = w.log.batches[0]
    assert isinstance(after, CleanedBatch)
    assert (after.offsets, after.last_offset, after.leader_epoch) == ((0,), 1, 4)
    assert (after.timestamp_ms, after.producer_id) == (before.timestamp_ms, -1)


def make_replacement(*keys: str) -> Batch:
    """A batch without a producer id."""
    other = Written()
    other.data(-1, *keys)
    return other.log.batches[0]


def test_a_marker_that_is_rewritten_keeps_its_coordinators_epoch() -> None:
    w = Written()
    w.data(1, "a")
    w.log.append(marker(1, 0, ControlType.COMMIT, 7, w.now), 0)
    w.data(1, "a")
    w.end("COMMIT", 1)
    w.clean()
    w.clean()
    found = w.log.batches[0]
    assert isinstance(found, CleanedBatch)
    assert (found.coordinator_epoch, found.delete_horizon_ms) == (7, w.now + RETENTION_MS)


# segments


def segments_of_one_record(count: int) -> Written:
    w = Written()
    for number in range(count):
        w.data(1, f"k{number}", txn=False)
        w.log.roll(w.now)
        w.now += 1
    return w


@pytest.mark.parametrize(("short", "segments"), [(0, [0, 2, 3]), (1, [0, 1, 2, 3])])
def test_neighbours_that_fill_a_segment_exactly_become_one(short: int, segments: list[int]) -> None:
    w = segments_of_one_record(3)
    size = w.log.batches[0].size_bytes
    w.clean(roll=False, segment_bytes=2 * size - short)
    assert w.log.segments == segments


def test_a_first_segment_that_a_cleaning_has_emptied_is_merged_with_the_next() -> None:
    w = Written()
    for key in "aab":
        w.data(-1, key)
        w.log.roll(w.now)
    size = w.log.batches[0].size_bytes
    w.clean(roll=False, segment_bytes=size)
    assert (w.offsets, w.log.segments) == ([1, 2], [0, 1, 2, 3])
    w.clean(roll=False, segment_bytes=size)
    assert (w.offsets, w.log.segments) == ([1, 2], [0, 2, 3])


def test_merged_segments_have_the_newest_file_time_and_one_snapshot() -> None:
    w = segments_of_one_record(3)
    assert sorted(w.log.producers.snapshots) == [1, 2, 3]
    w.clean(roll=False)
    assert (w.log.segments, sorted(w.log.producers.snapshots)) == ([0, 3], [3])
    assert w.log.checkpoint.modified_ms == {0: 1_002}
    assert w.log.checkpoint.first_dirty_offset == 3


def test_a_merged_segment_keeps_the_newest_file_time_even_if_it_is_not_the_last() -> None:
    w = Written()
    for now in (3_000, 5_000, 4_000):
        w.now = now
        w.data(1, f"k{now}", txn=False)
        w.log.roll(w.now)
    w.clean(roll=False)
    assert w.log.checkpoint.modified_ms == {0: 5_000}


def test_segments_whose_snapshots_a_restart_has_deleted_are_merged() -> None:
    w = segments_of_one_record(3)
    w.log.raise_log_start(1)
    w.log = w.log.reload()
    assert sorted(w.log.producers.snapshots) == [2, 3]
    w.clean(roll=False)
    assert (w.log.segments, sorted(w.log.producers.snapshots)) == ([0, 3], [3])


def test_a_segment_that_is_too_young_ends_a_cleaning_only_with_a_lag() -> None:
    w = segments_of_one_record(3)
    assert [cleanable_end(w.log, w.now - lag) for lag in (0, 1, 2, 3, 10)] == [3, 3, 2, 1, 0]
    assert clean(w.log, w.now, RETENTION_MS, min_compaction_lag_ms=3).end == 1
    assert clean(w.log, 0, RETENTION_MS).end == 3, "without a lag no record is too new"


@pytest.mark.parametrize(("newest_ms", "end"), [(-5, 0), (0, 0), (1, 1)])
def test_a_segment_with_a_record_newer_than_the_lag_allows_is_not_cleaned(newest_ms: int, end: int) -> None:
    log = PartitionLog("p-0")
    log.append(Batch(records=(Record("k", "v"),), timestamp_ms=1), 0)
    log.roll(0)
    log.advance(1)
    assert cleanable_end(log, newest_ms) == end
    log.replace_batches(0, 1, ())
    assert cleanable_end(log, newest_ms) == 1, "a segment of which nothing is left has no record"
