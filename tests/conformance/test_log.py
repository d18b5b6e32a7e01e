"""LOG: appends, last stable offset, verification, restarts, through `PartitionLog` (docs/protocol.md#produce)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import VERSION_UNKNOWN, Origin
from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.protocol.errors import Error, IllegalArgumentError
from kafkalab.protocol.messages.fetch import Fetch
from kafkalab.protocol.records import Batch
from tests.conformance.one_broker import OneBroker
from tests.conformance.producer_log import ABORT, COMMIT, PID, data, end, plain, rules, write
from tests.log.lookups import duplicate_of

OK, SEQUENCE = Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER
EPOCH, TXN, FENCED = Error.INVALID_PRODUCER_EPOCH, Error.INVALID_TXN_STATE, Error.TRANSACTION_COORDINATOR_FENCED


def log_with(*batches: Batch, verification: bool = False) -> PartitionLog:
    log = PartitionLog("p-0", rules(verification=verification))
    for batch in batches:
        log.append(batch, 0)
    return log


def seven() -> PartitionLog:
    """Single records with sequences 0 to 5, then three records with 6 to 8."""
    return log_with(*(data(0, s, ms=100 + s) for s in range(6)), data(0, 6, 3, ms=106))


@pytest.mark.parametrize(
    ("batch", "answer"),
    [
        pytest.param(data(0, 6, 3), CachedBatch(8, 8, 2, 106), id="LOG-01"),
        pytest.param(data(0, 7, 2), SEQUENCE, id="LOG-02"),
        pytest.param(data(0, 6, 2), SEQUENCE, id="the beginning of the last batch"),
        pytest.param(data(0, 5, 4), SEQUENCE, id="two batches in one"),
        pytest.param(data(0, 2), CachedBatch(2, 2, 0, 102), id="the fifth from the end"),
        pytest.param(data(0, 1), SEQUENCE, id="the sixth from the end is too old"),
        pytest.param(data(1, 6, 3), SEQUENCE, id="of another epoch"),
        pytest.param(data(0, 9), OK, id="the next one"),
    ],
)
def test_a_duplicate_is_answered_with_its_first_offsets_and_changes_nothing(
    batch: Batch, answer: Error | CachedBatch
) -> None:
    log = seven()
    assert write(log, batch) == answer
    assert log.log_end_offset == (10 if answer is OK else 9)


def test_the_duplicate_of_log_01_has_its_first_and_last_offset_and_its_time() -> None:
    known = write(seven(), data(0, 6, 3))
    assert isinstance(known, CachedBatch)
    assert (known.first_offset, known.last_offset, known.timestamp_ms) == (6, 8, 106)


@pytest.mark.parametrize("origin", [Origin.COORDINATOR, Origin.REPLICATION])
def test_only_a_clients_batch_is_looked_up_among_the_duplicates(origin: Origin) -> None:
    assert seven().producers.analyze(data(0, 6, 3), origin) is OK


def test_log_05_a_follower_takes_what_its_leader_has() -> None:
    log = PartitionLog("p-0")
    for at in (0, 2):
        log.replicate(data(0, 0, 2, at=at))
    assert (log.log_end_offset, len(log.batches)) == (4, 2)


def test_a_follower_takes_a_batch_behind_a_hole_of_compaction() -> None:
    log = PartitionLog("p-0")
    log.replicate(data(0, 0, at=5))
    log.replicate(
        Batch(records=(), base_offset=9, last_offset_delta=3, producer_id=PID, producer_epoch=0, base_sequence=4)
    )
    assert (log.log_end_offset, log.producers.entries[PID].last_sequence) == (13, 7)


def test_log_07_an_older_epoch_is_refused() -> None:
    assert write(log_with(data(1, 0)), data(0, 0)) is EPOCH


def test_log_08_plain_records_are_stable() -> None:
    log = log_with(plain(3))
    log.advance(3)
    assert (log.first_unstable_offset, log.last_stable_offset) == (None, 3)


def test_log_09_a_transaction_is_unstable_until_its_marker_is_replicated() -> None:
    log = log_with(data(0, 0, 3, txn=True), data(0, 3, txn=True), end(COMMIT, 0))
    assert log.first_unstable_offset == 0
    log.advance(4)
    assert log.first_unstable_offset == 0
    log.advance(5)
    assert log.first_unstable_offset is None


def script(*steps: tuple[Any, ...]) -> PartitionLog:
    """Steps are (pid or None, count) or (pid, "COMMIT" | "ABORT"); sequences run on."""
    log, sequences = log_with(), dict[int, int]()
    for pid, what in steps:
        if isinstance(what, str):
            log.append(end(ABORT if what == "ABORT" else COMMIT, 0, pid=pid), 0)
        elif pid is None:
            log.append(plain(what), 0)
        else:
            first = sequences.get(pid, 0)
            sequences[pid] = first + what
            log.append(data(0, first, what, txn=True, pid=pid), 0)
    return log


LSO_CASE = ((1, 5), (None, 3), (2, 2), (1, 4), (None, 2), (1, 10))


def test_log_10_and_log_11_the_last_stable_offset_waits_for_the_marker_to_be_replicated() -> None:
    log = script(*LSO_CASE)
    stable = [log.last_stable_offset]
    log.advance(26)
    for pid, control, high_watermark in ((1, COMMIT, 27), (2, ABORT, 28)):
        log.append(end(control, 0, pid=pid), 0)
        stable.append(log.last_stable_offset)
        log.advance(high_watermark)
        stable.append(log.last_stable_offset)
    assert stable == [0, 0, 8, 8, 28]


def test_the_last_stable_offset_is_never_above_the_high_watermark() -> None:
    log = log_with(plain(3), data(0, 0, txn=True))
    seen = []
    for high_watermark in range(1, 5):
        log.advance(high_watermark)
        seen.append(log.last_stable_offset)
    assert seen == [1, 2, 3, 3]


INDEX_CASE: tuple[tuple[Any, ...], ...] = (
    *((1, 5), (None, 3), (2, 2), (1, 4), (3, 3), (None, 2), (1, 10), (1, "ABORT")),
    *((2, 6), (4, 3), (None, 10), (3, 9), (3, "COMMIT"), (4, 8), (2, 7), (2, "ABORT"), (None, 10), (4, 4)),
    (4, "COMMIT"),
)


def test_log_13_the_index_has_the_aborted_transactions_and_the_last_stable_offset_of_then() -> None:
    log = script(*INDEX_CASE)
    entries = [
        (e.producer_id, e.first_offset, e.last_offset, e.last_stable_offset) for e in log.transaction_index.entries
    ]
    assert entries == [(1, 0, 29, 8), (2, 8, 74, 36)]
    assert log.reload().transaction_index.entries == log.transaction_index.entries


@pytest.mark.parametrize(
    ("offset", "upper", "producers"), [(0, 90, [1, 2]), (0, 8, [1]), (0, 9, [1, 2]), (30, 90, [2]), (75, 90, [])]
)
def test_a_fetch_is_told_of_the_aborted_transactions_in_its_range(
    offset: int, upper: int, producers: list[int]
) -> None:
    assert [e.producer_id for e in script(*INDEX_CASE).aborted_between(offset, upper)] == producers


def test_an_empty_aborted_transaction_is_not_in_the_index() -> None:
    assert log_with(end(ABORT, 0)).transaction_index.entries == []


def test_log_15_a_zombie_coordinator_is_fenced_by_markers_of_empty_transactions_too() -> None:
    log = PartitionLog("p-0", rules())
    for batch in (data(0, 0, txn=True, at=0), end(COMMIT, 0, at=1, coordinator_epoch=1)):
        log.replicate(batch)
    assert [write(log, end(ABORT, 0, coordinator_epoch=e)) for e in (2, 2, 1)] == [OK, OK, FENCED]


@pytest.mark.parametrize(("epoch", "answers"), [(4, (EPOCH, EPOCH, EPOCH)), (5, (OK, OK, EPOCH)), (6, (OK, OK, OK))])
def test_log_16_a_marker_with_a_fenced_epoch_is_refused(epoch: int, answers: tuple[Error, ...]) -> None:
    found = tuple(write(log_with(data(5, 0, txn=True)), end(COMMIT, epoch), version) for version in (0, 1, 2))
    assert found == answers


@pytest.mark.parametrize("origin", [Origin.COORDINATOR, Origin.CLIENT])
@pytest.mark.parametrize("before", [(), (data(5, 0, txn=True),)])
def test_log_19_a_leader_must_know_the_version_of_a_marker(origin: Origin, before: tuple[Batch, ...]) -> None:
    log = log_with(*before)
    with pytest.raises(IllegalArgumentError):
        log.producers.analyze(end(COMMIT, 5), origin, version=VERSION_UNKNOWN)
    assert log.producers.analyze(end(COMMIT, 5), Origin.REPLICATION) is OK


def test_log_20_the_last_stable_offset_is_not_below_the_log_start() -> None:
    log = script((1, 5), (None, 3))
    assert log.roll(0)
    log.append(data(0, 5, 5, txn=True), 0)
    log.advance(13)
    assert log.raise_log_start(5)
    assert (log.first_unstable_offset, log.last_stable_offset) == (5, 5)
    assert not log.raise_log_start(5)


@pytest.mark.parametrize(
    ("offset", "batches", "told"), [(0, [0, 1], [1]), (1, [1], [1]), (2, [], []), (3, [], []), (5, [], [])]
)
def test_a_fetch_that_brings_nothing_tells_of_no_aborted_transaction(
    offset: int, batches: list[int], told: list[int]
) -> None:
    """Transaction 1 began at 1 and its ABORT is at 3, replicated; transaction 2, open since 2, holds readers up."""
    world = OneBroker()
    log = world.state.log("t-0")
    for batch in (plain(1), data(0, 0, txn=True), data(0, 0, txn=True, pid=2), end(ABORT, 0), plain(1)):
        log.append(batch, 0)
    log.advance(5)
    for isolation_level, expected in (("read_committed", told), ("read_uncommitted", None)):
        fetch = Fetch(isolation_level=isolation_level, positions={"t-0": offset}, max_wait_ms=0)
        asked = world.ask(fetch)
        world.run_for(1)
        answer = asked.response.partitions["t-0"]
        aborted = answer.aborted_transactions
        assert (aborted if aborted is None else [a.producer_id for a in aborted]) == expected
        assert (answer.high_watermark, answer.last_stable_offset) == (5, 2)
        if expected is not None:
            assert [b.base_offset for b in answer.batches] == batches


# verification


def verifying(*batches: Batch) -> PartitionLog:
    return log_with(*batches, verification=True)


def start(log: PartitionLog, epoch: int, sequence: int, version: int, pid: int = 23) -> int:
    guard = log.producers.start_verification(pid, sequence, epoch, version)
    assert isinstance(guard, int)
    return guard


def guard_of(log: PartitionLog, pid: int = 23) -> int:
    known = log.producers.verifications.get(pid)
    return known.guard if known else 0


def test_log_22_the_first_transactional_append_uses_the_guard_up() -> None:
    log = verifying()
    guard = start(log, 1, 2, 2)
    assert write(log, data(1, 0, 2, pid=23), guard=0) is OK
    assert guard_of(log) == guard
    assert write(log, data(1, 2, 2, txn=True, pid=23), guard=guard) is OK
    assert (guard_of(log), log.producers.has_ongoing(23, 1)) == (0, True)
    assert start(log, 1, 4, 2) == 0
    assert write(log, data(1, 4, txn=True, pid=23)) is OK


@pytest.mark.parametrize("control", [COMMIT, ABORT])
def test_log_23_after_a_marker_there_is_a_new_guard(control: Any) -> None:
    log = verifying()
    guard = start(log, 1, 2, 2)
    assert write(log, end(control, 2, pid=23), version=2) is OK
    again = start(log, 2, 0, 2)
    assert again not in (0, guard)
    assert write(log, data(2, 0, txn=True, pid=23), guard=guard) is TXN
    assert write(log, data(2, 0, txn=True, pid=23), guard=again) is OK


@pytest.mark.parametrize(("version", "epoch"), [(1, 1), (2, 2)])
def test_log_24_the_marker_of_an_empty_transaction_takes_the_guard(version: int, epoch: int) -> None:
    log = verifying()
    guard = start(log, 1, 0, version)
    assert write(log, end(COMMIT, epoch, pid=23), version=version) is OK
    assert (guard_of(log), log.producers.has_ongoing(23, epoch)) == (0, False)
    late = write(log, data(1, 0, txn=True, pid=23), guard=guard)
    assert late is (TXN if version < 2 else EPOCH)


def test_log_25_the_guard_of_the_next_transaction_stays() -> None:
    log = verifying()
    guard = start(log, 1, 0, 2)
    assert write(log, end(COMMIT, 1, pid=23), version=0) is OK
    assert guard_of(log) == guard
    assert write(log, data(1, 0, txn=True, pid=23), guard=guard) is OK


def test_the_guard_of_another_producer_stays() -> None:
    log = verifying()
    guard = start(log, 1, 0, 2)
    write(log, end(COMMIT, 2, pid=24), version=2)
    assert guard_of(log) == guard


def test_log_27_an_append_that_passed_without_verification_is_refused_and_comes_back() -> None:
    log = verifying()
    assert write(log, data(0, 0, txn=True, pid=23)) is TXN
    guard = start(log, 0, 0, 0)
    assert write(log, data(0, 0, txn=True, pid=23), guard=guard + 1) is TXN
    assert write(log, data(0, 0, txn=True, pid=23), guard=guard) is OK


def test_plain_idempotent_batches_need_no_guard() -> None:
    assert write(verifying(), data(0, 0)) is OK


def test_log_28_without_state_a_version_2_producer_begins_at_zero() -> None:
    log = verifying()
    assert write(log, data(1, 3, txn=True, pid=23), guard=start(log, 1, 3, 2)) is SEQUENCE
    assert write(log_with(), data(1, 3, txn=True, pid=23)) is OK


def test_log_29_a_stale_epoch_is_named_before_the_missing_guard() -> None:
    log = verifying(data(6, 0, txn=True, pid=23), end(COMMIT, 6, pid=23))
    assert log.producers.start_verification(23, 1, 5, 0) is EPOCH
    assert write(log, data(5, 1, txn=True, pid=23)) is EPOCH


# truncation and restarts


def test_truncation_goes_back_to_what_the_rest_of_the_log_says() -> None:
    log = script(*INDEX_CASE)
    log.advance(90)
    log.truncate(30)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (30, 30, 8)
    assert log.producers.ongoing == {2: 8, 3: 14}
    assert [e.last_offset for e in log.transaction_index.entries] == [29]
    log.truncate(29)
    assert (log.producers.ongoing, list(log.transaction_index.entries)) == ({1: 0, 2: 8, 3: 14}, [])
    assert log.last_stable_offset == 0


def test_truncation_inside_a_batch_drops_the_whole_batch() -> None:
    log = log_with(data(0, 0, 3), data(0, 3, 3))
    log.truncate(4)
    assert (len(log.batches), log.log_end_offset, log.producers.entries[PID].last_sequence) == (1, 4, 2)


def test_truncation_beyond_the_end_changes_nothing() -> None:
    log = log_with(data(0, 0, 3))
    log.truncate(3)
    assert (log.log_end_offset, log.producers.snapshots) == (3, {})


def test_a_rolled_segment_has_a_snapshot_and_truncation_drops_both() -> None:
    log = log_with(data(0, 0), data(0, 1))
    assert [log.roll(0), log.roll(0)] == [True, False]
    log.append(data(0, 2), 0)
    assert log.roll(0)
    assert (log.segments, list(log.producers.snapshots)) == ([0, 2, 3], [2, 3])
    log.truncate(2)
    assert (log.segments, list(log.producers.snapshots)) == ([0, 2], [2])
    log.truncate(1)
    assert (log.segments, list(log.producers.snapshots)) == ([0], [1])


def test_after_a_restart_only_the_last_batch_is_a_known_duplicate_and_truncation_replays_from_the_snapshot() -> None:
    log = log_with(data(0, 0), data(0, 1), data(0, 2))
    log.roll(0)
    log.append(data(0, 3), 0)
    again = log.reload()
    known = [duplicate_of(again.producers, data(0, s)) is not None for s in range(4)]
    assert known == [False, False, False, True]
    assert write(again, data(0, 1)) is SEQUENCE
    assert write(again, data(0, 2)) is SEQUENCE
    assert write(again, data(0, 4)) is OK
    log.append(data(0, 4), 0)
    log.append(data(0, 5), 0)
    log.truncate(5)
    assert [duplicate_of(log.producers, data(0, s)) is not None for s in range(6)] == [False] * 2 + [True] * 3 + [False]


def test_a_clean_shutdown_leaves_only_the_last_batch() -> None:
    log = log_with(*(data(0, s) for s in range(5)))
    log.close()
    again = log.reload()
    assert (len(again.producers.entries[PID].batches), again.producers.map_end_offset) == (1, 5)


def test_without_a_snapshot_the_log_is_replayed_unchecked() -> None:
    log = log_with(data(0, 0), data(0, 7), data(0, 3), end(COMMIT, 4, coordinator_epoch=9), data(2, 5, txn=True))
    log.advance(5)
    again = log.reload()
    last = replace(log.producers.entries[PID], batches=log.producers.entries[PID].batches[-1:])
    assert again.producers.entries == {PID: last}
    assert (again.producers.ongoing, again.high_watermark, again.last_stable_offset) == ({PID: 4}, 5, 4)


def test_a_restart_forgets_guards_and_truncation_does_not() -> None:
    log = verifying(data(0, 0, txn=True))
    guard = start(log, 0, 0, 2)
    log.truncate(0)
    assert guard_of(log) == guard
    assert guard_of(log.reload()) == 0


def test_after_a_restart_a_decided_transaction_is_stable_whether_or_not_its_marker_is_replicated() -> None:
    """A snapshot has open transactions only (`ProducerStateManager.loadFromSnapshot`)."""
    log = log_with(data(0, 0, txn=True), end(COMMIT, 0), data(0, 1, txn=True, pid=2))
    log.advance(1)
    assert log.first_unstable_offset == 0
    again = log.reload()
    assert (again.first_unstable_offset, again.last_stable_offset) == (2, 1)


# what deleting segments leaves


def test_deleted_segments_take_their_index_and_snapshot_along_and_leave_the_producers() -> None:
    log = log_with(data(0, 0, txn=True), end(ABORT, 0))
    log.roll(0)
    log.append(data(0, 1, txn=True), 0)
    log.append(end(ABORT, 0), 0)
    log.roll(0)
    log.append(plain(1), 0)
    log.advance(5)
    log.drop_segments(2)
    assert (log.segments, log.log_start_offset, [b.base_offset for b in log.batches]) == ([2, 4], 2, [2, 3, 4])
    assert [e.last_offset for e in log.transaction_index.entries] == [3]
    assert list(log.producers.snapshots) == [2, 4]
    log.drop_segments(4)
    assert (list(log.producers.snapshots), list(log.transaction_index.entries)) == ([4], [])
    assert log.producers.entries[PID].last_sequence == 1
    assert write(log, data(0, 2)) is OK


def test_cleaned_batches_take_the_place_of_the_old_ones() -> None:
    log = log_with(data(0, 0, 2), data(0, 2, 2), plain(2))
    log.replace_batches(0, 4, [data(0, 2, 2, at=2)])
    assert [b.base_offset for b in log.read(0, 6)] == [2, 4]
    assert [b.base_offset for b in log.read(3, 4)] == [2]
    assert log.producers.entries[PID].last_sequence == 3
