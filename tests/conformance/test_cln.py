"""CLN: compaction with transactions, through `clean` and `PartitionLog` (docs/cases.md)."""

from __future__ import annotations

import pytest

from kafkalab.log.cleaner import cleanable_end
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.rules import DELETE_HORIZON, LAST_BATCH_STAYS
from tests.conformance.cleaning import RETENTION_MS, Written
from tests.log.lookups import duplicate_of


def test_cln_01_each_producer_keeps_its_last_batch_and_duplicates_are_still_known() -> None:
    w = Written()
    w.data(1, 1, 2, 3, txn=False)
    w.data(2, 3, 1, 4, txn=False)
    w.data(3, 1, 4, txn=False)
    w.clean()
    assert (w.ends, w.offsets) == ([2, 5, 7], [1, 3, 6, 7])
    assert [w.last_sequence(p) for p in (1, 2, 3)] == [2, 2, 1]
    reloaded = w.log.reload()
    assert [reloaded.producers.entries[p].last_sequence for p in (1, 2, 3)] == [2, 2, 1]
    for batch in w.log.batches:
        assert duplicate_of(reloaded.producers, batch) is not None


def test_cln_03_aborted_records_go_at_once_and_the_index_stays() -> None:
    w = Written()
    w.data(1, 1, 2)
    w.data(2, 2, 3)
    w.data(1, 3, 4)
    w.end("ABORT", 1)
    w.end("COMMIT", 2)
    w.data(1, 2)
    w.end("COMMIT", 1)
    before = w.index
    assert before == [(1, 0, 6, 2)]
    w.clean()
    assert (w.keys, w.offsets, w.index) == (["3", "2"], [3, 6, 7, 8, 9], before)


def with_a_commit_marker() -> Written:
    w = Written()
    w.data(1, 1)
    w.data(1, 2, 3)
    w.end("COMMIT", 1)
    w.data(1, 2)
    w.end("COMMIT", 1)
    return w


def test_cln_04_a_commit_marker_stays_while_data_of_its_transaction_does() -> None:
    w = with_a_commit_marker()
    w.clean()
    assert w.offsets == [0, 2, 3, 4, 5]


def test_cln_05_a_commit_marker_goes_in_the_pass_after_its_horizon() -> None:
    w = with_a_commit_marker()
    w.clean()
    w.data(1, 1, 3)
    w.end("COMMIT", 1)
    w.clean()
    assert w.offsets == [3, 4, 5, 6, 7, 8]
    assert w.clean().horizons_set == 1
    assert w.offsets == [3, 4, 5, 6, 7, 8]
    w.clean(after_ms=RETENTION_MS - 1)
    assert w.offsets == [3, 4, 5, 6, 7, 8]
    w.clean(after_ms=1)
    assert w.offsets == [4, 5, 6, 7, 8]


def test_cln_06_an_abort_marker_goes_in_the_pass_after_its_horizon() -> None:
    w = Written()
    w.data(1, 1)
    w.data(1, 2, 3)
    w.end("ABORT", 1)
    w.data(1, 3)
    w.end("COMMIT", 1)
    w.clean()
    assert (w.offsets, w.index) == ([3, 4, 5], [(1, 0, 3, 4)])
    w.clean()
    assert (w.offsets, w.index) == ([3, 4, 5], [])
    w.clean(after_ms=RETENTION_MS)
    assert w.offsets == [4, 5]


def test_cln_07_an_abort_marker_stays_while_an_empty_batch_of_its_transaction_does() -> None:
    w = Written()
    w.data(1, 2, 3)
    w.end("ABORT", 1)
    w.clean()
    assert (w.offsets, w.ends, w.index) == ([2], [1, 2], [(1, 0, 2, 3)])
    w.clean(after_ms=RETENTION_MS)
    w.clean(after_ms=RETENTION_MS)
    assert (w.offsets, w.ends, w.index) == ([2], [1, 2], [(1, 0, 2, 3)])
    w.data(1, 1)
    w.end("COMMIT", 1)
    w.clean(after_ms=1)
    assert (w.offsets, w.ends, w.index) == ([2, 3, 4], [2, 3, 4], [(1, 0, 2, 3)])
    w.clean(after_ms=1)
    assert (w.offsets, w.ends, w.index) == ([2, 3, 4], [2, 3, 4], [])
    w.clean(after_ms=RETENTION_MS)
    assert (w.offsets, w.ends, w.index) == ([3, 4], [3, 4], [])


def test_cln_10_two_passes_and_a_retention_time_remove_what_aborted_transactions_leave() -> None:
    w = Written()
    w.data(1, 1, 2)
    w.data(2, 2, 3)
    w.data(1, 3, 4)
    w.end("COMMIT", 1)
    w.end("COMMIT", 2)
    w.data(1, 5, 6)
    w.end("ABORT", 1)
    w.data(2, 7)
    w.data(1, 8, 9, 10)
    w.end("COMMIT", 1)
    w.end("ABORT", 2)
    w.log.roll(w.now)
    w.data(2, 7, 8)
    w.end("COMMIT", 2)
    index = [(1, 8, 10, 11), (2, 11, 16, 17)]
    assert w.index == index
    w.clean()
    assert w.index == index
    assert {10, 16} <= set(w.offsets)
    assert not {8, 9, 11} & set(w.offsets)
    w.clean()
    assert w.index == []
    assert {10, 16} <= set(w.offsets)
    w.clean(after_ms=RETENTION_MS)
    assert not {10, 16} & set(w.offsets)
    assert {6, 7, 15, 19} <= set(w.offsets)


def test_cln_11_the_last_sequence_survives_though_its_transaction_was_aborted() -> None:
    w = Written()
    w.data(1, 1)
    w.data(1, 2, 3)
    w.end("ABORT", 1)
    w.clean()
    assert (w.ends, w.last_sequence(1), w.offsets) == ([2, 3], 2, [3])
    assert w.log.reload().producers.entries[1].last_sequence == 2


# cases of the same kind


def test_nothing_is_cleaned_from_the_segment_of_an_open_transaction_on() -> None:
    w = Written()
    w.data(-1, 1)
    w.data(-1, 1)
    w.log.roll(w.now)
    for producer_id in (-1, -1, 1, -1):  # the transaction begins at offset 4
        w.data(producer_id, 1)
    w.log.roll(w.now)
    w.data(-1, 1)
    assert w.log.last_stable_offset == 4
    cleaning = w.clean(roll=False)
    assert (cleaning.end, w.offsets) == (2, [1, 2, 3, 4, 5, 6])
    assert (w.log.segments, w.log.checkpoint.first_dirty_offset) == ([0, 2, 6], 2)


def test_a_clean_segment_may_be_young() -> None:
    w = Written()
    w.data(-1, 1)
    w.data(-1, 1)
    assert w.clean().end == 2
    w.now += 1
    w.data(-1, 2)
    assert w.clean(lag_ms=1, roll=True).end == 2, "the dirty segment is as young as the lag forbids"
    assert w.clean(lag_ms=1, after_ms=1).end == 3
    w.log.segments[:] = [0, 2, 3]
    assert cleanable_end(w.log, w.now - 2) == 3, "what is clean has its time behind it"


def test_a_completed_transaction_is_not_cleaned_before_its_marker_is_replicated() -> None:
    w = Written()
    w.data(1, 1)
    w.data(1, 1)
    w.log.append(w.log.batches[-1], 0)  # a plain append moves no high watermark
    assert w.clean().end == 0
    assert w.offsets == [0, 1, 2]


def test_the_active_segment_is_never_cleaned() -> None:
    w = Written()
    for _ in range(3):
        w.data(-1, 1)
    assert not w.clean(roll=False).changed
    w.log.roll(w.now)
    w.data(-1, 1)
    w.clean(roll=False)
    assert w.offsets == [2, 3]


def test_segments_younger_than_the_compaction_lag_are_not_cleaned() -> None:
    w = Written()
    w.data(-1, 1)
    w.data(-1, 1)
    w.log.roll(w.now)
    w.now += 500
    w.data(-1, 1)
    w.log.roll(w.now)
    w.data(-1, 1)
    assert w.clean(roll=False, after_ms=499, lag_ms=1_000).end == 0
    assert w.clean(roll=False, after_ms=1, lag_ms=1_000).end == 2
    assert w.offsets == [1, 2, 3]
    assert w.clean(roll=False, after_ms=500, lag_ms=1_000).end == 3
    assert w.offsets == [2, 3]


def test_an_aborted_value_does_not_replace_an_older_committed_one() -> None:
    w = Written()
    w.data(1, 1)
    w.end("COMMIT", 1)
    w.data(1, 1)
    w.end("ABORT", 1)
    w.data(-1, 9)
    w.clean()
    assert w.offsets == [0, 1, 3, 4]


def test_two_open_transactions_of_different_producers_do_not_mix() -> None:
    w = Written()
    w.data(1, 1)
    w.data(2, 1)
    w.end("ABORT", 1)
    w.data(2, 2)
    w.end("COMMIT", 2)
    w.data(1, 3)
    w.end("COMMIT", 1)
    w.clean()
    assert (w.keys, w.offsets) == (["1", "2", "3"], [1, 2, 3, 4, 5, 6])


def test_markers_never_compete_with_users_keys() -> None:
    w = Written()
    w.data(1, "COMMIT", "ABORT")
    w.end("COMMIT", 1)
    w.data(1, "x")
    w.end("ABORT", 1)
    w.data(-1, "y")
    w.clean()
    assert w.offsets == [0, 1, 2, 4, 5]


def test_a_record_without_a_key_is_dropped() -> None:
    w = Written()
    w.data(-1, None, 1)
    w.data(-1, 2)
    w.clean()
    assert (w.keys, w.offsets) == (["1", "2"], [1, 2])


def test_a_tombstone_goes_in_the_pass_after_its_horizon_and_no_older_value_comes_back() -> None:
    w = Written()
    w.data(-1, 1)
    w.data(-1, 1, value=None)
    w.data(-1, 2)
    assert w.clean().horizons_set == 1
    assert w.offsets == [1, 2]
    w.clean(after_ms=RETENTION_MS - 1)
    assert w.offsets == [1, 2]
    w.clean(after_ms=1)
    assert w.offsets == [2]


def test_a_horizon_once_set_is_not_put_off_by_later_passes() -> None:
    w = Written()
    w.data(-1, 1, value=None)
    w.data(-1, 2)
    for _ in range(4):
        w.clean(after_ms=RETENTION_MS // 4)
        assert w.offsets[0] == 0
        w.data(-1, 2)
    w.clean(after_ms=RETENTION_MS // 4)
    assert "1" not in w.keys


def test_the_last_batch_below_the_high_watermark_stays_though_it_is_empty() -> None:
    w = Written()
    w.data(-1, 1)
    w.data(-1, None)
    w.clean()
    assert (w.offsets, w.ends) == ([0], [0, 1])
    w.data(-1, 2)
    w.clean()
    assert w.ends == [0, 2]


def test_an_expired_producers_last_batch_need_not_stay() -> None:
    w = Written()
    w.data(1, 1, txn=False)
    w.data(-1, 1)
    w.log.producers.remove_expired(w.now + w.log.producers.expiration_ms)
    w.clean()
    assert w.ends == [1]


def test_a_marker_is_a_producers_last_batch_if_nothing_is_known_of_its_data() -> None:
    w = Written()
    w.data(1, 1)
    w.end("ABORT", 1, epoch=1)
    w.data(-1, 2)
    w.clean()
    w.clean()
    w.clean(after_ms=RETENTION_MS)
    assert (w.offsets, w.ends, w.index) == ([2], [1, 2], [])
    assert w.log.batches[0].producer_epoch == 1
    w.end("COMMIT", 1, epoch=2)
    w.clean()
    assert w.ends == [2, 3]


def test_batches_keep_their_offsets_and_sequences_when_records_go() -> None:
    w = Written()
    w.data(1, 1, 2, 3, txn=False)
    w.data(-1, 1, 3)
    w.clean()
    first = w.log.batches[0]
    assert (first.base_offset, first.last_offset, first.base_sequence, first.last_sequence) == (0, 2, 0, 2)
    assert list(first.offsets) == [1]
    w.data(-1, 2)
    w.clean()
    assert list(w.log.batches[0].offsets) == []
    assert w.log.batches[0].last_sequence == 2


def test_what_was_cleaned_becomes_one_segment() -> None:
    w = Written()
    for key in (1, 2, 3):
        w.data(-1, key)
        w.log.roll(w.now)
    w.clean()
    assert w.log.segments == [0, 3]
    assert w.log.checkpoint.first_dirty_offset == 3


def test_a_transaction_across_segments_and_cleanings_is_dropped_once_it_is_aborted() -> None:
    w = Written()
    w.data(1, 1)
    w.log.roll(w.now)
    w.data(-1, 1)
    w.data(1, 2)
    w.clean()
    assert w.offsets == [0, 1, 2]
    w.end("ABORT", 1)
    w.data(1, 5)
    w.end("COMMIT", 1)
    w.clean()
    assert (w.offsets, w.index) == ([1, 3, 4, 5], [(1, 0, 3, 4)])
    w.clean()
    assert w.index == []


@pytest.mark.parametrize("control", ["COMMIT", "ABORT"])
def test_the_marker_of_an_empty_transaction_goes_after_its_horizon(control: str) -> None:
    w = Written()
    w.data(-1, 1)
    w.end(control, 7)
    w.data(7, 2)
    w.end("COMMIT", 7)
    assert w.clean().horizons_set == 1
    w.clean(after_ms=RETENTION_MS)
    assert w.offsets == [0, 2, 3]


def test_without_the_rule_no_batch_of_a_producer_is_kept_for_its_sequences() -> None:
    w = Written(Rules(off=(LAST_BATCH_STAYS.name,)))
    w.data(1, 1, 2, 3, txn=False)
    w.data(2, 3, 1, 2, txn=False)
    w.data(-1, 9)
    w.clean()
    assert w.ends == [5, 6]
    assert w.log.producers.entries[1].last_sequence == 2


def test_before_kip_534_a_marker_goes_by_the_age_of_its_segment() -> None:
    w = Written(Rules(off=(DELETE_HORIZON.name,)))
    w.data(-1, 1, value=None)
    w.end("ABORT", 7)
    w.data(7, 2)
    w.end("COMMIT", 7)
    w.clean()
    assert w.offsets == [0, 1, 2, 3]
    w.clean(after_ms=10 * RETENTION_MS)
    assert w.offsets == [0, 1, 2, 3]


def test_before_kip_534_a_merged_segment_never_gets_old_enough() -> None:
    w = Written(Rules(off=(DELETE_HORIZON.name,)))
    w.data(-1, 1, value=None)
    for _ in range(5):
        w.data(-1, 2)
        w.clean(after_ms=RETENTION_MS)
    assert w.keys[0] == "1"
    now = Written()
    now.data(-1, 1, value=None)
    for _ in range(5):
        now.data(-1, 2)
        now.clean(after_ms=RETENTION_MS)
    assert "1" not in now.keys


@pytest.mark.parametrize(("later_ms", "left"), [(RETENTION_MS - 1, [0, 1, 2, 3, 4]), (RETENTION_MS, [2, 3, 4])])
def test_before_kip_534_what_is_a_retention_time_older_than_the_newest_clean_segment_goes(
    later_ms: int, left: list[int]
) -> None:
    w = Written(Rules(off=(DELETE_HORIZON.name,)))
    w.data(-1, 1, value=None)
    w.end("COMMIT", 7)
    w.data(7, 2, txn=False)
    w.log.roll(w.now)
    w.now += later_ms
    w.data(-1, 3)
    w.clean(segment_bytes=1)
    assert w.offsets == [0, 1, 2, 3]
    w.data(-1, 4)
    w.clean(segment_bytes=1)
    assert w.offsets == left


def test_records_outside_transactions_do_not_keep_a_marker() -> None:
    w = Written()
    w.data(7, 1, txn=False)
    w.end("COMMIT", 7)
    w.data(7, 2, txn=False)
    assert w.clean().horizons_set == 1
    w.clean(after_ms=RETENTION_MS)
    assert w.offsets == [0, 2]
