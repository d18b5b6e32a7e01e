"""What a log keeps and what it forgets: leader epochs, truncation, a new beginning, restarts, segments by number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.log.segments import Segment, delete_old_segments, segments_of
from kafkalab.log.transaction_index import TransactionIndex
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import IllegalArgumentError
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.protocol.rules import MARKERS_KEEP_STATE, VERIFICATION
from tests.log.test_segments import three_segments


def batch(*values: str, producer_id: int = -1, sequence: int = -1, transactional: bool = False) -> Batch:
    return Batch(
        records=tuple(Record(None, v) for v in values),
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=sequence,
        transactional=transactional,
    )


def of_epochs(*epochs: int) -> PartitionLog:
    """One record of each of these leader epochs."""
    log = PartitionLog("p-0")
    for epoch in epochs:
        log.append(batch("v"), epoch)
    return log


def test_a_new_log_is_empty_and_knows_what_it_was_made_with() -> None:
    rules = Rules("4.x/TV1")
    log = PartitionLog("p-7", rules, 5)
    assert (log.partition, log.high_watermark, log.log_start_offset, log.log_end_offset) == ("p-7", 0, 0, 0)
    assert (log.producers.rules, log.producers.expiration_ms) == (rules, 5)
    assert PartitionLog("p-7").producers.expiration_ms == EXPIRATION_MS


# marks


def test_the_high_watermark_says_whether_it_has_moved() -> None:
    log = of_epochs(0, 0, 0)
    assert (log.advance(2), log.high_watermark) == (True, 2)
    assert (log.advance(2), log.high_watermark) == (False, 2)
    assert (log.advance(1), log.high_watermark) == (False, 2)
    assert (log.advance(9), log.high_watermark) == (True, 3)


def test_the_log_start_says_whether_it_has_moved_and_lifts_the_high_watermark() -> None:
    log = of_epochs(0, 0, 0)
    assert (log.raise_log_start(2), log.log_start_offset, log.high_watermark) == (True, 2, 2)
    assert log.raise_log_start(2) is False
    assert log.raise_log_start(1) is False


# leader epochs


def test_a_batch_carries_the_epoch_of_the_leader_that_appended_it() -> None:
    assert [b.leader_epoch for b in of_epochs(4, 4, 6).batches] == [4, 4, 6]


def test_the_last_epoch_is_that_of_the_last_batch() -> None:
    assert of_epochs().last_epoch == -1
    assert of_epochs(3).last_epoch == 3
    assert of_epochs(3, 5, 5, 8).last_epoch == 8


@pytest.mark.parametrize(
    ("asked", "found"), [(0, (0, 0)), (1, (1, 2)), (2, (1, 2)), (3, (3, 4)), (4, (3, 4)), (5, (5, 5)), (9, (5, 5))]
)
def test_the_newest_epoch_up_to_the_asked_one_and_its_end(asked: int, found: tuple[int, int]) -> None:
    log = of_epochs(1, 1, 3, 3, 5)
    assert log.epoch_and_end(asked) == found
    assert log.end_offset_for(asked) == found[1]


@pytest.mark.parametrize(("offset", "last"), [(0, -1), (1, 1), (2, 1), (3, 3), (4, 3), (5, 5)])
def test_truncation_forgets_the_epochs_that_begin_there_or_later(offset: int, last: int) -> None:
    log = of_epochs(1, 1, 3, 3, 5)
    log.truncate(offset)
    assert (log.last_epoch, log.log_end_offset, len(log.batches)) == (last, offset, offset)


# reading, replacing, beginning anew


def test_between_two_batches_the_later_one_is_read() -> None:
    log = of_epochs(0, 0, 0, 0, 0)
    log.replace_batches(1, 4, ())
    assert [b.base_offset for b in log.read(2, 9)] == [4]
    assert [b.base_offset for b in log.read(0, 9)] == [0, 4]


def test_only_the_batches_of_the_range_are_replaced() -> None:
    log = of_epochs(0, 0, 0, 0)
    other = batch("cleaned").place(1, 0)
    log.replace_batches(1, 3, [other])
    assert log.batches[1] is other
    assert [b.base_offset for b in log.batches] == [0, 1, 3]
    assert [b.base_offset for b in log.read(1, 4)] == [1, 3]


def make_aborted() -> PartitionLog:
    """An aborted transaction of producer 1 in [0, 1], and an idempotent batch of producer 2 at 2; rolled at 3."""
    log = PartitionLog("p-0", Rules("4.x/TV1"), 777)
    log.append(batch("a", producer_id=1, sequence=0, transactional=True), 4)
    log.append(marker(1, 0, ControlType.ABORT, 0, 0), 4)
    log.append(batch("b", producer_id=2, sequence=0), 4)
    log.roll(0)
    log.advance(3)
    return log


def test_a_log_that_begins_anew_has_nothing_of_the_old_one() -> None:
    log = make_aborted()
    log.start_at(9)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_stable_offset) == (9, 9, 9, 9)
    assert (list(log.batches), list(log.transaction_index.entries)) == ([], [])
    assert (log.segments, log.last_epoch) == ([9], -1)
    assert (log.producers.entries, log.producers.ongoing, log.producers.snapshots) == ({}, {}, {})
    assert (log.producers.rules.client_protocol, log.producers.expiration_ms) == (1, 777)
    assert (log.producers.map_end_offset, log.producers.snapshot_offset) == (9, 9)
    log.append(batch("c"), 5)
    assert ([b.base_offset for b in log.read(9, 10)], log.last_epoch) == ([9], 5)


def test_a_restarted_log_knows_all_that_was_written_down() -> None:
    old = make_aborted()
    log = old.reload()
    assert (log.partition, log.batches, log.segments, log.checkpoint) == ("p-0", old.batches, [0, 3], old.checkpoint)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_epoch) == (0, 3, 3, 4)
    assert log.transaction_index.entries == old.transaction_index.entries
    assert (log.producers.rules.client_protocol, log.producers.expiration_ms) == (1, 777)
    assert sorted(log.producers.entries) == [1, 2]
    log.append(batch("c"), 5)
    assert (old.log_end_offset, len(old.batches), old.segments) == (3, 3, [0, 3]), "the old one is another log"


@pytest.mark.parametrize("restarts", [True, False])
def test_reading_back_forgets_no_producer_unless_a_time_is_given(restarts: bool) -> None:
    log = PartitionLog("p-0", None, 1)
    log.append(batch("a", producer_id=1, sequence=0), 0)
    log.close()
    log.append(batch("b"), 0)
    if restarts:
        assert list(log.reload().producers.entries) == [1]
        assert list(log.reload(1).producers.entries) == []
    else:
        log.truncate(1)
        assert list(log.producers.entries) == [1]


def test_a_restarted_log_forgets_producers_after_its_own_time() -> None:
    log = PartitionLog("p-0", None, 10 * EXPIRATION_MS)
    log.append(batch("a", producer_id=1, sequence=0), 0)
    log.close()
    log.append(batch("b"), 0)
    assert list(log.reload(9 * EXPIRATION_MS).producers.entries) == [1]
    assert list(log.reload(10 * EXPIRATION_MS).producers.entries) == []


def test_a_restarted_log_reads_its_batches_under_its_own_rules() -> None:
    log = PartitionLog("p-0", Rules(off=(MARKERS_KEEP_STATE.name, VERIFICATION.name)))
    log.append(replace(batch("a", producer_id=1, sequence=0, transactional=True), timestamp_ms=5), 0)
    log.append(marker(1, 0, ControlType.COMMIT, 0, 9), 0)
    assert [entry.last_timestamp_ms for entry in log.producers.entries.values()] == [5]
    assert repr(log.reload().producers.entries) == repr(log.producers.entries)


# segments


def test_the_index_takes_its_entries_in_the_order_of_their_markers() -> None:
    index = TransactionIndex()
    index.append(AbortedTxn(1, 0, 5, 6))
    with pytest.raises(IllegalArgumentError, match="ends at 5 cannot follow one that ends at 5"):
        index.append(AbortedTxn(2, 1, 5, 6))


def test_a_segment_says_its_offsets_size_and_times() -> None:
    log = three_segments().log
    log.checkpoint.modified_ms[2] = 2_500
    log.roll(0)
    found = segments_of(log)
    size = sum(b.size_bytes for b in log.batches[:2])
    assert found[0] == Segment(base_offset=0, end_offset=2, size_bytes=size, newest_ms=1_000, modified_ms=1_000)
    assert (found[1].newest_ms, found[1].modified_ms) == (2_000, 2_500)
    assert found[3] == Segment(base_offset=6, end_offset=6, size_bytes=0, newest_ms=-1, modified_ms=0)


@pytest.mark.parametrize(
    ("newest", "modified", "now", "gone"),
    [(0, 5_000, 1_001, True), (0, 5_000, 1_000, False), (1_000, 9_000, 2_001, True)],
)
def test_the_newest_record_says_how_old_a_segment_is_and_not_its_file(
    newest: int, modified: int, now: int, gone: bool
) -> None:
    log = PartitionLog("p-0")
    log.append(Batch(records=(Record(None, "v"),), timestamp_ms=newest), 0)
    log.roll(0)
    log.advance(1)
    log.checkpoint.modified_ms[0] = modified
    assert bool(delete_old_segments(log, now, retention_ms=1_000)) is gone


@pytest.mark.parametrize(("now", "gone"), [(6_000, ()), (6_001, (0,))])
def test_a_segment_without_records_is_as_old_as_its_file(now: int, gone: tuple[int, ...]) -> None:
    log = three_segments().log
    log.replace_batches(0, 2, ())
    log.checkpoint.modified_ms[0] = 5_000
    for b in log.batches:
        object.__setattr__(b, "timestamp_ms", 10_000)
    assert delete_old_segments(log, now, retention_ms=1_000) == gone


def test_limits_of_nothing_leave_nothing() -> None:
    assert delete_old_segments(three_segments().log, 0, retention_bytes=0) == (0, 2, 4)
    assert delete_old_segments(three_segments().log, 3_001, retention_ms=0) == (0, 2, 4)
    assert delete_old_segments(three_segments().log, 3_000, retention_ms=0) == (0, 2)


def test_without_a_limit_an_empty_segment_stays_too() -> None:
    log = three_segments().log
    log.replace_batches(0, 2, ())
    assert delete_old_segments(log, 10**12) == ()


def test_all_segments_below_the_log_start_go_at_once_but_the_active_one() -> None:
    log = three_segments().log
    log.raise_log_start(6)
    assert delete_old_segments(log, 0) == (0, 2)


def test_a_follower_notes_an_epoch_also_if_its_number_is_the_offset_where_the_last_one_began() -> None:
    log = PartitionLog("p-0")
    for epoch, base, values in ((1, 0, "abc"), (2, 3, "d"), (3, 4, "e")):
        records = tuple(Record(None, v) for v in values)
        log.replicate(Batch(records=records, leader_epoch=epoch, base_offset=base))
    assert log.epoch_and_end(2) == (2, 4)
    assert log.last_epoch == 3
