"""MD: the metadata of a transactional id: which record may follow which, and what epochs do (docs/cases.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.protocol.errors import Error, IllegalArgumentError, InvariantError
from kafkalab.protocol.transaction_metadata import Txn, TxnState, check_transition
from tests.conformance.coordinator_world import PID, make_txn

EMPTY, ONGOING, P_COMMIT, P_ABORT, C_COMMIT, C_ABORT, DEAD, FENCE = TxnState
NOW, TIMEOUT_MS = 5_000, 30_000
FROM = {
    "Empty": "Empty CompleteCommit CompleteAbort",
    "Ongoing": "Ongoing Empty CompleteCommit CompleteAbort",
    "PrepareCommit": "Ongoing",
    "PrepareAbort": "Ongoing PrepareEpochFence Empty CompleteCommit CompleteAbort",
    "CompleteCommit": "PrepareCommit",
    "CompleteAbort": "PrepareAbort",
    "Dead": "Empty CompleteAbort CompleteCommit",
    "PrepareEpochFence": "Ongoing",
}  # docs/protocol.md#transaction-states


def check_and_return(current: Txn, new: Txn) -> Txn:
    """`new`, once it was found to be able to follow."""
    check_transition(current, new.state, new)
    return new


def epochs(txn: Txn | Error) -> tuple[int, int]:
    assert isinstance(txn, Txn)
    return txn.producer_epoch, txn.last_producer_epoch


@pytest.mark.parametrize(
    ("epoch", "last", "expected", "then"),
    [
        pytest.param(-1, -1, None, (0, -1), id="MD-01"),
        pytest.param(-1, -1, 3, (0, -1), id="a-new-id-takes-any-expectation"),
        pytest.param(735, -1, None, (736, -1), id="MD-02"),
        pytest.param(735, 734, None, (736, -1), id="no-expectation-forgets-the-last-epoch"),
        pytest.param(735, -1, 735, (736, 735), id="MD-05"),
        pytest.param(735, 734, 735, (736, 735), id="the-current-epoch-wins"),
        pytest.param(735, 734, 734, (735, 734), id="MD-06"),
        pytest.param(32765, -1, None, (32766, -1), id="the-last-epoch-of-a-client"),
        pytest.param(0, 32766, 32766, (0, 32766), id="a-retry-after-a-rotation"),
    ],
)
@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort"])
def test_an_epoch_is_handed_out(state: str, epoch: int, last: int, expected: int | None, then: tuple[int, int]) -> None:
    txn = make_txn(state, producer_epoch=epoch, last_producer_epoch=last)
    new = txn.increment_epoch(TIMEOUT_MS, expected, NOW)
    assert epochs(new) == then
    assert isinstance(new, Txn)
    assert check_and_return(txn, new) == replace(
        txn,
        state=EMPTY,
        producer_epoch=then[0],
        last_producer_epoch=then[1],
        timeout_ms=TIMEOUT_MS,
        start_ms=-1,
        update_ms=NOW,
    )


@pytest.mark.parametrize(("last", "expected"), [(-1, 734), (733, 734), (734, 733), (734, 736), (-1, 736)])
def test_an_epoch_that_is_neither_the_current_nor_the_last_one_is_fenced(last: int, expected: int) -> None:
    txn = make_txn("Empty", producer_epoch=735, last_producer_epoch=last)
    assert txn.increment_epoch(TIMEOUT_MS, expected, NOW) is Error.PRODUCER_FENCED


@pytest.mark.parametrize("epoch", [32766, 32767])
@pytest.mark.parametrize("expected", [None, 5, 32765, 32766])
def test_md_03_no_epoch_is_handed_out_beyond_the_last_one(epoch: int, expected: int | None) -> None:
    with pytest.raises(InvariantError):
        make_txn("Empty", producer_epoch=epoch, last_producer_epoch=5).increment_epoch(TIMEOUT_MS, expected, NOW)


@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort"])
def test_md_08_under_version_2_an_abort_of_nothing_begins_when_it_is_asked_for(state: str) -> None:
    txn = make_txn(state, producer_epoch=735)
    prepared = check_and_return(txn, txn.prepare(P_ABORT, 2, NOW))
    assert (prepared.state, epochs(prepared), prepared.partitions) == (P_ABORT, (736, 735), ())
    assert prepared.start_ms == prepared.update_ms == NOW
    done = check_and_return(prepared, prepared.complete(NOW + 1, C_ABORT))
    assert (done.state, epochs(done), done.start_ms, done.update_ms) == (C_ABORT, (736, 735), NOW, NOW + 1)


@pytest.mark.parametrize(
    ("epoch", "failed_before", "then"),
    [
        pytest.param(10, False, 11, id="a-fence-raises-the-epoch"),
        pytest.param(10, True, 10, id="not-again-after-a-fence-that-failed"),
        pytest.param(32766, False, 32767, id="MD-10"),
        pytest.param(32767, False, 32767, id="MD-11"),
    ],
)
def test_a_fence_takes_the_next_epoch(epoch: int, failed_before: bool, then: int) -> None:
    txn = make_txn("Ongoing", producer_epoch=epoch)
    fenced = txn.fence(failed_before)
    assert (fenced.state, fenced.producer_epoch, fenced.producer_id) == (FENCE, then, PID)
    assert txn.producer_epoch == epoch


@pytest.mark.parametrize(("record_last", "last"), [pytest.param(True, 32766, id="MD-13"), (False, -1)])
@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort"])
def test_a_rotation_begins_with_a_new_producer_id_at_epoch_0(state: str, record_last: bool, last: int) -> None:
    txn = make_txn(state, producer_epoch=32766, last_producer_epoch=3)
    new = check_and_return(txn, txn.rotate_producer_id(9893, TIMEOUT_MS, NOW, record_last))
    assert (new.producer_id, new.prev_producer_id, epochs(new)) == (9893, PID, (0, last))
    assert (new.state, new.timeout_ms, new.start_ms, new.update_ms) == (EMPTY, TIMEOUT_MS, -1, NOW)


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort"])
def test_no_epoch_and_no_producer_id_is_handed_out_within_a_transaction(state: str) -> None:
    with pytest.raises(InvariantError):
        make_txn(state).increment_epoch(TIMEOUT_MS, None, NOW)
    with pytest.raises(InvariantError):
        make_txn(state).rotate_producer_id(9893, TIMEOUT_MS, NOW, True)


@pytest.mark.parametrize("decision", [(P_COMMIT, C_COMMIT), (P_ABORT, C_ABORT)], ids=["commit", "abort"])
@pytest.mark.parametrize(
    ("version", "epoch", "next_id", "prepared", "done"),
    [
        pytest.param(2, 10, -1, (PID, 11, 10), (PID, 11, 10), id="MD-15"),
        pytest.param(2, 32766, 9893, (PID, 32767, 32766), (9893, 0, 32766), id="MD-16"),
        pytest.param(0, 10, -1, (PID, 10, -1), (PID, 10, -1), id="version-0-keeps-the-epoch"),
        pytest.param(0, 32766, -1, (PID, 32766, -1), (PID, 32766, -1), id="version-0-keeps-the-last-epoch-too"),
    ],
)
def test_the_epoch_at_the_end_of_a_transaction(
    decision: tuple[TxnState, TxnState],
    version: int,
    epoch: int,
    next_id: int,
    prepared: tuple[int, ...],
    done: tuple[int, ...],
) -> None:
    txn = make_txn("Ongoing", producer_epoch=epoch, start_ms=3)
    first = check_and_return(txn, txn.prepare(decision[0], version, NOW, next_id))
    assert (first.producer_id, *epochs(first)) == prepared
    assert (first.partitions, first.start_ms, first.update_ms, first.next_producer_id) == (("u-0",), 3, NOW, next_id)
    then = check_and_return(first, first.complete(NOW + 1, decision[1]))
    assert (then.producer_id, *epochs(then)) == done
    assert (then.partitions, then.start_ms, then.update_ms, then.next_producer_id) == ((), 3, NOW + 1, -1)
    assert then.prev_producer_id == PID


def test_at_epoch_32767_only_an_abort_recovers() -> None:
    txn = make_txn("Ongoing", producer_epoch=32767)
    first = check_and_return(txn, txn.prepare(P_ABORT, 2, NOW, 9893))
    assert (first.producer_id, *epochs(first)) == (PID, 32767, 32767)
    then = check_and_return(first, first.complete(NOW + 1, C_ABORT))
    assert (then.producer_id, *epochs(then)) == (9893, 0, 32767)
    with pytest.raises(IllegalArgumentError):
        txn.prepare(P_COMMIT, 2, NOW, 9893)


def test_md_18_states_have_kafkas_numbers_and_names() -> None:
    names = list(FROM)
    assert [TxnState.from_id(n).label for n in range(8)] == names
    assert [TxnState.of(name).id for name in names] == list(range(8))
    for unknown in (-1, 8, 127):
        with pytest.raises(InvariantError):
            TxnState.from_id(unknown)


@pytest.mark.parametrize("state", TxnState, ids=lambda s: s.label)
@pytest.mark.parametrize("before", TxnState, ids=lambda s: s.label)
def test_a_state_follows_only_the_states_that_kafka_lets_it_follow(before: TxnState, state: TxnState) -> None:
    txn = replace(make_txn("Ongoing"), state=before)
    if before.label in FROM[state.label].split():
        assert txn.transit(state).state is state
    else:
        with pytest.raises(InvariantError):
            txn.transit(state)


def test_no_record_has_a_negative_producer_id_or_epoch_unless_the_id_is_removed() -> None:
    for fields in ({"producer_id": -1}, {"producer_epoch": -1}):
        with pytest.raises(IllegalArgumentError):
            make_txn("Empty", **fields).transit(ONGOING)
    assert make_txn("Empty", producer_epoch=-1).transit(DEAD).producer_epoch == -1


def test_the_producer_id_before_the_transition_is_stored_by_every_transition() -> None:
    rotated = make_txn("Empty", producer_epoch=32766).rotate_producer_id(9, TIMEOUT_MS, NOW, True)
    assert (rotated.prev_producer_id, rotated.with_partitions(("u-0",), 0, NOW).prev_producer_id) == (PID, 9)


@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort", "Ongoing"])
def test_the_clock_of_a_transaction_starts_with_its_first_partition(state: str) -> None:
    txn = make_txn(state, start_ms=3, last_producer_epoch=9)
    new = check_and_return(txn, txn.with_partitions(("v-0", "u-0"), 2, NOW))
    assert (new.state, new.partitions, new.update_ms) == (ONGOING, ("u-0", "v-0"), NOW)
    assert new.start_ms == (3 if state == "Ongoing" else NOW)
    assert (epochs(new), new.client_transaction_version) == ((10, 9), 2)


def test_the_log_has_null_for_the_partitions_of_empty_and_an_empty_array_for_complete() -> None:
    logged = [make_txn(s).logged_partitions for s in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")]
    assert logged == [None, ("u-0",), (), ()]


GOOD: list[tuple[Txn, Txn]] = [
    (make_txn("CompleteCommit"), make_txn("CompleteCommit").with_partitions(("u-0",), 0, NOW)),
    (make_txn("Ongoing"), make_txn("Ongoing").prepare(P_COMMIT, 0, NOW)),
    (make_txn("Ongoing"), make_txn("Ongoing").prepare(P_ABORT, 2, NOW)),
    (make_txn("PrepareCommit"), make_txn("PrepareCommit").complete(NOW, C_COMMIT)),
]


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        (0, {"producer_id": 8}),
        (0, {"producer_epoch": 11}),
        (0, {"timeout_ms": 1}),
        (1, {"producer_epoch": 11}),
        (1, {"producer_id": 8}),
        (1, {"partitions": ()}),
        (1, {"timeout_ms": 1}),
        (1, {"start_ms": 1}),
        (2, {"producer_epoch": 10, "last_producer_epoch": 9}),
        (2, {"producer_id": 8}),
        (3, {"producer_epoch": 11}),
        (3, {"producer_id": 8, "producer_epoch": 0}),
        (3, {"timeout_ms": 1}),
        (3, {"start_ms": -1}),
    ],
)
def test_a_record_that_does_not_fit_the_state_is_a_mistake_of_the_program(case: int, wrong: dict[str, Any]) -> None:
    current, new = GOOD[case]
    assert check_and_return(current, new) is new
    with pytest.raises(InvariantError):
        check_transition(current, new.state, replace(new, **wrong))
    with pytest.raises(InvariantError):
        check_transition(current, None, new)


def test_an_open_transaction_only_grows() -> None:
    txn = make_txn("Ongoing", partitions=("u-0", "v-0"))
    with pytest.raises(InvariantError):
        check_transition(txn, ONGOING, replace(txn, partitions=("u-0",)))


@pytest.mark.parametrize("wrong", [{"producer_epoch": 12}, {"partitions": ("u-0",)}, {"start_ms": 5}])
def test_empty_has_no_partitions_no_start_and_at_most_the_next_epoch(wrong: dict[str, Any]) -> None:
    txn = make_txn("CompleteCommit")
    new = txn.increment_epoch(TIMEOUT_MS, None, NOW)
    assert isinstance(new, Txn)
    with pytest.raises(InvariantError):
        check_transition(txn, EMPTY, replace(new, **wrong))


@pytest.mark.parametrize("state", [DEAD, FENCE])
def test_dead_and_the_fence_are_never_the_state(state: TxnState) -> None:
    txn = make_txn("Ongoing" if state is FENCE else "Empty")
    with pytest.raises(InvariantError):
        check_transition(txn, state, txn.transit(state))
