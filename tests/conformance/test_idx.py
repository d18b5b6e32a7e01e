"""IDX: the index of aborted transactions, through `TransactionIndex` (docs/cases.md)."""

from __future__ import annotations

import pytest

from kafkalab.log.transaction_index import TransactionIndex
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import IllegalArgumentError

ENTRIES = [AbortedTxn(0, 0, 10, 11), AbortedTxn(1, 5, 15, 13), AbortedTxn(2, 18, 35, 25), AbortedTxn(3, 32, 50, 40)]


def index_of(*entries: AbortedTxn) -> TransactionIndex:
    index = TransactionIndex()
    for entry in entries:
        index.append(entry)
    return index


@pytest.mark.parametrize(
    ("fetch_offset", "upper", "found", "complete"),
    [
        pytest.param(0, 100, 4, False, id="IDX-01 all, later segments must be searched too"),
        pytest.param(0, 32, 3, True, id="IDX-01 the fourth begins at the bound"),
        pytest.param(0, 35, 4, True, id="IDX-01 the last stable offset lies above the bound"),
        pytest.param(0, 11, 1, True, id="an entry's last stable offset equal to the bound ends the search"),
        pytest.param(0, 12, 2, True, id="an entry's last stable offset above the bound ends the search"),
        pytest.param(0, 40, 4, True, id="the last entry's last stable offset equal to the bound"),
        pytest.param(0, 41, 4, False, id="nothing says that the search is complete"),
    ],
)
def test_what_overlaps_is_collected_until_nothing_more_can_come(
    fetch_offset: int, upper: int, found: int, complete: bool
) -> None:
    entries, is_complete = index_of(*ENTRIES).collect(fetch_offset, upper)
    assert (entries, is_complete) == (tuple(ENTRIES[:found]), complete)


@pytest.mark.parametrize(
    ("fetch_offset", "producers"), [(10, [0, 1, 2, 3]), (11, [1, 2, 3]), (15, [1, 2, 3]), (16, [2, 3]), (51, [])]
)
def test_a_transaction_whose_marker_lies_before_the_fetch_offset_is_left_out(
    fetch_offset: int, producers: list[int]
) -> None:
    entries, _ = index_of(*ENTRIES).collect(fetch_offset, 100)
    assert [e.producer_id for e in entries] == producers


@pytest.mark.parametrize("last_offset", [15, 10])
def test_idx_03_the_last_offset_must_grow(last_offset: int) -> None:
    index = index_of(AbortedTxn(0, 0, 15, 11))
    with pytest.raises(IllegalArgumentError):
        index.append(AbortedTxn(1, 5, last_offset, 17))
    assert len(index.entries) == 1


def test_truncation_drops_the_entries_whose_marker_is_gone() -> None:
    index = index_of(*ENTRIES)
    index.truncate(51)
    assert index.entries == ENTRIES
    index.truncate(36)
    assert index.entries == ENTRIES[:3]
    index.append(AbortedTxn(4, 33, 40, 41))
    index.truncate(0)
    assert index.entries == []


def test_the_entries_of_a_deleted_segment_go_with_it() -> None:
    index = index_of(*ENTRIES)
    index.drop_before(35)
    assert [e.producer_id for e in index.entries] == [2, 3]


def test_each_segment_has_the_entries_whose_markers_it_holds() -> None:
    index = index_of(*ENTRIES)
    assert [e.producer_id for e in index.between(11, 36)] == [1, 2]


def test_an_entry_takes_34_bytes_on_disk() -> None:
    assert AbortedTxn(1, 2, 3, 4).to_bytes().hex() == "0000" + "".join(f"{n:016x}" for n in (1, 2, 3, 4))
