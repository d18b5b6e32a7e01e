"""A partition leader without one of its rules: each does what a Kafka without it would do, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import EPOCH_MAX
from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED, Fetch
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import (
    ANY_FIRST_SEQUENCE,
    DEDUPLICATION,
    EMPTY_NOT_COMPLETED,
    EPOCH_BEFORE_GUARD,
    FIRST_SEQUENCE_ZERO,
    FIVE_BATCHES,
    HIGH_WATERMARK,
    LOWEST_SEQUENCE,
    LSO_BOUND,
    MARKER_EPOCH,
    MARKER_PRODUCER_EPOCH,
    MARKER_RETRY,
    MARKER_TAKES_GUARD,
    MARKERS_KEEP_STATE,
    NEWER_MARKER_EPOCH,
    NEXT_GUARD_STAYS,
    OLD_BATCHES,
    PRODUCE_EPOCH,
    SEQUENCE_GAPS,
    STATE_OUTLIVES_DATA,
    VERIFICATION,
    Rule,
)
from tests.conformance.one_broker import OneBroker
from tests.conformance.producer_log import ABORT, COMMIT, PID, data, end, plain, write
from tests.conformance.test_produce import in_sync, produce

OK, SEQUENCE = Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER
EPOCH, TXN, FENCED = Error.INVALID_PRODUCER_EPOCH, Error.INVALID_TXN_STATE, Error.TRANSACTION_COORDINATOR_FENCED
WROTE = "recognised"
Asking = Callable[[PartitionLog], Any]


def summarize(answer: Error | CachedBatch) -> Any:
    return WROTE if isinstance(answer, CachedBatch) else answer


def after(*before: Batch, then: Batch, version: int = 0) -> Asking:
    """Return what is said of one batch after others; nothing is verified."""

    def ask(log: PartitionLog) -> Any:
        for batch in before:
            log.append(batch, 0)
        return summarize(write(log, then, version))

    return ask


def verify(
    *between: Batch,
    then: Batch,
    version: int = 2,
    sequence: int = 0,
    epoch: int = 0,
    before: tuple[Batch, ...] = (),
) -> Asking:
    """A verification, something in between, the append with the guard of then."""

    def ask(log: PartitionLog) -> Any:
        for batch in before:
            log.append(batch, 0)
        guard = log.producers.start_verification(PID, sequence, epoch, version)
        assert isinstance(guard, int)
        for batch in between:
            log.append(batch, 0)
        return summarize(write(log, then, guard=guard))

    return ask


def forgotten_after_log_start(log: PartitionLog) -> Any:
    log.append(data(0, 0), 0)
    log.append(plain(1), 0)
    log.advance(2)
    log.raise_log_start(1)
    return list(log.producers.entries)


def forgotten_by_time(log: PartitionLog) -> Any:
    log.append(data(0, 0, txn=True, ms=0), 0)
    log.append(end(COMMIT, 0, ms=500), 0)
    return log.producers.remove_expired(86_400_000)


def index_after_empty_abort(log: PartitionLog) -> Any:
    log.append(end(ABORT, 0), 0)
    return [e.last_offset for e in log.transaction_index.entries]


OPEN = data(5, 0, txn=True)
SIX = tuple(data(0, s) for s in range(6))
CASES: tuple[tuple[Rule, Asking, Any, Any], ...] = (
    (DEDUPLICATION, after(data(0, 0), then=data(0, 0)), WROTE, OK),
    (DEDUPLICATION, after(*SIX, then=data(0, 2)), WROTE, OK),
    (DEDUPLICATION, after(*SIX, then=data(0, 7)), SEQUENCE, SEQUENCE),
    (FIVE_BATCHES, after(*SIX, then=data(0, 5)), WROTE, WROTE),
    (FIVE_BATCHES, after(*SIX, then=data(0, 4)), WROTE, SEQUENCE),
    (OLD_BATCHES, after(*SIX, data(0, 6), then=data(0, 1)), SEQUENCE, Error.DUPLICATE_SEQUENCE_NUMBER),
    (OLD_BATCHES, after(*SIX, then=data(0, 9)), SEQUENCE, SEQUENCE),
    (SEQUENCE_GAPS, after(data(0, 0), then=data(0, 5)), SEQUENCE, OK),
    (SEQUENCE_GAPS, after(data(0, 0), then=data(1, 5)), SEQUENCE, OK),
    (SEQUENCE_GAPS, after(data(0, 0), then=data(0, 0)), WROTE, WROTE),
    (ANY_FIRST_SEQUENCE, after(then=data(0, 5)), OK, Error.UNKNOWN_PRODUCER_ID),
    (ANY_FIRST_SEQUENCE, after(then=data(0, 0)), OK, OK),
    (STATE_OUTLIVES_DATA, forgotten_after_log_start, [PID], []),
    (MARKERS_KEEP_STATE, forgotten_by_time, (), (PID,)),
    (EMPTY_NOT_COMPLETED, index_after_empty_abort, [], [0]),
    (PRODUCE_EPOCH, after(data(1, 0), then=data(0, 0)), EPOCH, OK),
    (PRODUCE_EPOCH, after(data(0, 0, txn=True), end(ABORT, 1), then=data(0, 0, txn=True)), EPOCH, OK),
    (MARKER_EPOCH, after(end(ABORT, 0, coordinator_epoch=2), then=end(ABORT, 0)), FENCED, OK),
    (MARKER_PRODUCER_EPOCH, after(OPEN, then=end(ABORT, 4)), EPOCH, OK),
    (MARKER_PRODUCER_EPOCH, after(OPEN, then=end(ABORT, 4), version=2), EPOCH, OK),
    (MARKER_PRODUCER_EPOCH, after(OPEN, then=end(ABORT, 5), version=2), EPOCH, EPOCH),
    (NEWER_MARKER_EPOCH, after(OPEN, then=end(ABORT, 5), version=2), EPOCH, OK),
    (NEWER_MARKER_EPOCH, after(OPEN, then=end(ABORT, 4), version=2), EPOCH, EPOCH),
    (MARKER_RETRY, after(OPEN, end(ABORT, 6), then=end(ABORT, 6), version=2), OK, EPOCH),
    (MARKER_RETRY, after(data(EPOCH_MAX, 0, txn=True), then=end(ABORT, EPOCH_MAX), version=2), OK, EPOCH),
    (MARKER_RETRY, after(OPEN, end(ABORT, 6), then=end(ABORT, 6), version=1), OK, OK),
)
VERIFIED: tuple[tuple[Rule, Asking, Any, Any], ...] = (
    (VERIFICATION, after(then=data(0, 0, txn=True)), TXN, OK),
    (MARKER_TAKES_GUARD, verify(end(ABORT, 0), then=data(0, 0, txn=True), version=0), TXN, OK),
    (NEXT_GUARD_STAYS, verify(end(ABORT, 0), then=data(0, 0, txn=True)), OK, TXN),
    (NEXT_GUARD_STAYS, verify(end(ABORT, 1), then=data(1, 0, txn=True)), TXN, TXN),
    (LOWEST_SEQUENCE, verify(then=data(0, 5, txn=True), version=0), SEQUENCE, OK),
    (FIRST_SEQUENCE_ZERO, verify(then=data(0, 5, txn=True), sequence=5), SEQUENCE, OK),
    (FIRST_SEQUENCE_ZERO, verify(then=data(0, 6, txn=True), sequence=5), SEQUENCE, SEQUENCE),
    (EPOCH_BEFORE_GUARD, verify(end(ABORT, 1), then=data(0, 0, txn=True), version=0), EPOCH, TXN),
    (EPOCH_BEFORE_GUARD, after(data(1, 0, txn=True), then=data(0, 0, txn=True)), EPOCH, TXN),
)


@pytest.mark.parametrize(("rule", "ask", "on", "off"), CASES)
def test_a_leader_without_the_rule(rule: Rule, ask: Asking, on: Any, off: Any) -> None:
    unverified = Rules(off=(VERIFICATION.name,))
    assert ask(PartitionLog("p-0", unverified)) == on
    assert ask(PartitionLog("p-0", Rules(off=(VERIFICATION.name, rule.name)))) == off


@pytest.mark.parametrize(("rule", "ask", "on", "off"), VERIFIED)
def test_a_leader_that_verifies_without_the_rule(rule: Rule, ask: Asking, on: Any, off: Any) -> None:
    assert ask(PartitionLog("p-0", Rules())) == on
    assert ask(PartitionLog("p-0", Rules(off=(rule.name,)))) == off


def test_without_deduplication_a_repeated_batch_lands_twice_and_the_producer_goes_on() -> None:
    log = PartitionLog("p-0", Rules(off=(VERIFICATION.name, DEDUPLICATION.name)))
    answers = [write(log, data(0, s, txn=True)) for s in (0, 1, 0, 1, 2)]
    assert (answers, log.log_end_offset) == ([OK] * 5, 5)


def test_without_the_epoch_check_an_old_producer_may_begin_a_verification() -> None:
    log = PartitionLog("p-0", Rules(off=(PRODUCE_EPOCH.name,)))
    log.append(data(1, 0), 0)
    assert isinstance(log.producers.start_verification(PID, 0, 0, 0), int)


def test_the_marker_of_a_retry_rule_without_the_rule_of_newer_epochs_is_any_marker() -> None:
    log = PartitionLog("p-0", Rules(off=(NEWER_MARKER_EPOCH.name, MARKER_RETRY.name)))
    log.append(OPEN, 0)
    assert [write(log, end(ABORT, 5), 2) for _ in range(2)] == [OK, OK]


@pytest.mark.parametrize(
    ("off", "committed", "uncommitted"),
    [((), 1, 2), ((HIGH_WATERMARK,), 1, 4), ((LSO_BOUND,), 2, 2), ((HIGH_WATERMARK, LSO_BOUND), 4, 4)],
)
def test_how_far_readers_may_read(off: tuple[Rule, ...], committed: int, uncommitted: int) -> None:
    """Offset 0 is stable, 1 is replicated and belongs to an open transaction, 2 and 3 are on the leader alone."""
    world = OneBroker(off=tuple(r.name for r in (VERIFICATION, *off)))
    log = world.state.log("t-0")
    for batch in (plain(1), data(0, 0, txn=True)):
        log.append(batch, 0)
    log.advance(2)
    in_sync(world, ("b1", "b2"))
    produce(world, t_0=plain(2))
    ends = []
    for isolation_level in (READ_COMMITTED, READ_UNCOMMITTED):
        answer = world.ask(Fetch(isolation_level=isolation_level, positions={"t-0": 0})).response.partitions["t-0"]
        ends.append(answer.batches[-1].last_offset + 1)
        assert (answer.high_watermark, answer.last_stable_offset) == (2, 1)
    assert ends == [committed, uncommitted]


def test_without_the_high_watermark_a_waiting_reader_gets_what_the_leader_alone_has() -> None:
    world = OneBroker(off=(VERIFICATION.name, HIGH_WATERMARK.name))
    in_sync(world, ("b1", "b2"))
    waiting = world.ask(Fetch(isolation_level=READ_UNCOMMITTED, positions={"t-0": 0}))
    assert not waiting.answered
    produce(world, t_0=plain(1))
    assert len(waiting.response.partitions["t-0"].batches) == 1
