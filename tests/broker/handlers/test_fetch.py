"""Fetch by a consumer: one segment, and a list of aborted transactions that ends at an index entry
(docs/protocol.md#fetch)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.log.aborted_filter import deliver
from kafkalab.log.offset_index import OffsetIndex
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED, Fetch, PartitionFetched
from kafkalab.protocol.profiles import PROFILES
from kafkalab.protocol.records import Batch, Record
from tests.conformance.one_broker import Asked, OneBroker
from tests.conformance.producer_log import ABORT, COMMIT, data, end

T = "t-0"
OPEN, GIVEN_UP, DONE = 1, 2, 3


def write(world: OneBroker, *batches: Batch) -> PartitionLog:
    """Append the batches, fully replicated."""
    log = world.state.log(T)
    for batch in batches:
        log.append(batch, 0)
    log.advance(log.log_end_offset)
    return log


def of(producer_id: int, size: int = 1) -> Batch:
    """A transactional batch of one record with a value of `size` bytes."""
    return replace(data(0, 0, txn=True, pid=producer_id), records=(Record(None, "x" * size),))


def fetch(world: OneBroker, offset: int, isolation_level: str = READ_COMMITTED, min_bytes: int = 1) -> Asked:
    positions = {T: offset}
    return world.ask(Fetch(isolation_level=isolation_level, positions=positions, max_wait_ms=500, min_bytes=min_bytes))


def read_partition(asked: Asked) -> PartitionFetched:
    found: PartitionFetched = asked.response.partitions[T]
    return found


def list_aborted(answer: PartitionFetched) -> list[tuple[int, int]]:
    assert answer.aborted_transactions is not None
    return [(a.producer_id, a.first_offset) for a in answer.aborted_transactions]


def test_the_list_names_what_begins_above_the_last_stable_offset() -> None:
    world = OneBroker()
    aborted = (of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    write(world, *aborted, of(OPEN), *aborted)
    answer = read_partition(fetch(world, 0))
    assert [b.base_offset for b in answer.batches] == [0, 1]
    assert (answer.last_stable_offset, list_aborted(answer)) == (2, [(GIVEN_UP, 0), (GIVEN_UP, 3)])
    assert read_partition(fetch(world, 0, READ_UNCOMMITTED)).aborted_transactions is None
    assert list_aborted(read_partition(fetch(world, 1))) == [(GIVEN_UP, 0), (GIVEN_UP, 3)]


@pytest.mark.parametrize("profile", PROFILES)
def test_read_uncommitted_is_told_the_last_stable_offset_since_2_1(profile: str) -> None:
    world = OneBroker(profile)
    write(world, of(DONE), of(OPEN))
    assert read_partition(fetch(world, 0, READ_UNCOMMITTED)).last_stable_offset == (
        -1 if profile in ("0.11", "1.0") else 0
    )
    waiting = fetch(world, 0)
    world.run_for(500)
    assert read_partition(waiting).last_stable_offset == 0


def test_an_answer_without_batches_lists_nothing() -> None:
    world = OneBroker()
    write(world, of(OPEN), of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    waiting = fetch(world, 0)
    world.run_for(500)
    assert (read_partition(waiting).batches, list_aborted(read_partition(waiting))) == ((), [])


def test_the_list_ends_at_the_next_index_entry() -> None:
    """A batch gets an entry where more than 4096 bytes precede it: here the one at 2, later that at 10."""
    world = OneBroker()
    write(world, of(DONE, 4000), of(DONE), end(COMMIT, 0, pid=DONE), of(OPEN), of(GIVEN_UP), of(GIVEN_UP))
    write(world, end(ABORT, 0, pid=GIVEN_UP), end(COMMIT, 0, pid=OPEN))
    log = world.state.log(T)
    assert sum(b.size_bytes for b in log.batches[:2]) > 4096
    assert list_aborted(read_partition(fetch(world, 0))) == [(GIVEN_UP, 4)]
    write(world, of(OPEN), of(GIVEN_UP, 9000), of(DONE), end(ABORT, 0, pid=GIVEN_UP), of(99), end(ABORT, 0, pid=99))
    answer = read_partition(fetch(world, 0))
    assert answer.last_stable_offset == 8
    assert list_aborted(answer) == [(GIVEN_UP, 4), (GIVEN_UP, 9)]


def test_an_index_entry_names_the_last_offset_of_the_batch_before_which_too_much_was_written() -> None:
    index = OffsetIndex(0)
    sizes = (4015, 1, 1, 9000, 1, 1)
    batches = [replace(of(1, size), base_offset=2 * n, last_offset_delta=1) for n, size in enumerate(sizes)]
    assert (batches[0].size_bytes, batches[1].size_bytes) == (4085, 69)
    index.extend(batches[:1])
    assert (index.offsets, index.next_offset) == ([], 2)
    index.extend(batches[1:])
    assert (index.offsets, index.next_offset) == ([5, 9], 12)
    assert [index.upper_bound(offset) for offset in (0, 3, 5, 8, 9, 11)] == [5, 5, 9, 9, None, None]
    exact = OffsetIndex(0)
    exact.extend([replace(of(1, size), base_offset=n) for n, size in enumerate((4026, 1, 1))])
    assert exact.offsets == [2]


def test_one_fetch_reads_one_segment_and_its_list_ends_there() -> None:
    world = OneBroker()
    aborted = (of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    write(world, *aborted, of(OPEN)).roll(0)
    write(world, end(COMMIT, 0, pid=OPEN), *aborted).roll(0)
    write(world, *aborted)
    for isolation_level in (READ_COMMITTED, READ_UNCOMMITTED):
        found = [
            [b.base_offset for b in read_partition(fetch(world, o, isolation_level)).batches] for o in (0, 2, 3, 6)
        ]
        assert found == [[0, 1, 2], [2], [3, 4, 5], [6, 7]]
    assert [list_aborted(read_partition(fetch(world, offset))) for offset in (0, 2, 3, 6)] == [
        [(GIVEN_UP, 0)],
        [],
        [(GIVEN_UP, 4)],
        [(GIVEN_UP, 6)],
    ]


def test_a_segment_without_batches_from_the_offset_on_is_passed_over() -> None:
    world = OneBroker()
    log = write(world, of(DONE), of(DONE), end(COMMIT, 0, pid=DONE))
    log.roll(0)
    write(world, of(DONE))
    log.replace_batches(1, 3, ())
    assert [b.base_offset for b in read_partition(fetch(world, 1, READ_UNCOMMITTED)).batches] == [3]


def test_a_fetch_that_ends_at_a_segment_does_not_wait_for_more_bytes() -> None:
    world = OneBroker()
    write(world, of(DONE), end(COMMIT, 0, pid=DONE)).roll(0)
    assert fetch(world, 0, min_bytes=1000).response is not None
    write(world, of(DONE), end(COMMIT, 0, pid=DONE))
    assert len(read_partition(fetch(world, 0, min_bytes=1000)).batches) == 2
    assert fetch(world, 2, min_bytes=1000).response is None
    assert fetch(world, 2, min_bytes=147).response is not None
    assert fetch(world, 2, min_bytes=148).response is None


def test_the_index_follows_a_truncation() -> None:
    world = OneBroker()
    log = write(world, of(DONE, 9000), of(DONE), of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    assert log.aborted_for(0, log.batches[:1]) == ()
    log.truncate(1)
    write(world, of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    assert [a.first_offset for a in log.aborted_for(0, log.batches[:1])] == []
    assert [a.first_offset for a in log.aborted_for(0, log.batches[:2])] == [1]
    log.truncate(0)
    write(world, of(DONE), of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    assert [a.first_offset for a in log.aborted_for(0, log.batches[:1])] == [1]


def test_a_consumer_passes_over_what_the_list_names_too_much() -> None:
    world = OneBroker()
    aborted = (of(GIVEN_UP), end(ABORT, 0, pid=GIVEN_UP))
    committed = (of(GIVEN_UP), end(COMMIT, 0, pid=GIVEN_UP))
    write(world, *aborted, *committed, of(OPEN), *aborted, end(COMMIT, 0, pid=OPEN))
    log = world.state.log(T)
    for upper in range(1, 8):
        records, _ = deliver(T, 0, log.read(0, upper), log.aborted_between(0, log.log_end_offset))
        assert [r.offset for r in records] == [o for o in (2, 4) if o < upper]
