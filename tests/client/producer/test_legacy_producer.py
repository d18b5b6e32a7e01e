"""Producers of 0.11 and 1.0: no epoch is raised; a gap costs the producer id, or the producer (KIP-360, KIP-588)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.config.legacy import producer_config
from kafkalab.client.exceptions import KafkaTimeoutError, OutOfOrderSequenceError, ProducerFencedError
from kafkalab.client.producer.producer import Producer
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalab.protocol.messages.produce import PartitionProduced, ProduceResponse
from kafkalab.protocol.transition_tables.producer import ProducerState
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.conformance.scripted_port import EPOCH, HOLD, LOST, PID, ScriptedPort, error_of

VERSIONS = ("0.11", "1.0")
IDS = [InitProducerIdResponse(producer_id=PID + i, producer_epoch=EPOCH) for i in range(3)]


def producer_of(port: ScriptedPort, version: str, **config: Any) -> Producer:
    return Producer(port, producer_config(version, **config))


def shapes(port: ScriptedPort) -> list[tuple[int, int, int]]:
    """Producer id, epoch and first sequence of every batch, in the order of sending."""
    batches = [b for request in port.list_sent("Produce") for b in request.batches.values()]
    return [(b.producer_id, b.producer_epoch, b.base_sequence) for b in batches]


def without_state(log_start_offset: int) -> Any:
    def respond(body: Any) -> ProduceResponse:
        produced = PartitionProduced(error=Error.UNKNOWN_PRODUCER_ID, log_start_offset=log_start_offset)
        return ProduceResponse(partitions=dict.fromkeys(body.batches, produced))

    return respond


async def two(port: ScriptedPort, version: str) -> list[Any]:
    """Two records of an idempotent-only producer, one after the other: what became of them."""
    producer = producer_of(port, version, enable_idempotence=True)
    return [await error_of(await producer.send("t", v, partition=0)) for v in ("a", "b")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_gap_costs_an_idempotent_producer_its_id(version: str) -> None:
    port = ScriptedPort(0, False, Produce=[Error.OUT_OF_ORDER_SEQUENCE_NUMBER], InitProducerId=list(IDS))
    first, second = port.run(two(port, version))
    assert (type(first), second) == (OutOfOrderSequenceError, None)
    assert shapes(port) == [(PID, EPOCH, 0), (PID + 1, EPOCH, 0)]


def test_today_the_epoch_is_raised_and_the_batch_sent_again() -> None:
    port = ScriptedPort(2, True, Produce=[Error.OUT_OF_ORDER_SEQUENCE_NUMBER], InitProducerId=list(IDS))
    assert port.run(two(port, "4.x/TV2")) == [None, None]
    assert shapes(port) == [(PID, EPOCH, 0), (PID, EPOCH + 1, 0), (PID, EPOCH + 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("start", "second", "then"),
    [
        (-1, None, [(PID, EPOCH, 1)]),  # the leader does not say where its log begins: again
        (5, None, [(PID, EPOCH, 0)]),  # the records were deleted: from 0 on
        (0, "UnknownProducerIdError", []),  # they are there: data was lost
    ],
)
def test_a_leader_without_state(version: str, start: int, second: str | None, then: list[Any]) -> None:
    port = ScriptedPort(0, False, Produce=[Error.NONE, without_state(start)], InitProducerId=list(IDS))
    found = port.run(two(port, version))
    assert (found[0], type(found[1]).__name__ if found[1] else None) == (None, second)
    assert shapes(port) == [(PID, EPOCH, 0), (PID, EPOCH, 1), *then]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("version_today", [False, True])
def test_an_old_epoch_at_a_leader_was_the_end_of_a_producer(version: str, version_today: bool) -> None:
    port = ScriptedPort(0, False, Produce=[Error.INVALID_PRODUCER_EPOCH])

    async def program() -> Any:
        producer = producer_of(port, "4.4" if version_today else version, transactional_id="a")
        await producer.init_transactions()
        producer.begin_transaction()
        error = await error_of(await producer.send("t", "v", partition=0))
        return type(error).__name__, producer.state, await error_of(producer.abort_transaction())

    name, state, aborted = port.run(program())
    if version_today:
        assert (name, state, aborted) == ("InvalidProducerEpochError", ProducerState.ABORTABLE_ERROR, None)
    else:
        assert (name, state) == ("ProducerFencedError", ProducerState.FATAL_ERROR)
        assert isinstance(aborted, ProducerFencedError)


def test_0_11_waits_for_each_answer_and_1_0_for_the_fifth_last() -> None:
    for version, at_once in (("0.11", 1), ("1.0", 5)):
        port = ScriptedPort(0, False, Produce=[HOLD] * 9)

        async def program(version: str = version, port: ScriptedPort = port) -> int:
            producer = producer_of(port, version, enable_idempotence=True, batch_size=0)
            for number in range(9):
                await producer.send("t", str(number), partition=0)
            await port.sleep(100)
            return len(port.list_sent("Produce"))

        assert port.run(program()) == at_once


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_that_stays_unanswered_costs_the_id_and_a_transaction_the_producer(version: str) -> None:
    lost = [LOST] * 2_000

    async def program(port: ScriptedPort, **config: Any) -> tuple[Any, Any]:
        producer = producer_of(port, version, **config)
        producer.accumulator.delivery_timeout_ms = 40_000
        if producer.transaction_manager.transactional:
            await producer.init_transactions()
            producer.begin_transaction()
        error = await error_of(await producer.send("t", "a", partition=0))
        port.script.pop("Produce")
        await port.sleep(5_000)
        return error, producer

    port = ScriptedPort(0, False, Produce=list(lost), InitProducerId=list(IDS))
    error, producer = port.run(program(port, enable_idempotence=True))
    assert isinstance(error, KafkaTimeoutError)
    assert producer.transaction_manager.producer_id != PID
    port = ScriptedPort(0, False, Produce=list(lost))
    _, producer = port.run(program(port, transactional_id="a"))
    assert producer.state is ProducerState.FATAL_ERROR


async def five(app: App) -> list[int]:
    producer = app.producer(enable_idempotence=True)
    futures = [await producer.send("t", str(number)) for number in range(5)]
    return [(await f).offset for f in futures]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_run_under_an_old_profile(version: str) -> None:
    cluster = Cluster(Scenario(profile=version, topics={"t": 1}, programs=(Program("app", five),)))
    cluster.run()
    assert cluster.results["app"] == [0, 1, 2, 3, 4]
