"""Deletion of segments by age, by size, and by the log's start (docs/protocol.md#retention)."""

from __future__ import annotations

import pytest

from kafkalab.log.segments import delete_old_segments, segments_of
from tests.conformance.cleaning import Written


def three_segments() -> Written:
    """Segments [0, 2) of time 1000, [2, 4) of 2000 and the active one [4, 6) of 3000, of one size."""
    w = Written()
    for _ in range(3):
        w.log.roll(w.now)
        w.data(-1, "a")
        w.data(-1, "b")
        w.now += 1_000
    assert [s.base_offset for s in segments_of(w.log)] == [0, 2, 4]
    return w


def test_an_offset_lies_in_the_last_segment_that_begins_at_or_below_it() -> None:
    assert [three_segments().log.segment_of(offset) for offset in range(8)] == [0, 0, 2, 2, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("now", "gone"), [(2_000, ()), (2_001, (0,)), (3_001, (0, 2)), (4_000, (0, 2)), (4_001, (0, 2, 4))]
)
def test_a_segment_goes_when_its_newest_record_is_too_old(now: int, gone: tuple[int, ...]) -> None:
    w = three_segments()
    assert delete_old_segments(w.log, now, retention_ms=1_000) == gone
    assert w.log.log_start_offset == 2 * len(gone)
    assert len(w.log.batches) == 6 - 2 * len(gone)


@pytest.mark.parametrize(("segments", "gone"), [(3, ()), (2.5, ()), (2, (0,)), (1.5, (0,)), (1, (0, 2))])
def test_as_many_segments_go_as_the_log_is_too_large(segments: float, gone: tuple[int, ...]) -> None:
    w = three_segments()
    size = segments_of(w.log)[0].size_bytes
    assert delete_old_segments(w.log, 0, retention_bytes=int(segments * size)) == gone


def test_without_a_limit_nothing_goes() -> None:
    assert delete_old_segments(three_segments().log, 10**12) == ()


def test_no_segment_goes_that_is_not_wholly_replicated() -> None:
    w = Written()
    w.data(-1, "a")
    w.log.roll(w.now)
    w.data(-1, "a")
    w.log.append(w.log.batches[0], 0)
    assert w.log.high_watermark == 2
    assert delete_old_segments(w.log, 10**9, retention_ms=1) == (0,)


def test_when_the_active_segment_goes_a_new_one_begins_at_the_end() -> None:
    w = three_segments()
    delete_old_segments(w.log, 10**9, retention_ms=1)
    assert (w.log.segments, list(w.log.batches), w.log.log_start_offset, w.log.log_end_offset) == ([6], [], 6, 6)
    assert delete_old_segments(w.log, 10**10, retention_ms=1) == ()


def test_what_lies_wholly_below_the_log_start_goes() -> None:
    w = three_segments()
    w.log.raise_log_start(3)
    assert delete_old_segments(w.log, 0) == (0,)
    assert (w.log.segments, w.log.log_start_offset) == ([2, 4], 3)
    w.log.raise_log_start(4)
    assert delete_old_segments(w.log, 0) == (2,)


def test_index_and_snapshots_go_with_their_segment_and_the_producers_stay() -> None:
    w = Written()
    w.data(1, "a")
    w.end("ABORT", 1)
    w.log.roll(w.now)
    w.data(1, "b")
    w.end("ABORT", 1)
    w.log.roll(w.now)
    assert sorted(w.log.producers.snapshots) == [2, 4]
    w.log.raise_log_start(2)
    delete_old_segments(w.log, 0)
    assert w.index == [(1, 2, 3, 4)]
    w.log.raise_log_start(4)
    delete_old_segments(w.log, 0)
    assert (w.index, sorted(w.log.producers.snapshots)) == ([], [4])
    assert w.last_sequence(1) == 1


def test_an_open_transaction_below_the_log_start_is_unstable_from_there_on() -> None:
    w = Written()
    w.data(1, "a", "b")
    w.data(-1, "c")
    assert w.log.last_stable_offset == 0
    w.log.raise_log_start(2)
    assert w.log.last_stable_offset == 2
    w.end("COMMIT", 1)
    assert w.log.last_stable_offset == 4
