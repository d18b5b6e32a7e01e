"""What becomes of batches: retries, splits, expiry, sequences given back or left open, epochs raised locally."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import (
    ClusterAuthorizationError,
    KafkaError,
    KafkaTimeoutError,
    RecordTooLargeError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, ProduceResponse
from kafkalab.protocol.transition_tables.producer import ProducerState
from tests.conformance.scripted_port import EPOCH, HOLD, LOST, PID, ScriptedPort, begin, error_of


def shapes(port: ScriptedPort) -> list[tuple[int, int, int]]:
    """Epoch, first sequence and number of records of every batch, in the order of sending."""
    batches = [b for request in port.list_sent("Produce") for b in request.batches.values()]
    return [(b.producer_epoch, b.base_sequence, len(b.records)) for b in batches]


def without_state(log_start_offset: int) -> Any:
    def respond(body: Any) -> ProduceResponse:
        produced = PartitionProduced(error=Error.UNKNOWN_PRODUCER_ID, log_start_offset=log_start_offset)
        return ProduceResponse(partitions=dict.fromkeys(body.batches, produced))

    return respond


async def four_in_one_batch(port: ScriptedPort, **config: Any) -> list[Any]:
    producer = port.producer(transactional_id=None, linger_ms=10, **config)
    futures = [await producer.send("t", v, partition=0) for v in "abcd"]
    await producer.flush()
    return [await error_of(f) or f.result().offset for f in futures]


def test_a_batch_that_is_too_large_is_halved_and_keeps_its_sequences() -> None:
    port = ScriptedPort(Produce=[Error.MESSAGE_TOO_LARGE, Error.MESSAGE_TOO_LARGE])
    assert port.run(four_in_one_batch(port)) == [0, 1, 2, 3]
    assert shapes(port) == [(EPOCH, 0, 4), (EPOCH, 0, 4), (EPOCH, 0, 2), (EPOCH, 2, 2)]


def test_a_record_that_is_too_large_by_itself_fails() -> None:
    port = ScriptedPort(Produce=[Error.MESSAGE_TOO_LARGE])

    async def program() -> Any:
        producer = port.producer(transactional_id=None)
        error = await error_of(await producer.send("t", "a", partition=0))
        await (await producer.send("t", "b", partition=0))
        return error

    assert isinstance(port.run(program()), RecordTooLargeError)
    assert shapes(port) == [(EPOCH, 0, 1), (EPOCH + 1, 0, 1)]


def test_a_producer_without_idempotence_retries_as_often_as_it_is_told() -> None:
    port = ScriptedPort(Produce=[Error.NOT_ENOUGH_REPLICAS] * 3)
    found = port.run(four_in_one_batch(port, enable_idempotence=False, retries=2))
    assert [e.error for e in found] == [Error.NOT_ENOUGH_REPLICAS] * 4
    assert shapes(port) == [(-1, -1, 4)] * 3
    assert "InitProducerId" not in port.names()


async def expiring(port: ScriptedPort) -> tuple[Any, Any, Any]:
    producer = await begin(port, delivery_timeout_ms=40_000)
    await (await producer.send("t", "a", partition=0))
    since = port.now
    error = await error_of(await producer.send("t", "b", partition=0))
    assert port.now == since + 40_000
    stored, state = producer.transaction_manager.error, producer.state
    return error, stored, state


def test_a_batch_that_was_sent_once_and_expires_is_abortable_only() -> None:
    port = ScriptedPort(1, bumps=False, Produce=[Error.NONE, HOLD])
    error, stored, state = port.run(expiring(port))
    assert isinstance(error, KafkaTimeoutError)
    assert (type(stored), stored.__cause__) == (TransactionAbortableError, error)
    assert state is ProducerState.ABORTABLE_ERROR


@pytest.mark.parametrize(
    ("bumps", "state"), [(True, ProducerState.ABORTABLE_ERROR), (False, ProducerState.FATAL_ERROR)]
)
def test_a_batch_that_was_retried_and_expires_leaves_a_gap(bumps: bool, state: ProducerState) -> None:
    port = ScriptedPort(1, bumps, Produce=[Error.NONE, *[LOST] * 100])
    error, stored, found = port.run(expiring(port))
    assert isinstance(error, KafkaTimeoutError)
    assert str(stored).startswith("The client hasn't received acknowledgment")
    assert found is state


def test_an_answer_after_the_expiry_changes_nothing() -> None:
    port = ScriptedPort(Produce=[HOLD])

    async def program() -> Any:
        producer = port.producer(transactional_id=None, delivery_timeout_ms=40_000)
        error = await error_of(await producer.send("t", "a", partition=0))
        port.release()
        await port.sleep(10)
        return error, producer.accumulator.incomplete()

    error, incomplete = port.run(program())
    assert isinstance(error, KafkaTimeoutError)
    assert not incomplete


def test_a_leader_that_lost_its_state_is_asked_again_and_then_begun_anew() -> None:
    port = ScriptedPort(1, Produce=[Error.NONE, without_state(-1), without_state(5)])

    async def program() -> None:
        producer = await begin(port)
        for value in ("a", "b"):
            await (await producer.send("t", value, partition=0))

    port.run(program())
    assert shapes(port) == [(EPOCH, 0, 1), (EPOCH, 1, 1), (EPOCH, 1, 1), (EPOCH, 0, 1)]


def test_unknown_producer_id_is_abortable_where_the_records_are_still_there() -> None:
    port = ScriptedPort(1, Produce=[Error.NONE, without_state(0)])

    async def program() -> Any:
        producer = await begin(port)
        await (await producer.send("t", "a", partition=0))
        error = await error_of(await producer.send("t", "b", partition=0))
        return error.error, producer.state

    assert port.run(program()) == (Error.UNKNOWN_PRODUCER_ID, ProducerState.ABORTABLE_ERROR)


def test_the_last_epoch_of_an_idempotent_producer_is_32767_and_then_it_gets_a_new_id() -> None:
    from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse

    old, new = (InitProducerIdResponse(producer_id=p, producer_epoch=e) for p, e in ((PID, 32766), (PID + 1, 0)))
    out_of_order = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    port = ScriptedPort(InitProducerId=[old, new], Produce=[out_of_order, Error.NONE, without_state(9)])

    async def program() -> None:
        producer = port.producer(transactional_id=None)
        for value in ("a", "b"):
            await (await producer.send("t", value, partition=0))

    port.run(program())
    sent = [(b.producer_id, *shape) for b, shape in zip(
        [r.batches["t-0"] for r in port.list_sent("Produce")], shapes(port), strict=True)]  # fmt: skip
    assert sent == [(PID, 32766, 0, 1), (PID, 32767, 0, 1), (PID, 32767, 1, 1), (PID + 1, 0, 0, 1)]
    assert port.names().count("InitProducerId") == 2


def test_while_aborting_what_was_sent_is_sent_again_and_the_rest_dropped() -> None:
    port = ScriptedPort(Produce=[HOLD])

    async def program() -> list[Any]:
        producer = await begin(port, linger_ms=10)
        first = await producer.send("t", "a", partition=0)
        await port.sleep(20)
        second = await producer.send("t", "b", partition=0)
        aborting = port.spawn(producer.abort_transaction())
        await port.sleep(5)
        port.release(LOST)
        await aborting
        return [await error_of(first), await error_of(second)]

    first, second = port.run(program())
    assert first is None
    assert isinstance(second, TransactionAbortedError)
    assert port.names() == ["InitProducerId", "Produce", "Produce", "EndTxn"]


def test_a_topic_that_is_not_there_fails_the_future_and_the_transaction() -> None:
    port = ScriptedPort()

    async def program() -> list[Any]:
        producer = await begin(port, max_block_ms=2_000)
        began = port.now
        future = await producer.send("nowhere", "a")
        found: list[Any] = [port.now - began, await error_of(future), producer.state]
        found.append(await error_of(producer.commit_transaction()))
        return [*found, await error_of(producer.abort_transaction()), producer.state]

    took, error, state, commit, abort, then = port.run(program())
    assert 2_000 <= took < 3_000
    assert str(error) == "Topic nowhere not present in metadata after 2000 ms."
    assert (state, abort, then) == (ProducerState.ABORTABLE_ERROR, None, ProducerState.READY)
    assert isinstance(commit.__cause__, TransactionAbortableError)


def test_an_unauthorized_idempotent_producer_fails_its_batches_and_asks_again() -> None:
    port = ScriptedPort(InitProducerId=Error.CLUSTER_AUTHORIZATION_FAILED)

    async def program() -> list[Any]:
        producer = port.producer(transactional_id=None)
        return [await error_of(await producer.send("t", v, partition=0)) for v in ("a", "b")]

    first, second = port.run(program())
    assert (type(first), second) == (ClusterAuthorizationError, None)


def test_an_unauthorized_batch_is_fatal_even_without_transactions() -> None:
    port = ScriptedPort(Produce=Error.CLUSTER_AUTHORIZATION_FAILED)

    async def program() -> list[Any]:
        producer = port.producer(transactional_id=None)
        first = await error_of(await producer.send("t", "a", partition=0))
        return [first, await error_of(producer.send("t", "b", partition=0)), producer.state]

    first, second, state = port.run(program())
    assert isinstance(first, ClusterAuthorizationError)
    assert (type(second), second.__cause__, state) == (KafkaError, first, ProducerState.FATAL_ERROR)


def test_each_batch_expires_by_its_own_age() -> None:
    port = ScriptedPort(Produce=[HOLD] * 3)

    async def program() -> list[int]:
        producer = port.producer(transactional_id=None, enable_idempotence=False, delivery_timeout_ms=40_000)
        expired: list[int] = []
        for topic, partition in (("t", 0), ("t", 1), ("u", 0)):
            promise = await producer.send(topic, "v", partition=partition)
            promise.when_done(lambda: expired.append(port.now // 1_000))
            await port.sleep(10_000)
        await port.sleep(60_000)
        return expired

    assert port.run(program()) == [40, 50, 60]
