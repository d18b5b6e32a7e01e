"""Find committed offsets that were overwritten in a transaction or moved backwards, and none that are legal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import ALLOWED, FORBIDDEN, UNKNOWN, VIOLATED
from kafkalab.checks.from_a_log import CAPTURED, COMPLETE
from kafkalab.history.builder import HistoryBuilder

OFFSETS, PLAIN = "__consumer_offsets-12", -1
Made = Callable[[HistoryBuilder], object]


def commit(
    m: HistoryBuilder, *offsets: int, end: str = "COMMIT", later: int = 0, name: str = "g/in-0"
) -> HistoryBuilder:
    """Commit these offsets in one transaction; the marker's epoch is `later` by so much."""
    for offset in offsets:
        m.log(OFFSETS, str(offset), record_key=name, pid=1, epoch=3, seq=0, txn=True)
    if end:
        m.marker(OFFSETS, end, epoch=3 + later)
    return m


def plain(m: HistoryBuilder, offset: int | None) -> HistoryBuilder:
    """Commit an offset outside transactions; None is a tombstone."""
    return m.log(OFFSETS, None if offset is None else str(offset), record_key="g/in-0")


def policies(name: str, build: Made) -> tuple[str, list[str]]:
    m = HistoryBuilder().label(CAPTURED, COMPLETE)
    build(m)
    result = BY_NAME[name](m.history())
    return result.verdict, [finding.policy for finding in result.findings]


def of_two_partitions(m: HistoryBuilder) -> None:
    commit(m, 2, end="")
    commit(m, 1, name="g/in-1")


def of_two_producers(m: HistoryBuilder) -> None:
    m.log(OFFSETS, "1", record_key="g/in-0", pid=2, epoch=0, seq=0, txn=True)
    commit(m, 2)
    m.marker(OFFSETS, "COMMIT", pid=2, epoch=0)


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (lambda m: commit(m, 2, 1), (VIOLATED, [FORBIDDEN])),
        (lambda m: commit(m, 2, 1, later=1), (VIOLATED, [FORBIDDEN])),
        (lambda m: commit(m, 1, 3, 2), (VIOLATED, [FORBIDDEN])),
        (lambda m: commit(m, 1, 2), (UNKNOWN, [UNKNOWN])),
        (lambda m: commit(m, 1, 2, later=1), (UNKNOWN, [])),  # version 2: no older request joins
        (lambda m: commit(m, 2, 2), (UNKNOWN, [])),  # one was sent again
        (lambda m: commit(m, 2, 1, end="ABORT"), (UNKNOWN, [])),
        (lambda m: commit(m, 2, 1, end=""), (UNKNOWN, [])),
        (of_two_partitions, (UNKNOWN, [])),
        (of_two_producers, (UNKNOWN, [])),
        (lambda m: (commit(m, 2), commit(m, 1)), (UNKNOWN, [])),
        (lambda m: (plain(m, 2), plain(m, 1)), (UNKNOWN, [])),
    ],
)
def test_two_commits_in_one_transaction(build: Made, found: tuple[str, list[str]]) -> None:
    assert policies("torn transaction", build) == found


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (lambda m: (commit(m, 2), commit(m, 1)), (VIOLATED, [FORBIDDEN])),
        (lambda m: (commit(m, 2), commit(m, 3), commit(m, 2)), (VIOLATED, [FORBIDDEN])),
        (lambda m: (commit(m, 1), commit(m, 2), commit(m, 2)), (UNKNOWN, [])),
        (lambda m: (commit(m, 2), commit(m, 1, end="ABORT")), (UNKNOWN, [])),
        (lambda m: (commit(m, 2), commit(m, 1, end="")), (UNKNOWN, [])),
        (lambda m: (commit(m, 1), commit(m, 3, 2)), (UNKNOWN, [])),  # the 3 is never visible
        (lambda m: (plain(m, 5), plain(m, 0)), (UNKNOWN, [ALLOWED])),  # an administrator's reset, or a seek
        (lambda m: (commit(m, 5), plain(m, 0), commit(m, 1)), (UNKNOWN, [ALLOWED])),
        (lambda m: (plain(m, 5), commit(m, 1)), (UNKNOWN, [ALLOWED])),
        (lambda m: (commit(m, 5), plain(m, None), commit(m, 1)), (UNKNOWN, [])),  # the group was deleted
        (lambda m: (commit(m, 5, name="g/in-1"), commit(m, 1)), (UNKNOWN, [])),
        (of_two_producers, (UNKNOWN, [])),  # the older entry is ended last, and does not count any more
    ],
)
def test_an_offset_that_goes_back(build: Made, found: tuple[str, list[str]]) -> None:
    assert policies("offset/output split", build) == found


def test_the_sentences_name_group_producer_offsets_and_marker() -> None:
    m = HistoryBuilder().label(CAPTURED, COMPLETE)
    commit(m, 9)
    commit(m, 10, 7)
    history = m.history()
    (torn,), (split,) = BY_NAME["torn transaction"](history).findings, BY_NAME["offset/output split"](history).findings
    assert torn.text == (
        "the transaction of producer 1, epoch 3, that COMMIT at offset 4 of __consumer_offsets-12 ended, holds the "
        "offsets 10, 7 of g/in-0; 7 counts, which is lower than one before it"
    )
    assert (torn.keys, torn.offsets) == ((OFFSETS,), (2, 3))
    assert split.text == "the committed offset of g/in-0 went back from 9 to 7 in a transaction of producer 1"
    assert (split.keys, split.offsets) == ((OFFSETS,), (0, 3))


def test_a_history_with_operations_is_judged_by_them() -> None:
    m = HistoryBuilder()
    commit(m, 2, 1)
    assert not BY_NAME["torn transaction"](m.history()).findings
