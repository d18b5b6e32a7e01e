"""The producer's calls: what each asks of its arguments and of the producer, and what it says
(docs/protocol.md#producer-calls)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import (
    IllegalStateError,
    InvalidProducerEpochError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
)
from kafkalab.client.producer.producer import NO_TRANSACTION_MANAGER, NO_TRANSACTIONS
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transition_tables.producer import ProducerState
from tests.conformance.scripted_port import HOLD, LOST, ScriptedPort, begin, error_of

OFFSETS = {"in-0": 7}


@pytest.mark.parametrize(("idempotent", "said"), [(True, NO_TRANSACTIONS), (False, NO_TRANSACTION_MANAGER)])
def test_without_a_transactional_id_there_are_no_transactions(idempotent: bool, said: str) -> None:
    port = ScriptedPort()

    async def program() -> list[Any]:
        producer = port.producer(transactional_id=None, enable_idempotence=idempotent)
        calls = [producer.init_transactions(), producer.commit_transaction(), producer.abort_transaction()]
        calls.append(producer.send_offsets_to_transaction(OFFSETS, GroupMetadata("g")))
        found = [await error_of(call) for call in calls]
        empty = await error_of(producer.send_offsets_to_transaction({}, GroupMetadata("g")))
        with pytest.raises(IllegalStateError, match=said[:20]):
            producer.begin_transaction()
        return [*found, empty]

    *found, empty = port.run(program())
    assert [str(e) for e in found] == [said] * 4
    assert (empty is None) is idempotent


def test_offsets_need_good_group_metadata_first_and_an_empty_map_does_nothing() -> None:
    port = ScriptedPort()

    async def program() -> list[Any]:
        producer = port.producer()
        return [
            await error_of(producer.send_offsets_to_transaction({}, GroupMetadata("g", 1))),
            await error_of(producer.send_offsets_to_transaction(OFFSETS, None)),  # type: ignore[arg-type]
            await error_of(producer.send_offsets_to_transaction(OFFSETS, GroupMetadata("g"))),
            await error_of(producer.send_offsets_to_transaction({}, GroupMetadata("g"))),
        ]

    generation, missing, state, empty = port.run(program())
    assert (type(generation), type(missing), type(state), empty) == (ValueError, ValueError, IllegalStateError, None)
    assert port.requests == []


def test_offsets_that_timed_out_do_not_bar_the_abort_which_waits_for_their_answer() -> None:
    port = ScriptedPort(TxnOffsetCommit=[HOLD])

    async def program() -> Any:
        producer = await begin(port, max_block_ms=1_000)
        error = await error_of(producer.send_offsets_to_transaction(OFFSETS, GroupMetadata("g")))
        aborting = port.spawn(producer.abort_transaction())
        await port.sleep(50)
        assert "EndTxn" not in port.names()
        port.release()
        await aborting
        return error

    assert isinstance(port.run(program()), KafkaTimeoutError)
    assert port.names() == ["InitProducerId", "TxnOffsetCommit", "EndTxn"]


def test_after_a_lost_answer_the_coordinator_is_looked_up_anew() -> None:
    port = ScriptedPort(EndTxn=[LOST, Error.NOT_COORDINATOR])

    async def program() -> None:
        producer = await begin(port)
        await (await producer.send("t", "v"))
        await producer.commit_transaction()

    port.run(program())
    assert port.names().count("EndTxn") == 3
    assert len(port.list_sent("FindCoordinator")) == 3


def test_an_abort_waits_for_partitions_that_are_just_being_added() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=[HOLD])

    async def program() -> None:
        producer = await begin(port)
        await producer.send("t", "v")
        await port.sleep(10)
        aborting = port.spawn(producer.abort_transaction())
        await port.sleep(10)
        assert port.names() == ["InitProducerId", "AddPartitionsToTxn"]
        port.release()
        await aborting

    port.run(program())
    assert port.names() == ["InitProducerId", "AddPartitionsToTxn", "EndTxn"]


def test_a_request_is_not_retried_once_a_batch_has_failed() -> None:
    port = ScriptedPort(1)

    async def program() -> None:
        producer = await begin(port)
        await (await producer.send("t", "a", partition=0))
        port.script["AddPartitionsToTxn"] = [Error.COORDINATOR_LOAD_IN_PROGRESS] * 100
        port.script["Produce"] = [Error.TOPIC_AUTHORIZATION_FAILED]
        await producer.send("t", "b", partition=1)
        await producer.send("t", "c", partition=0)
        await port.sleep(5_000)
        await producer.abort_transaction()

    port.run(program())
    assert port.names()[-2:] == ["EndTxn", "InitProducerId"]
    assert port.names().count("AddPartitionsToTxn") <= 3


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [(Error.PRODUCER_FENCED, ProducerFencedError), (Error.INVALID_PRODUCER_EPOCH, InvalidProducerEpochError)],
)
def test_send_puts_a_fencing_into_the_future_and_other_calls_raise_it(refusal: Error, kind: type[Exception]) -> None:
    port = ScriptedPort(2, Produce=refusal)

    async def program() -> list[Any]:
        producer = await begin(port)
        found = [await error_of(await producer.send("t", v, partition=0)) for v in ("a", "b")]
        return [*found, await error_of(producer.commit_transaction())]

    assert {type(e) for e in port.run(program())} == {kind}


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"])
@pytest.mark.parametrize("bumps", [True, False])
def test_an_unknown_producer_id_at_the_coordinator_is_abortable_if_the_epoch_can_be_raised(
    api: str, bumps: bool
) -> None:
    port = ScriptedPort(1, bumps, **{api: Error.UNKNOWN_PRODUCER_ID})

    async def program() -> Any:
        producer = await begin(port)
        await error_of(await producer.send("t", "a", partition=0))
        if api != "AddPartitionsToTxn":
            await error_of(producer.send_offsets_to_transaction(OFFSETS, GroupMetadata("g")))
        if api == "EndTxn":
            await error_of(producer.commit_transaction())
        return producer.state, await error_of(producer.abort_transaction())

    state, aborted = port.run(program())
    assert state is (ProducerState.ABORTABLE_ERROR if bumps else ProducerState.FATAL_ERROR)
    assert (aborted is None) is bumps
    assert port.names().count("InitProducerId") == (2 if bumps else 1)


def test_after_a_close_without_waiting_no_request_is_sent_and_the_open_call_fails() -> None:
    port = ScriptedPort(InitProducerId=HOLD)

    async def program() -> Any:
        producer = port.producer()
        opening = port.spawn(producer.init_transactions())
        await port.sleep(10)
        await producer.close(timeout_ms=0)
        port.release(Error.COORDINATOR_LOAD_IN_PROGRESS)
        await port.sleep(1_000)
        return await error_of(opening)

    error = port.run(program())
    assert (type(error), str(error)) == (KafkaError, "The producer closed forcefully")
    assert port.names() == ["InitProducerId"]


def test_after_a_close_without_waiting_the_sender_sends_nothing() -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = await begin(port)
        promise = await producer.send("t", "v")
        producer.sender.wake()
        await producer.close(timeout_ms=0)
        await port.sleep(1_000)
        return await error_of(promise)

    assert str(port.run(program())) == "Producer is closed forcefully."
    assert port.names() == ["InitProducerId"]


def test_an_abort_adds_no_further_partition() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=HOLD)

    async def program() -> None:
        producer = await begin(port)
        await producer.send("t", "v", partition=0)
        await port.sleep(10)
        await producer.send("t", "w", partition=1)
        aborting = port.spawn(producer.abort_transaction())
        await port.sleep(10)
        port.release()
        await aborting

    port.run(program())
    assert [r.partitions for r in port.list_sent("AddPartitionsToTxn")] == [("t-0",)]


def test_a_request_waits_for_the_answer_to_the_one_before_it() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=HOLD)

    async def program() -> list[str]:
        producer = await begin(port)
        await producer.send("t", "v")
        await port.sleep(10)
        adding = port.spawn(producer.send_offsets_to_transaction(OFFSETS, GroupMetadata("g")))
        await port.sleep(10)
        before = port.names()
        port.release()
        await adding
        return before

    assert port.run(program()) == ["InitProducerId", "AddPartitionsToTxn"]
    assert port.names()[2:].count("AddOffsetsToTxn") == 1
