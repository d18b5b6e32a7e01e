"""A torn transaction without operations: markers against their decision are found, what is explained is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import UNKNOWN, VIOLATED
from kafkalab.checks.view import LACKS
from kafkalab.history.builder import HistoryBuilder

K, L = "k-0", "l-0"


def begin(keys: tuple[str, ...] = (K, L), pid: int = 1) -> HistoryBuilder:
    """A transaction that wrote to these keys, in a history without operations."""
    m = HistoryBuilder()
    m.label(LACKS, "operations")
    m.entry("Ongoing", *keys, pid=pid)
    for key in keys:
        m.log(key, "v", pid=pid, epoch=0, txn=True)
    return m


def aborted_by_hand() -> HistoryBuilder:
    m = begin()
    m.marker(K, "ABORT")
    m.entry("PrepareCommit", K, L)
    m.marker(K, "COMMIT")
    m.marker(L, "COMMIT")
    return m


def aborted_while_it_is_committed() -> HistoryBuilder:
    m = begin()
    m.entry("PrepareCommit", K, L)
    m.marker(K, "ABORT")
    m.marker(L, "COMMIT")
    return m


def aborted_by_hand_under_version_2() -> HistoryBuilder:
    """The decision raises the epoch."""
    m = begin()
    m.marker(K, "ABORT")
    m.entry("PrepareCommit", K, L, epoch=1)
    m.marker(K, "COMMIT", epoch=1)
    m.marker(L, "COMMIT", epoch=1)
    return m


def committed_by_hand() -> HistoryBuilder:
    m = begin()
    m.marker(L, "COMMIT")
    m.entry("PrepareAbort", K, L)
    m.marker(K, "ABORT")
    return m


def marker_that_came_twice() -> HistoryBuilder:
    """The COMMIT marker of the first transaction comes again and ends a part of the second."""
    m = begin((L,))
    m.log(K, "v", pid=1, epoch=0, txn=True)
    m.entry("PrepareCommit", K, L)
    m.marker(L, "COMMIT")
    m.marker(K, "COMMIT")
    m.entry("Ongoing", K, L)
    m.log(K, "w", pid=1, epoch=0, txn=True)
    m.log(L, "w", pid=1, epoch=0, txn=True)
    m.marker(K, "COMMIT")
    m.entry("PrepareAbort", K, L)
    m.marker(L, "ABORT")
    return m


def of_no_coordinator() -> HistoryBuilder:
    m = begin()
    m.rows["transactions"].clear()
    m.marker(K, "ABORT")
    m.marker(L, "COMMIT")
    return m


def of_a_key_that_was_not_added() -> HistoryBuilder:
    m = begin((K, L))
    m.rows["transactions"].clear()
    m.entry("Ongoing", L)
    m.marker(K, "ABORT")
    m.entry("PrepareCommit", L)
    m.marker(L, "COMMIT")
    return m


def nothing_of_it_committed() -> HistoryBuilder:
    m = begin((K,))
    m.marker(K, "ABORT")
    m.entry("PrepareCommit", K)
    m.marker(K, "COMMIT")
    return m


def decided_so() -> HistoryBuilder:
    m = begin()
    m.entry("PrepareAbort", K, L)
    m.marker(K, "ABORT")
    m.marker(L, "ABORT")
    return m


def late_marker_in_the_next_transaction() -> HistoryBuilder:
    """The clock of K's leader is ahead: its COMMIT seems to come while the next transaction is under way."""
    m = begin()
    m.entry("PrepareCommit", K, L)
    m.marker(L, "COMMIT")
    m.entry("CompleteCommit")
    m.entry("Ongoing", K, L)
    m.marker(K, "COMMIT")
    m.log(K, "w", pid=1, epoch=0, txn=True)
    m.log(L, "w", pid=1, epoch=0, txn=True)
    m.entry("PrepareAbort", K, L)
    m.marker(K, "ABORT")
    m.marker(L, "ABORT")
    return m


def left_over_of_another_epoch() -> HistoryBuilder:
    """An administrator ends what hangs of an older epoch, while the transaction of the newer one is under way."""
    m = HistoryBuilder()
    m.label(LACKS, "operations")
    m.log(K, "old", pid=1, epoch=0, txn=True)
    m.entry("Ongoing", K, L, epoch=1)
    m.marker(K, "ABORT", epoch=1)
    m.log(K, "v", pid=1, epoch=1, txn=True)
    m.log(L, "v", pid=1, epoch=1, txn=True)
    m.entry("PrepareCommit", K, L, epoch=1)
    m.marker(K, "COMMIT", epoch=1)
    m.marker(L, "COMMIT", epoch=1)
    return m


def before_it_began() -> HistoryBuilder:
    m = HistoryBuilder()
    m.label(LACKS, "operations")
    m.log(K, "hangs", pid=1, epoch=0, txn=True)
    m.entry("CompleteCommit")
    m.marker(K, "ABORT")
    m.entry("Ongoing", K, L)
    m.log(K, "v", pid=1, epoch=0, txn=True)
    m.log(L, "v", pid=1, epoch=0, txn=True)
    m.entry("PrepareCommit", K, L)
    m.marker(K, "COMMIT")
    m.marker(L, "COMMIT")
    return m


@pytest.mark.parametrize(
    ("made", "key", "offsets"),
    [
        (aborted_by_hand, K, (0, 1)),
        (aborted_while_it_is_committed, K, (0, 1)),
        (aborted_by_hand_under_version_2, K, (0, 1)),
        (committed_by_hand, L, (0, 1)),
        (marker_that_came_twice, K, (2, 3)),
    ],
)
def test_a_marker_against_its_decision_is_found(
    made: Callable[[], HistoryBuilder], key: str, offsets: tuple[int, ...]
) -> None:
    result = BY_NAME["torn transaction"](made().history())
    assert (result.verdict, result.missing) == (VIOLATED, ("operations",))
    (found,) = result.findings
    assert (found.keys, found.offsets) == ((key,), offsets)
    assert "t, producer 1, ended in more than one way" in found.text


@pytest.mark.parametrize(
    "made",
    [
        nothing_of_it_committed, decided_so, late_marker_in_the_next_transaction, left_over_of_another_epoch,
        before_it_began, of_a_key_that_was_not_added, of_no_coordinator,
    ],
)  # fmt: skip
def test_what_is_explained_is_no_tear_but_it_stays_unknown(made: Callable[[], HistoryBuilder]) -> None:
    result = BY_NAME["torn transaction"](made().history())
    assert (result.verdict, result.findings, result.examined) == (UNKNOWN, (), 0)
