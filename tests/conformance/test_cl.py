"""CL: the producer's transaction manager, against brokers that answer as the case says (docs/cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    TopicAuthorizationError,
    TransactionAbortableError,
    TransactionalIdAuthorizationError,
)
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafkalab.protocol.messages.end_txn import EndTxnResponse
from kafkalab.protocol.records import sequence_after
from kafkalab.protocol.transition_tables.producer import ProducerState
from tests.conformance.scripted_port import EPOCH, HOLD, PID, ScriptedPort, begin, error_of

GROUP = GroupMetadata("g", 1, "m")
OFFSETS = {"in-0": 7}


def sequences(port: ScriptedPort, partition: str = "t-0") -> list[int]:
    return [b.batches[partition].base_sequence for b in port.list_sent("Produce") if partition in b.batches]


def test_CL_01_send_before_init_transactions_is_an_illegal_state() -> None:
    port = ScriptedPort()
    assert isinstance(port.run(error_of(port.producer().send("t", "v"))), IllegalStateError)


def test_CL_02_send_without_a_transaction_is_an_illegal_state() -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = port.producer()
        await producer.init_transactions()
        return await error_of(producer.send("t", "v")), producer.state

    error, state = port.run(program())
    assert isinstance(error, IllegalStateError)
    assert state is ProducerState.READY


def test_CL_04_a_batch_waits_until_its_partition_is_added_once() -> None:
    port = ScriptedPort(version=1, AddPartitionsToTxn=[HOLD])

    async def program() -> None:
        producer = await begin(port)
        first = await producer.send("t", "a", partition=0)
        await port.sleep(50)
        assert port.names() == ["InitProducerId", "AddPartitionsToTxn"]
        port.release()
        await first
        await (await producer.send("t", "b", partition=0))

    port.run(program())
    assert port.names() == ["InitProducerId", "AddPartitionsToTxn", "Produce", "Produce"]
    assert port.list_sent("AddPartitionsToTxn")[0].partitions == ("t-0",)


def test_CL_05_under_version_2_the_partition_is_in_the_transaction_at_once() -> None:
    port = ScriptedPort(version=2)

    async def program() -> None:
        producer = await begin(port)
        await (await producer.send("t", "a", partition=0))
        await producer.commit_transaction()

    port.run(program())
    assert port.names() == ["InitProducerId", "Produce", "EndTxn"]


@pytest.mark.parametrize(("earlier", "wait"), [(False, 20), (True, 100)], ids=["CL-06", "CL-06-not-the-first"])
def test_CL_06_the_first_partition_is_tried_again_after_20_ms(earlier: bool, wait: int) -> None:
    port = ScriptedPort(version=1)

    async def program() -> None:
        producer = await begin(port)
        if earlier:
            await (await producer.send("t", "a", partition=1))
        port.script["AddPartitionsToTxn"] = [Error.CONCURRENT_TRANSACTIONS]
        await (await producer.send("t", "b", partition=0))

    port.run(program())
    times = [at for at, body in port.requests if type(body).__name__ == "AddPartitionsToTxn"][-2:]
    assert times[1] - times[0] == 1 + wait


def test_CL_08_end_txn_waits_for_all_batches() -> None:
    port = ScriptedPort(Produce=[HOLD])

    async def program() -> None:
        producer = await begin(port, linger_ms=60_000, delivery_timeout_ms=120_000)
        await producer.send("t", "a", partition=0)
        committing = port.spawn(producer.commit_transaction())
        await port.sleep(1_000)
        assert port.names() == ["InitProducerId", "Produce"]
        port.release()
        await committing

    port.run(program())
    assert port.names() == ["InitProducerId", "Produce", "EndTxn"]


def test_CL_09_under_version_2_offsets_are_committed_without_add_offsets() -> None:
    port = ScriptedPort(version=2)

    async def program() -> None:
        await (await begin(port)).send_offsets_to_transaction(OFFSETS, GROUP)

    port.run(program())
    assert port.names() == ["InitProducerId", "TxnOffsetCommit"]
    commit = port.list_sent("TxnOffsetCommit")[0]
    assert (commit.offsets, commit.generation_id, commit.member_id) == (OFFSETS, 1, "m")


def test_CL_10_sequences_wrap_to_zero() -> None:
    assert sequence_after(0, 2147483647) == 2147483647
    assert sequence_after(2147483647, 100) == 99


async def offsets_refused(port: ScriptedPort) -> tuple[Any, Any, Any]:
    producer = await begin(port)
    error = await error_of(producer.send_offsets_to_transaction(OFFSETS, GROUP))
    state = producer.state
    ended = await error_of(producer.abort_transaction())
    return error, state, ended


@pytest.mark.parametrize("version", [1, 2])
def test_CL_12_a_fenced_instance_id_is_abortable(version: int) -> None:
    port = ScriptedPort(version, TxnOffsetCommit=Error.FENCED_INSTANCE_ID)
    error, state, ended = port.run(offsets_refused(port))
    assert isinstance(error, FencedInstanceIdError)
    assert (state, ended) == (ProducerState.ABORTABLE_ERROR, None)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "refusal",
    [Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.GROUP_ID_NOT_FOUND, Error.STALE_MEMBER_EPOCH],
    ids=lambda e: f"CL-13-{e.name}",
)
def test_CL_13_a_group_that_moved_on_makes_commit_failed_abortable(refusal: Error, version: int) -> None:
    port = ScriptedPort(version, TxnOffsetCommit=refusal)
    error, state, ended = port.run(offsets_refused(port))
    assert isinstance(error, CommitFailedError)
    assert (state, ended) == (ProducerState.ABORTABLE_ERROR, None)
    assert port.names()[-1] == "EndTxn"  # and no InitProducerId: nothing asked for a new epoch


def test_CL_15_an_unauthorized_init_may_be_tried_again() -> None:
    port = ScriptedPort(InitProducerId=Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    async def program() -> Any:
        producer = port.producer()
        error = await error_of(producer.init_transactions())
        state = producer.state
        await producer.init_transactions()
        return error, state, producer.state

    error, state, then = port.run(program())
    assert isinstance(error, TransactionalIdAuthorizationError)
    assert (state, then) == (ProducerState.UNINITIALIZED, ProducerState.READY)


@pytest.mark.parametrize("api", ["FindCoordinator", "InitProducerId"])
def test_an_init_that_may_only_be_aborted_leaves_a_producer_without_an_id(api: str) -> None:
    script: dict[str, Any] = {api: Error.TRANSACTION_ABORTABLE}
    port = ScriptedPort(1, **script)

    async def program() -> Any:
        producer = port.producer()
        error = await error_of(producer.init_transactions())
        state = producer.state
        await producer.abort_transaction()
        producer.begin_transaction()
        return error, state, await error_of(producer.send("t", "v", partition=0))

    error, state, sent = port.run(program())
    assert isinstance(error, TransactionAbortableError)
    assert state is ProducerState.ABORTABLE_ERROR
    assert str(sent) == "Cannot add partition t-0 to transaction before completing a call to initTransactions"


async def partitions_refused(port: ScriptedPort) -> tuple[Any, Any, Any, Any]:
    producer = await begin(port)
    future = await producer.send("t", "a", partition=0)
    await producer.send("u", "b", partition=1)
    error = await error_of(future)
    state = producer.state
    return error, state, await error_of(producer.commit_transaction()), await error_of(producer.abort_transaction())


@pytest.mark.parametrize(
    ("case", "refusal"),
    [("CL-16", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("CL-17", Error.INVALID_TXN_STATE)],
    ids=["CL-16", "CL-17"],
)
def test_CL_16_17_a_refused_partition_is_fatal(case: str, refusal: Error) -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=refusal)
    error, state, on_commit, on_abort = port.run(partitions_refused(port))
    assert state is ProducerState.FATAL_ERROR
    assert error.error is refusal
    assert [type(e) for e in (on_commit, on_abort)] == [KafkaError, KafkaError]
    assert str(on_abort).startswith("Cannot execute transactional method because we are in an error state")
    assert on_abort.__cause__ is error
    assert port.names() == ["InitProducerId", "AddPartitionsToTxn"]


def test_CL_18_an_unauthorized_topic_is_named_and_no_partition_joins() -> None:
    refused = {"t-0": Error.TOPIC_AUTHORIZATION_FAILED, "u-1": Error.OPERATION_NOT_ATTEMPTED}
    port = ScriptedPort(1, AddPartitionsToTxn=AddPartitionsToTxnResponse(errors=refused))
    error, state, on_commit, on_abort = port.run(partitions_refused(port))
    assert isinstance(error, TopicAuthorizationError)
    assert (error.topics, state) == (("t",), ProducerState.ABORTABLE_ERROR)
    assert on_commit.__cause__ is error
    assert on_abort is None
    assert port.names() == ["InitProducerId", "AddPartitionsToTxn"]


@pytest.mark.parametrize("refusal", [Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH], ids=lambda e: e.name)
@pytest.mark.parametrize(
    "api", ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"], ids=lambda a: f"CL-20-{a}"
)
def test_CL_20_a_coordinator_that_knows_a_newer_epoch_fences_the_producer(api: str, refusal: Error) -> None:
    script: dict[str, Any] = {api: refusal}
    port = ScriptedPort(1, **script)

    async def program() -> list[Any]:
        producer = port.producer()
        found = [await error_of(producer.init_transactions())]
        if not producer.transaction_manager.fatal:
            producer.begin_transaction()
            found.append(await error_of(await producer.send("t", "v")))
            if not producer.transaction_manager.fatal:
                found.append(await error_of(producer.send_offsets_to_transaction(OFFSETS, GROUP)))
            found.append(await error_of(producer.commit_transaction()))
        found += [producer.state, await error_of(producer.abort_transaction())]
        return [e for e in found if e is not None]

    *errors, state, last = port.run(program())
    assert {type(e) for e in (*errors, last)} == {ProducerFencedError}
    assert state is ProducerState.FATAL_ERROR


async def refused_batch(port: ScriptedPort) -> tuple[Any, Any, int, Any]:
    """One refused batch, an abort, and another transaction: the failure, the state then, the epoch, the next send."""
    producer = await begin(port)
    error = await error_of(await producer.send("t", "a", partition=0))
    state = producer.state
    await producer.abort_transaction()
    epoch = producer.transaction_manager.producer_epoch
    producer.begin_transaction()
    sent = await (await producer.send("t", "b", partition=0))
    await producer.commit_transaction()
    return error, state, epoch, sent


def test_CL_21_an_old_epoch_at_a_leader_is_abortable_and_a_new_one_is_taken() -> None:
    port = ScriptedPort(1, Produce=Error.INVALID_PRODUCER_EPOCH)
    error, state, epoch, _ = port.run(refused_batch(port))
    assert (error.error, state) == (Error.INVALID_PRODUCER_EPOCH, ProducerState.ABORTABLE_ERROR)
    assert port.names()[:5] == ["InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn", "InitProducerId"]
    assert [e.committed for e in port.list_sent("EndTxn")] == [False, True]
    again = port.list_sent("InitProducerId")[1]
    assert (again.producer_id, again.producer_epoch, epoch) == (PID, EPOCH, EPOCH + 1)


def test_CL_22_a_batch_that_fails_while_committing_fails_the_commit_and_gives_its_sequence_back() -> None:
    port = ScriptedPort(1, Produce=[Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER])

    async def program() -> Any:
        producer = await begin(port, linger_ms=1_000)
        await producer.send("t", "a", partition=0)
        await producer.flush()
        future = await producer.send("t", "b", partition=0)
        error = await error_of(producer.commit_transaction())
        assert isinstance(await error_of(future), OutOfOrderSequenceError)
        names = port.names()
        await producer.abort_transaction()
        state, epoch = producer.state, producer.transaction_manager.producer_epoch
        producer.begin_transaction()
        await producer.send("t", "c", partition=0)
        await producer.commit_transaction()
        return error, names, state, epoch

    error, names, state, epoch = port.run(program())
    assert isinstance(error, OutOfOrderSequenceError)
    assert "EndTxn" not in names
    assert (state, epoch) == (ProducerState.READY, EPOCH)
    assert [e.committed for e in port.list_sent("EndTxn")] == [False, True]
    assert len(port.list_sent("InitProducerId")) == 1
    assert sequences(port) == [0, 1, 1]


def test_CL_24_no_end_txn_where_only_adding_partitions_failed() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=Error.TOPIC_AUTHORIZATION_FAILED)
    _, _, _, on_abort = port.run(partitions_refused(port))
    assert on_abort is None
    assert "EndTxn" not in port.names()


def test_CL_28_a_gap_that_nothing_fills_makes_an_idempotent_producer_raise_its_epoch_by_itself() -> None:
    port = ScriptedPort(Produce=[Error.NOT_ENOUGH_REPLICAS] * 100)

    async def program() -> Any:
        producer = port.producer(transactional_id=None, delivery_timeout_ms=40_000)
        error = await error_of(await producer.send("t", "a", partition=0))
        port.script.clear()
        await (await producer.send("t", "b", partition=0))
        return error, producer.transaction_manager.producer_epoch

    error, after = port.run(program())
    assert isinstance(error, KafkaTimeoutError)
    assert (port.list_sent("Produce")[0].batches["t-0"].producer_epoch, after) == (EPOCH, EPOCH + 1)
    assert port.names().count("InitProducerId") == 1
    last = port.list_sent("Produce")[-1].batches["t-0"]
    assert (last.producer_id, last.producer_epoch, last.base_sequence) == (PID, EPOCH + 1, 0)


@pytest.mark.parametrize(
    ("given", "then"),
    [((PID, EPOCH + 1), (PID, EPOCH + 1)), ((PID + 1, 0), (PID + 1, 0))],
    ids=["CL-31", "CL-32"],
)
@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
def test_CL_31_32_end_txn_brings_the_next_identity(
    committed: bool, given: tuple[int, int], then: tuple[int, int]
) -> None:
    port = ScriptedPort(2, EndTxn=EndTxnResponse(producer_id=given[0], producer_epoch=given[1]))

    async def program() -> None:
        producer = await begin(port)
        for value in ("a", "b"):
            await (await producer.send("t", value, partition=0))
        await (producer.commit_transaction() if committed else producer.abort_transaction())
        assert producer.transaction_manager.identity == then
        producer.begin_transaction()
        await (await producer.send("t", "c", partition=0))

    port.run(program())
    assert sequences(port) == [0, 1, 0]
    last = port.list_sent("Produce")[-1].batches["t-0"]
    assert (last.producer_id, last.producer_epoch) == then


def test_CL_33_an_abort_after_a_failed_batch_takes_a_new_epoch() -> None:
    port = ScriptedPort(1, Produce=Error.TOPIC_AUTHORIZATION_FAILED)
    error, state, epoch, _ = port.run(refused_batch(port))
    assert isinstance(error, TopicAuthorizationError)
    assert (state, epoch) == (ProducerState.ABORTABLE_ERROR, EPOCH + 1)
    assert port.names()[3:5] == ["EndTxn", "InitProducerId"]
    assert sequences(port) == [0, 0]


def test_CL_34_without_bumps_the_sequence_is_used_again() -> None:
    port = ScriptedPort(1, bumps=False, Produce=[Error.NONE, Error.NONE, Error.TOPIC_AUTHORIZATION_FAILED])

    async def program() -> int:
        producer = await begin(port)
        for value in ("a", "b"):
            await (await producer.send("t", value, partition=0))
        assert await error_of(await producer.send("t", "c", partition=0)) is not None
        await producer.abort_transaction()
        producer.begin_transaction()
        await (await producer.send("t", "d", partition=0))
        return producer.transaction_manager.producer_epoch

    assert port.run(program()) == EPOCH
    assert sequences(port) == [0, 1, 2, 2]
    assert len(port.list_sent("InitProducerId")) == 1


def test_CL_35_a_commit_that_timed_out_must_be_called_again() -> None:
    port = ScriptedPort(EndTxn=[HOLD])

    async def program() -> list[Any]:
        producer = await begin(port, max_block_ms=1_000)
        await (await producer.send("t", "v"))
        said = [await error_of(producer.commit_transaction()), await error_of(producer.abort_transaction())]
        said.append(await error_of(producer.send("t", "w")))
        port.release()
        await port.sleep(10)
        said += [await error_of(producer.abort_transaction()), await error_of(producer.commit_transaction())]
        return [*said, producer.state]

    first, abort, send, abort_later, second, state = port.run(program())
    assert isinstance(first, KafkaTimeoutError)
    assert all(isinstance(e, IllegalStateError) for e in (abort, send, abort_later))
    assert "timed out and must be retried" in str(abort)
    assert (second, state) == (None, ProducerState.READY)
    assert port.names().count("EndTxn") == 1


@pytest.mark.parametrize("ready", [False, True], ids=["CL-37-UNINITIALIZED", "CL-37-READY"])
def test_CL_37_a_call_in_the_wrong_state_harms_nothing(ready: bool) -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = port.producer()
        if ready:
            await producer.init_transactions()
        error = await error_of(producer.abort_transaction())
        if not ready:
            await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("t", "v"))
        await producer.commit_transaction()
        return error

    assert isinstance(port.run(program()), IllegalStateError)
    assert port.names() == ["InitProducerId", "Produce", "EndTxn"]


@pytest.mark.parametrize("committed", [True, False], ids=["CL-38-commit", "CL-38-abort"])
def test_CL_38_transaction_abortable_on_abort_leaves_nothing_to_abort(committed: bool) -> None:
    port = ScriptedPort(EndTxn=Error.TRANSACTION_ABORTABLE)

    async def program() -> Any:
        producer = await begin(port)
        await (await producer.send("t", "v"))
        error = await error_of(producer.commit_transaction() if committed else producer.abort_transaction())
        state = producer.state
        return error, state, await error_of(producer.abort_transaction())

    error, state, then = port.run(program())
    if committed:
        assert isinstance(error, TransactionAbortableError)
        assert (state, then) == (ProducerState.ABORTABLE_ERROR, None)
    else:
        assert (type(error), error.error) == (KafkaError, Error.TRANSACTION_ABORTABLE)
        assert state is ProducerState.FATAL_ERROR
        assert str(then).startswith("Cannot execute transactional method because we are in an error state")


@pytest.mark.parametrize(
    "refusal",
    [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NETWORK_EXCEPTION],
    ids=lambda e: f"CL-40-{e.name}",
)
def test_CL_40_offsets_are_sent_again_to_the_same_coordinator(refusal: Error) -> None:
    port = ScriptedPort(TxnOffsetCommit=[refusal, refusal])

    async def program() -> None:
        producer = await begin(port)
        await producer.send_offsets_to_transaction(OFFSETS, GROUP)
        await producer.commit_transaction()

    port.run(program())
    assert port.names() == ["InitProducerId", "TxnOffsetCommit", "TxnOffsetCommit", "TxnOffsetCommit", "EndTxn"]
    assert len(port.list_sent("FindCoordinator")) == 2  # one for the transactional id, one for the group


@pytest.mark.parametrize("transactional_id", ["a", None])
def test_CL_43_a_duplicate_is_a_success_without_an_offset(transactional_id: str | None) -> None:
    port = ScriptedPort(Produce=Error.DUPLICATE_SEQUENCE_NUMBER)

    async def program() -> list[int]:
        producer = port.producer(transactional_id=transactional_id)
        if transactional_id:
            await producer.init_transactions()
            producer.begin_transaction()
        return [(await (await producer.send("t", v, partition=0))).offset for v in ("a", "b")]

    assert port.run(program())[0] == -1
    assert sequences(port) == [0, 1]
