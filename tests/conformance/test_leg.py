"""LEG: what brokers of 0.11 and 1.0 did, and where ids are at home (docs/cases.md; docs/protocol.md#produce)."""

from __future__ import annotations

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import Origin
from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import partition_for
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch
from tests.conformance.producer_log import ABORT, COMMIT, PID, Fed, data, end, plain, write

OK, SEQUENCE = Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER
UNKNOWN, DUPLICATE = Error.UNKNOWN_PRODUCER_ID, Error.DUPLICATE_SEQUENCE_NUMBER


def feed(profile: str, *batches: Batch) -> Fed:
    return Fed(ProducerStates(Rules(profile))).replicate(*batches)


def log_with(profile: str, *batches: Batch) -> PartitionLog:
    log = PartitionLog("p-0", Rules(profile))
    for batch in batches:
        log.append(batch, 0)
    return log


SEVEN = tuple(data(0, s) for s in range(7))


@pytest.mark.parametrize(
    ("before", "batch", "then", "now"),
    [
        pytest.param((), data(0, 5), UNKNOWN, OK, id="LEG-01"),
        pytest.param((), data(0, 0), OK, OK, id="the first sequence of all"),
        pytest.param((end(COMMIT, 0),), data(0, 5), SEQUENCE, SEQUENCE, id="a marker alone"),
        pytest.param((data(0, 0),), data(1, 5), SEQUENCE, SEQUENCE, id="a new epoch does not go on"),
        pytest.param(SEVEN, data(0, 1), DUPLICATE, SEQUENCE, id="older than the batches that are remembered"),
        pytest.param(SEVEN, data(0, 0), SEQUENCE, SEQUENCE, id="0 might also come after the largest sequence"),
        pytest.param(SEVEN, data(0, 3), DUPLICATE, SEQUENCE, id="remembered, and not looked up"),
        pytest.param(SEVEN, data(0, 8), SEQUENCE, SEQUENCE, id="a gap"),
        pytest.param((data(0, 0, 5),), data(0, 3, 2), SEQUENCE, SEQUENCE, id="a part of a batch"),
        pytest.param(SEVEN, data(0, 7), OK, OK, id="the next one"),
        pytest.param((data(1, 0),), data(0, 1), *[Error.INVALID_PRODUCER_EPOCH] * 2, id="an older epoch"),
    ],
)
def test_what_a_leader_of_1_0_said_of_a_batch(before: tuple[Batch, ...], batch: Batch, then: Error, now: Error) -> None:
    assert feed("1.0", *before).answer(batch) is then
    assert feed("4.x/TV1", *before).answer(batch) is now


@pytest.mark.parametrize(("profile", "known"), [("0.11", [6]), ("1.0", [2, 3, 4, 5, 6]), ("4.x/TV2", [2, 3, 4, 5, 6])])
def test_how_many_batches_are_recognised_when_they_come_again(profile: str, known: list[int]) -> None:
    states = feed(profile, *SEVEN).states
    answers = {s: states.analyze(data(0, s), Origin.CLIENT) for s in range(7)}
    assert [s for s, answer in answers.items() if isinstance(answer, CachedBatch)] == known


def test_leg_04_in_1_0_an_empty_transaction_completed_at_its_own_marker() -> None:
    old, new = feed("1.0"), feed("4.x/TV1")
    for states in (old, new):
        states.replicate(end(ABORT, 0, at=7))
    assert [(t.first_offset, t.last_offset, t.aborted) for t in old.completed] == [(7, 7, True)]
    assert new.completed == []
    log = log_with("1.0", plain(7), end(ABORT, 0))
    assert [(e.first_offset, e.last_offset) for e in log.transaction_index.entries] == [(7, 7)]


def test_in_1_0_a_producer_was_forgotten_with_its_records() -> None:
    answers = {}
    for profile in ("1.0", "4.x/TV1"):
        log = log_with(profile, data(0, 0), data(0, 1), data(0, 0, pid=2))
        log.advance(3)
        log.raise_log_start(2)
        answers[profile] = (list(log.producers.entries), write(log, data(0, 2)))
    assert answers == {"1.0": ([2], UNKNOWN), "4.x/TV1": ([PID, 2], OK)}


def test_in_1_0_a_producer_with_some_records_left_was_remembered_by_those() -> None:
    log = log_with("1.0", data(0, 0), data(0, 1))
    log.advance(2)
    log.raise_log_start(1)
    assert [b.first_sequence for b in log.producers.entries[PID].batches] == [1]
    assert write(log, data(0, 2)) is OK


def test_in_1_0_markers_did_not_keep_a_producer_from_expiring() -> None:
    forgotten = {}
    for profile in ("1.0", "4.x/TV1"):
        states = Fed(ProducerStates(Rules(profile), expiration_ms=1000))
        states.replicate(data(0, 0, txn=True, ms=0), end(COMMIT, 0, ms=900, coordinator_epoch=3))
        forgotten[profile] = states.states.remove_expired(1000)
    assert forgotten == {"1.0": (PID,), "4.x/TV1": ()}


def test_in_1_0_a_late_batch_needed_no_verification() -> None:
    late = data(0, 1, txn=True)
    assert feed("1.0", data(0, 0, txn=True), end(ABORT, 0)).answer(late) is OK
    assert feed("4.x/TV1", data(0, 0, txn=True), end(ABORT, 0)).answer(late) is Error.INVALID_TXN_STATE


@pytest.mark.parametrize("epoch", [0, 1])
def test_in_1_0_a_marker_of_version_2_was_one_like_any_other(epoch: int) -> None:
    states = feed("1.0", data(0, 0, txn=True))
    assert states.answer(end(COMMIT, epoch), version=2) is OK


@pytest.mark.parametrize(
    ("name", "partition"),
    [("my-txn", 45), ("my-group", 12), ("polygenelubricants", 0)],
)
def test_leg_06_the_hash_says_which_partition_owns_an_id(name: str, partition: int) -> None:
    assert partition_for(name, 50) == partition


def test_leg_06_other_counts_and_other_ids() -> None:
    assert partition_for("", 50) == 0
    assert partition_for("a", 50) == 97 % 50
    assert [partition_for("polygenelubricants", n) for n in (1, 7, 50)] == [0, 0, 0]
    assert partition_for("my-txn", 1) == 0
    assert partition_for("my-txn", 7) == 1061187895 % 7
