"""A leader's memory of producers: sequences, epochs, the five-batch window, guards, markers
(docs/protocol.md#produce)."""

from __future__ import annotations

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import Origin
from kafkalab.protocol.errors import Error
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker, sequence_after
from kafkalab.protocol.rules import VERIFICATION

RULES = Rules(off=(VERIFICATION.name,))
VERIFYING = Rules()


def data(epoch: int, sequence: int, count: int = 1, transactional: bool = False, producer_id: int = 1) -> Batch:
    records = tuple(Record(None, f"v{i}") for i in range(count))
    return Batch(
        records=records,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def log_with(*batches: Batch, rules: Rules = RULES) -> PartitionLog:
    log = PartitionLog("p-0", rules)
    for batch in batches:
        log.append(batch, 0)
    return log


def answer(log: PartitionLog, batch: Batch, guard: int = 0) -> Error:
    return log.producers.data_error(batch, Origin.CLIENT, guard)


def marker_answer(log: PartitionLog, batch: Batch, version: int) -> Error:
    return log.producers.marker_error(batch, Origin.COORDINATOR, version)


def original_offset(log: PartitionLog, batch: Batch) -> int | None:
    known = log.producers.duplicate_of(batch)
    return None if known is None else known.first_offset


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [(2, Error.NONE), (1, Error.OUT_OF_ORDER_SEQUENCE_NUMBER), (5, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)],
)
def test_only_the_next_sequence_is_accepted(sequence: int, expected: Error) -> None:
    assert answer(log_with(data(0, 0), data(0, 1)), data(0, sequence)) is expected


def test_a_duplicate_is_recognised_by_its_exact_range_within_the_last_five_batches() -> None:
    log = log_with(*(data(0, s) for s in range(6)), data(0, 6, count=3))
    assert original_offset(log, data(0, 6, count=3)) == 6
    assert original_offset(log, data(0, 7, count=2)) is None
    assert original_offset(log, data(0, 2)) == 2
    assert original_offset(log, data(0, 1)) is None
    assert original_offset(log, data(1, 6, count=3)) is None


def test_an_older_epoch_is_refused_and_a_newer_one_starts_at_zero() -> None:
    log = log_with(data(1, 0))
    assert answer(log, data(0, 1)) is Error.INVALID_PRODUCER_EPOCH
    assert answer(log, data(2, 0)) is Error.NONE
    assert answer(log, data(2, 1)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_without_state_any_sequence_is_accepted_unless_the_client_speaks_version_2() -> None:
    assert answer(log_with(), data(0, 5)) is Error.NONE
    log = log_with(rules=VERIFYING)
    guard = log.producers.start_verification(1, 5, 0, 2)
    assert isinstance(guard, int)
    assert answer(log, data(0, 5, transactional=True), guard) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    log = log_with(rules=VERIFYING)
    guard = log.producers.start_verification(1, 0, 0, 2)
    assert isinstance(guard, int)
    assert answer(log, data(0, 0, transactional=True), guard) is Error.NONE


def test_sequences_wrap_to_zero() -> None:
    top = 2**31 - 1
    assert sequence_after(top, 1) == 0
    log = log_with(data(15, top))
    assert answer(log, data(15, 0)) is Error.NONE
    assert Batch(records=(Record(None, ""),) * 20, base_sequence=top - 10).last_sequence == 8


def test_a_plain_batch_inside_an_open_transaction_is_refused() -> None:
    assert answer(log_with(data(0, 0, transactional=True)), data(0, 1)) is Error.INVALID_TXN_STATE


def test_a_transactional_append_needs_the_guard_of_its_verification() -> None:
    log = log_with(rules=VERIFYING)
    assert answer(log, data(0, 0, transactional=True)) is Error.INVALID_TXN_STATE
    guard = log.producers.start_verification(1, 0, 0, 0)
    assert isinstance(guard, int)
    assert answer(log, data(0, 0, transactional=True), guard) is Error.NONE
    log.append(marker(1, 0, ControlType.ABORT, 0, 0), 0)
    assert answer(log, data(0, 0, transactional=True), guard) is Error.INVALID_TXN_STATE


def test_no_guard_is_needed_while_the_transaction_is_open() -> None:
    log = log_with(data(0, 0, transactional=True))
    assert log.producers.start_verification(1, 1, 0, 0) == 0
    assert log.producers.start_verification(1, 0, -1, 0) is Error.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("epoch", "version", "expected"),
    [
        (4, 0, Error.INVALID_PRODUCER_EPOCH),
        (4, 2, Error.INVALID_PRODUCER_EPOCH),
        (5, 0, Error.NONE),
        (5, 2, Error.INVALID_PRODUCER_EPOCH),
        (6, 2, Error.NONE),
    ],
)
def test_a_marker_needs_the_epoch_or_under_version_2_a_newer_one(epoch: int, version: int, expected: Error) -> None:
    log = log_with(data(5, 0, transactional=True))
    assert marker_answer(log, marker(1, epoch, ControlType.COMMIT, 0, 0), version) is expected


def test_a_retried_marker_of_version_2_is_accepted_once_nothing_is_open() -> None:
    log = log_with(data(0, 0, transactional=True), marker(1, 1, ControlType.COMMIT, 0, 0))
    assert marker_answer(log, marker(1, 1, ControlType.COMMIT, 0, 0), 2) is Error.NONE
    log.append(marker(1, 1, ControlType.COMMIT, 0, 0), 0)
    assert log.log_end_offset == 3
    assert log.transaction_index.entries == []


def test_a_marker_of_an_older_coordinator_is_refused() -> None:
    log = log_with(data(0, 0, transactional=True), marker(1, 0, ControlType.COMMIT, 2, 0))
    assert marker_answer(log, marker(1, 0, ControlType.COMMIT, 1, 0), 0) is Error.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_with_a_newer_epoch_fences_and_restarts_sequences() -> None:
    log = log_with(data(0, 0, transactional=True), marker(1, 1, ControlType.ABORT, 0, 0))
    assert answer(log, data(0, 1, transactional=True)) is Error.INVALID_PRODUCER_EPOCH
    assert answer(log, data(1, 1, transactional=True)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(log, data(1, 0, transactional=True)) is Error.NONE


def test_after_a_marker_of_the_same_epoch_sequences_go_on() -> None:
    log = log_with(data(0, 0, transactional=True), marker(1, 0, ControlType.COMMIT, 0, 0))
    assert answer(log, data(0, 1, transactional=True)) is Error.NONE
