"""A follower refuses one thing only: plain data of a producer whose transaction is open on the partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.errors import Error
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.protocol.rules import VERIFICATION


def batch(producer_id: int, transactional: bool) -> Batch:
    """One record of the producer, in a transaction or not."""
    return Batch(
        records=(Record(None, "x"),), producer_id=producer_id, producer_epoch=0, base_sequence=0,
        transactional=transactional,
    )  # fmt: skip


def make_marker(producer_id: int, records: tuple[Record, ...] | None = None) -> Batch:
    """The marker that commits the producer's transaction; cleaning leaves it without its record."""
    end = marker(producer_id, 0, ControlType.COMMIT, coordinator_epoch=0, now_ms=9)
    return end if records is None else replace(end, records=records)


PLAIN, OPEN, OF_NOBODY = batch(0, False), batch(0, True), batch(-1, False)


@pytest.mark.parametrize(
    ("before", "fetched", "expected"),
    [
        ([], [PLAIN], Error.NONE),
        ([OPEN], [], Error.NONE),
        ([OPEN], [PLAIN], Error.INVALID_TXN_STATE),
        ([OPEN], [OPEN], Error.NONE),
        ([OPEN], [OF_NOBODY, batch(1, False)], Error.NONE),
        ([OPEN], [OF_NOBODY, PLAIN], Error.INVALID_TXN_STATE),
        ([OPEN], [make_marker(0), PLAIN], Error.NONE),
        ([OPEN], [make_marker(1), PLAIN], Error.INVALID_TXN_STATE),
        ([OPEN], [make_marker(0, ()), PLAIN], Error.INVALID_TXN_STATE),
        ([OPEN, make_marker(0)], [PLAIN], Error.NONE),
        ([], [OPEN, PLAIN], Error.INVALID_TXN_STATE),
        ([], [OPEN, batch(1, False)], Error.NONE),
        ([], [OPEN, make_marker(0), PLAIN], Error.NONE),
        ([], [OPEN, make_marker(0), OPEN, PLAIN], Error.INVALID_TXN_STATE),
    ],
)
def test_plain_data_in_an_open_transaction_is_refused(
    before: list[Batch], fetched: list[Batch], expected: Error
) -> None:
    log = PartitionLog("p-0", Rules(off=(VERIFICATION.name,)))
    for one in before:
        log.append(one, 0)
    held = dict(log.producers.ongoing)
    assert log.producers.replication_error(fetched) is expected
    assert log.producers.ongoing == held, "nothing is remembered of what is only asked about"
