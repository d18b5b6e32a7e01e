"""TSM: the coordinator's log and its cache, appends that fail, loading, time-outs, expiry (conformance-cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.api.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.api.init_producer_id import InitProducerId
from kafkalab.core.errors import Error
from kafkalab.core.partitions import transaction_partition
from kafkalab.core.transaction import Txn, TxnState
from tests.conformance.one_broker import HOLD, OneBroker

PID, EPOCH = 7, 3
PARTITION = transaction_partition("a")


def txn(state: str = "Empty", transactional_id: str = "a", **fields: Any) -> Txn:
    known = TxnState.of(state)
    partitions = ("t-0",) if known in (TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT) else ()
    start = 0 if partitions else -1
    defaults = {"producer_id": PID, "producer_epoch": EPOCH, "partitions": partitions, "start_ms": start}
    return Txn(transactional_id=transactional_id, state=known, **{**defaults, "update_ms": 0, **fields})


def loaded(*entries: Txn, **settings: Any) -> OneBroker:
    world = OneBroker(**settings)
    world.load(*entries)
    return world


def add(world: OneBroker, *append: Any) -> Any:
    """AddPartitionsToTxn(t-0) of a producer, whose append ends so."""
    world.appends[PARTITION] = list(append)
    request = AddPartitionsToTxn(transactional_id="a", producer_id=PID, producer_epoch=EPOCH, partitions=("t-0",))
    return world.ask(request, 3)


def error_of(asked: Any) -> Error | None:
    return asked.reply.errors["t-0"] if asked.reply else None


def test_tsm_02_a_durable_append_is_the_state_and_clears_what_was_pending() -> None:
    world = loaded(txn())
    asked = add(world, HOLD)
    assert (world.txn("a"), world.pending("a")) == (txn(), TxnState.ONGOING)
    world.held.pop()(Error.NONE)
    ongoing = txn("Ongoing", start_ms=world.now, update_ms=world.now, prev_producer_id=PID)
    assert (error_of(asked), world.txn("a"), world.pending("a")) == (Error.NONE, ongoing, None)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        pytest.param("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-unknown-topic"),
        pytest.param("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-replicas"),
        pytest.param("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-replicas-after"),
        pytest.param("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-timed-out"),
        pytest.param("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", id="TSM-04-not-leader"),
        pytest.param("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR", id="TSM-04-storage"),
        pytest.param("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR", id="message-too-large"),
        pytest.param("RECORD_LIST_TOO_LARGE", "UNKNOWN_SERVER_ERROR", id="record-list-too-large"),
        pytest.param("INVALID_RECORD", "INVALID_RECORD", id="any-other"),
    ],
)
def test_a_failed_append_is_told_in_the_coordinators_words_and_changes_nothing(failure: str, told: str) -> None:
    world = loaded(txn())
    asked = add(world, Error[failure])
    assert error_of(asked) is Error[told]
    assert (world.txn("a"), world.pending("a")) == (txn(), None)
    assert error_of(add(world)) is Error.NONE


def resigned(world: OneBroker) -> None:
    world.image({PARTITION: "b2"}, 2)


def moved_and_back(world: OneBroker) -> None:
    resigned(world)
    world.image({PARTITION: "b1"}, 3)
    world.run_for(5)


def loading_again(world: OneBroker) -> None:
    world.image({PARTITION: "b1"}, 2)


def reloaded(world: OneBroker) -> None:
    loading_again(world)
    world.run_for(5)


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        pytest.param(resigned, Error.NOT_COORDINATOR, id="TSM-04-cache-dropped"),
        pytest.param(moved_and_back, Error.NOT_COORDINATOR, id="TSM-04-left-and-back"),
        pytest.param(reloaded, Error.NOT_COORDINATOR, id="TSM-04-reloaded-at-the-next-epoch"),
        pytest.param(loading_again, Error.COORDINATOR_LOAD_IN_PROGRESS, id="loading-at-the-next-epoch"),
    ],
)
@pytest.mark.parametrize("failure", [Error.NONE, Error.REQUEST_TIMED_OUT])
def test_an_append_that_ends_after_the_partition_moved_applies_nothing(
    meanwhile: Any, told: Error, failure: Error
) -> None:
    world = loaded(txn())
    asked = add(world, HOLD)
    meanwhile(world)
    end = world.held.pop()
    end(failure)
    assert error_of(asked) is (told if failure is Error.NONE else Error.COORDINATOR_NOT_AVAILABLE)
    known = world.txn("a")
    assert known is None or known.state is TxnState.EMPTY
    assert world.pending("a") is None


def test_tsm_04_an_append_that_ends_after_the_id_has_gone_is_not_applied() -> None:
    world = loaded(txn())
    asked = add(world, HOLD)
    world.image({PARTITION: "b2"}, 2)
    log = world.state.log(PARTITION)
    log.truncate(0)
    world.image({PARTITION: "b1"}, 3)
    world.run_for(5)
    assert world.txn("a") is None
    world.held.pop()(Error.NONE)
    assert (error_of(asked), world.txn("a")) == (Error.NOT_COORDINATOR, None)


def test_an_append_of_an_epoch_that_is_over_leaves_the_pending_state_of_the_next_one_alone() -> None:
    world = loaded(txn())
    add(world, HOLD)
    reloaded(world)
    world.appends[PARTITION] = [HOLD]
    init = world.ask(InitProducerId(transactional_id="a"))
    assert world.pending("a") is TxnState.EMPTY
    world.held.pop(0)(Error.NOT_LEADER_OR_FOLLOWER)
    assert (world.pending("a"), init.reply) == (TxnState.EMPTY, None)
