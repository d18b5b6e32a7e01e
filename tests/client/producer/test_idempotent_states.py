"""The states of a producer without transactions: those of `bumpIdempotentEpochAndResetIdIfNeeded`."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.config.legacy import producer_config
from kafkalab.client.producer.producer import Producer
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse
from tests.conformance.scripted_port import ScriptedPort, error_of


def states_of(port: ScriptedPort) -> list[tuple[str, int]]:
    """The states that are recorded from now on, each with the producer id."""
    seen: list[tuple[str, int]] = []

    def record(kind: str, name: str, data: Any) -> int:
        seen.extend([(data["state"], data["producer_id"])] if kind == "state" else [])
        return 0

    port.record = record  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize(
    ("script", "states"),
    [
        ([], ["INITIALIZING", "INITIALIZING", "READY"]),
        ([Error.COORDINATOR_LOAD_IN_PROGRESS], ["INITIALIZING", "INITIALIZING", "READY"]),
        ([Error.CLUSTER_AUTHORIZATION_FAILED], ["INITIALIZING", "ABORTABLE_ERROR", "UNINITIALIZED"]),
        ([Error.INVALID_REQUEST], ["INITIALIZING", "FATAL_ERROR"]),
    ],
    ids=["answered", "retried", "unauthorized", "fatal"],
)
def test_the_first_record_makes_it_ask_for_a_producer_id(script: list[Error], states: list[str]) -> None:
    port = ScriptedPort(InitProducerId=script)
    seen = states_of(port)

    async def program() -> None:
        await error_of(await port.producer(transactional_id=None).send("t", "v", partition=0))

    port.run(program())
    assert [state for state, _ in seen] == states


def test_an_unauthorized_producer_asks_again_for_the_next_record() -> None:
    port = ScriptedPort(InitProducerId=Error.CLUSTER_AUTHORIZATION_FAILED)

    async def program() -> list[Any]:
        producer = port.producer(transactional_id=None)
        ends = [await error_of(await producer.send("t", "v", partition=0)) for _ in range(2)]
        return [None if end is None else end.error for end in ends] + [producer.state.name]

    assert port.run(program()) == [Error.CLUSTER_AUTHORIZATION_FAILED, None, "READY"]


def test_after_the_last_epoch_it_is_uninitialized_and_takes_another_id() -> None:
    last = InitProducerIdResponse(producer_id=7, producer_epoch=32767)
    port = ScriptedPort(InitProducerId=[last], Produce=[Error.OUT_OF_ORDER_SEQUENCE_NUMBER])
    seen = states_of(port)

    async def program() -> None:
        await (await port.producer(transactional_id=None).send("t", "v", partition=0))

    port.run(program())
    assert seen[-4:] == [("UNINITIALIZED", -1), ("INITIALIZING", -1), ("INITIALIZING", 13131), ("READY", 13131)]


def test_a_producer_of_kafka_1_0_has_no_such_states() -> None:
    port = ScriptedPort(0)

    async def program() -> str:
        producer = Producer(port, producer_config("1.0", enable_idempotence=True, linger_ms=0))
        await (await producer.send("t", "v", partition=0))
        return producer.state.name

    assert port.run(program()) == "UNINITIALIZED"
