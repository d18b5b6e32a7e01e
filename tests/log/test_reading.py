"""What is read of a log: from one segment at a time, and up to the first transaction that is not decided."""

from __future__ import annotations

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.transaction_index import Entries
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.protocol.rules import VERIFICATION
from tests.log.test_batch_list import Memory, batch
from tests.log.test_segments import three_segments


@pytest.mark.parametrize(
    ("offset", "upper", "found"),
    [
        (0, 6, [0, 1]), (1, 6, [1]), (0, 1, [0]), (2, 6, [2, 3]), (2, 3, [2]), (3, 5, [3]), (4, 6, [4, 5]), (4, 5, [4]),
        (6, 6, []), (1, 1, []),
    ],
)  # fmt: skip
def test_a_read_ends_with_its_segment(offset: int, upper: int, found: list[int]) -> None:
    assert [b.base_offset for b in three_segments().log.read_segment(offset, upper)] == found


def test_a_read_passes_over_a_segment_of_which_nothing_is_left() -> None:
    log = three_segments().log
    log.replace_batches(0, 2, ())
    assert [b.base_offset for b in log.read_segment(0, 6)] == [2, 3]


def test_a_reader_of_a_long_log_of_several_segments_gets_it_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalab.log.batch_list.MEMORY_BYTES", 8)
    monkeypatch.setattr("kafkalab.log.partition_log.READ_BYTES", 500)
    log = PartitionLog("t-0", spill_file=Memory())
    log.batches._most = 8
    for number in range(600):
        log.append(batch(number), 0)
        if number in (299, 449):
            log.roll(0)
    found: list[int] = []
    while len(found) < 600:
        part = log.read_segment(len(found), 600)
        assert 1 <= len(part) <= 10
        assert len({log.segment_of(b.base_offset) for b in part}) == 1
        found += [b.base_offset for b in part]
    assert found == list(range(600))


def test_an_open_transaction_whose_beginning_is_deleted_is_undecided_from_what_is_left() -> None:
    log = PartitionLog("p-0", Rules(off=(VERIFICATION.name,)))
    for sequence in (0, 2):
        records = (Record(None, "x"),) * 2
        given = Batch(records=records, producer_id=1, producer_epoch=0, base_sequence=sequence, transactional=True)
        log.append(given, 0)
    log.advance(4)
    for start, unstable in ((0, 0), (1, 0), (2, 2), (3, 2), (4, 4)):
        log.raise_log_start(start)
        assert log.first_unstable_offset == unstable
    log.append(marker(1, 0, ControlType.COMMIT, 0, 0), 0)
    assert log.last_stable_offset == 4
    log.advance(5)
    assert (log.first_unstable_offset, log.last_stable_offset) == (None, 5)


def test_each_segment_has_its_own_offset_index() -> None:
    log = PartitionLog("p-0", Rules(off=(VERIFICATION.name,)))
    log.append(Batch(records=(Record(None, "x" * 9_000),)), 0)
    log.append(Batch(records=(Record(None, "x"),)), 0)
    for first in (2, 4):
        records = (Record(None, "x"),)
        sequence = first // 2 - 1
        given = Batch(records=records, producer_id=1, producer_epoch=0, base_sequence=sequence, transactional=True)
        log.append(given, 0)
        log.append(marker(1, 0, ControlType.ABORT, 0, 0), 0)
        log.roll(0)
    assert [a.first_offset for a in log.aborted_for(4, log.batches_between(4, 5))] == [4]
    assert log.aborted_for(0, log.batches_between(0, 1)) == (), "the entry of offset 1 comes first"
    assert [a.first_offset for a in log.aborted_for(0, log.batches_between(0, 2))] == [2]
    log.replace_batches(0, 2, ())
    assert [a.first_offset for a in log.aborted_for(0, log.batches_between(2, 3))] == [2], "the index begins anew"


def test_aborted_transactions_equal_a_list_of_the_same_ones() -> None:
    one, other = AbortedTxn(1, 0, 2, 3), AbortedTxn(2, 1, 4, 5)
    assert Entries([one, other]) == [one, other]
    assert Entries([one]) == Entries([one])
    for different in ([], [other], [one, other], (one,), None):
        assert Entries([one]) != different
