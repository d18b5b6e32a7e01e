"""A leader's memory of producers: sequences, epochs, the five-batch window, guards, markers
(docs/protocol.md#produce)."""

from __future__ import annotations

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import Origin
from kafkalab.log.producer_state.entry import CachedBatch, CompletedTxn, ProducerEntry
from kafkalab.log.producer_state.state import EXPIRATION_MS, ProducerStates
from kafkalab.protocol.errors import Error, IllegalArgumentError
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker, sequence_after
from kafkalab.protocol.rules import (
    OFFSETS_EPOCH,
    OLD_BATCHES,
    PRODUCE_EPOCH,
    SEQUENCE_GAPS,
    STATE_OUTLIVES_DATA,
    VERIFICATION,
    Rule,
)
from tests.log.lookups import duplicate_of, first_undecided_offset

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
    known = duplicate_of(log.producers, batch)
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


@pytest.mark.parametrize(
    ("off", "origin", "expected"),
    [
        (PRODUCE_EPOCH, Origin.CLIENT, Error.NONE),
        (PRODUCE_EPOCH, Origin.COORDINATOR, Error.INVALID_PRODUCER_EPOCH),
        (OFFSETS_EPOCH, Origin.CLIENT, Error.INVALID_PRODUCER_EPOCH),
        (OFFSETS_EPOCH, Origin.COORDINATOR, Error.NONE),
    ],
)
def test_a_partition_and_a_group_coordinator_each_have_a_rule_that_compares_epochs(
    off: Rule, origin: Origin, expected: Error
) -> None:
    log = log_with(data(1, 0), rules=Rules(off=(VERIFICATION.name, off.name, SEQUENCE_GAPS.name)))
    assert log.producers.data_error(data(0, 0), origin) is expected


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


@pytest.mark.parametrize(
    ("sequence", "count", "expected"),
    [
        (10, 2, Error.DUPLICATE_SEQUENCE_NUMBER),  # remembered
        (8, 2, Error.DUPLICATE_SEQUENCE_NUMBER),  # ends before all that is remembered
        (9, 2, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),  # ends with the first remembered sequence
        (11, 2, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (15, 1, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_before_kafka_6683_an_old_batch_was_treated_as_a_duplicate(sequence: int, count: int, expected: Error) -> None:
    log = log_with(data(0, 10, 2), data(0, 12), rules=Rules(off=(VERIFICATION.name, OLD_BATCHES.name)))
    assert answer(log, data(0, sequence, count)) is expected


def test_before_kafka_6683_a_batch_without_a_predecessor_was_no_duplicate() -> None:
    log = log_with(marker(1, 0, ControlType.COMMIT, 0, 0), rules=Rules(off=(VERIFICATION.name, OLD_BATCHES.name)))
    assert answer(log, data(0, 3)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_marker_without_a_transaction_version_is_an_error() -> None:
    with pytest.raises(IllegalArgumentError, match=r"^a marker without a transaction version$"):
        marker_answer(log_with(), marker(1, 0, ControlType.COMMIT, 0, 0), -1)


@pytest.mark.parametrize(("version", "like"), [(-2, 1), (3, 2), (127, 2)])
def test_a_number_that_is_no_transaction_version_is_like_the_nearest(version: int, like: int) -> None:
    for epoch in (0, 1):
        log = log_with(data(0, 0, transactional=True))
        mark = marker(1, epoch, ControlType.COMMIT, 0, 0)
        assert marker_answer(log, mark, version) is marker_answer(log, mark, like)


def test_producer_id_zero_is_a_producer() -> None:
    log = log_with(data(0, 0, producer_id=0))
    assert log.producers.analyze(data(0, 2, producer_id=0), Origin.CLIENT) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.producers.analyze(data(0, 0, producer_id=0), Origin.CLIENT) == CachedBatch(0, 0, 0, 0)
    assert log.producers.entries[0].last_sequence == 0


def test_of_an_unknown_producer_nothing_is_a_duplicate() -> None:
    assert duplicate_of(log_with().producers, data(0, 0)) is None


def test_guards_are_numbered_from_one_on() -> None:
    states = ProducerStates()
    assert [states.start_verification(pid, 0, 0, 2) for pid in (1, 2, 1, 3)] == [1, 2, 1, 3]


def test_a_verification_outlives_a_log_that_begins_again_elsewhere() -> None:
    log = log_with(data(0, 0))
    assert [log.producers.start_verification(pid, 0, 1, 2) for pid in (2, 1)] == [1, 2]
    log.start_at(9)
    assert (log.producers.entries, log.producers.map_end_offset) == ({}, 9)
    assert [log.producers.start_verification(pid, 0, 1, 2) for pid in (1, 3)] == [2, 3]


def test_a_lost_verification_holds_back_what_is_behind_it_until_a_marker_takes_it_away() -> None:
    log = log_with(rules=VERIFYING)
    lost = log.producers.start_verification(1, 0, 0, 0)
    assert log.producers.start_verification(1, 5, 0, 0) == lost
    assert isinstance(lost, int)
    behind = data(0, 5, transactional=True)
    assert answer(log, behind, lost) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert answer(log, data(0, 0, transactional=True), lost) is Error.NONE
    log.append(marker(1, 0, ControlType.ABORT, 0, 0), 0)
    assert answer(log, behind, lost) is Error.INVALID_TXN_STATE


def test_a_verification_expires_as_long_after_it_began_as_a_producer_id() -> None:
    states = ProducerStates()
    states.start_verification(1, 0, 0, 2)
    states.start_verification(2, 0, 0, 2, now_ms=1)
    states.remove_expired(EXPIRATION_MS - 1)
    assert list(states.verifications) == [1, 2]
    states.remove_expired(EXPIRATION_MS)
    assert list(states.verifications) == [2]


def states_before_kafka_7190() -> ProducerStates:
    """Producer 1 has records 0, 1 to 2 and 3; producer 2 has record 4, in an open transaction."""
    log = log_with(data(0, 0), data(0, 1, 2), data(0, 3), data(0, 0, transactional=True, producer_id=2))
    log.producers.rules = Rules(off=(VERIFICATION.name, STATE_OUTLIVES_DATA.name))
    return log.producers


@pytest.mark.parametrize(("log_start_offset", "first_offsets"), [(0, [0, 1, 3]), (1, [1, 3]), (2, [1, 3]), (3, [3])])
def test_before_kafka_7190_a_producer_keeps_the_batches_that_are_left(
    log_start_offset: int, first_offsets: list[int]
) -> None:
    states = states_before_kafka_7190()
    states.log_start_moved(log_start_offset)
    assert [b.first_offset for b in states.entries[1].batches] == first_offsets
    assert first_undecided_offset(states) == 4


def test_before_kafka_7190_a_producer_without_data_was_forgotten_with_its_transaction() -> None:
    states = states_before_kafka_7190()
    states.log_start_moved(4)
    assert (list(states.entries), states.ongoing) == ([2], {2: 4})
    states.log_start_moved(5)
    assert (states.entries, states.ongoing) == ({}, {})


def test_the_first_unstable_offset_is_the_lowest_of_all_open_or_unreplicated_transactions() -> None:
    states = ProducerStates()
    assert states.first_unstable_offset is None
    states.unreplicated = [CompletedTxn(1, 5, 9, False), CompletedTxn(2, 3, 10, True), CompletedTxn(3, 4, 11, True)]
    assert states.first_unstable_offset == 3
    states.entries[4], states.ongoing[4] = ProducerEntry(), 2
    assert states.first_unstable_offset == 2
