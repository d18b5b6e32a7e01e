"""A Produce without an answer: a timed-out request and a broken connection are different errors (`Sender`)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaTimeoutError, java_name
from kafkalab.faults.frame import Drop
from kafkalab.protocol.errors import Error
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.conformance.scripted_port import LOST, TIMED_OUT, ScriptedPort, begin, error_of

ENDS = [
    (TIMED_OUT, "TimeoutException", Error.REQUEST_TIMED_OUT, "Disconnected from node 1 due to timeout"),
    (LOST, "NetworkException", Error.NETWORK_EXCEPTION, "Disconnected from node 1"),
]


@pytest.mark.parametrize(("end", "name", "error", "text"), ENDS, ids=["timed out", "broken"])
def test_without_retries_the_exception_says_how_the_request_ended(end: str, name: str, error: Error, text: str) -> None:
    port = ScriptedPort(Produce=[end])

    async def program() -> Any:
        producer = port.producer(transactional_id=None, enable_idempotence=False, retries=0)
        return await error_of(await producer.send("t", "v", partition=0))

    failed = port.run(program())
    assert (java_name(failed), failed.error, str(failed)) == (name, error, text)


@pytest.mark.parametrize(("end", "name", "error", "text"), ENDS, ids=["timed out", "broken"])
def test_when_the_retries_run_out_a_transaction_stores_it_as_the_cause(
    end: str, name: str, error: Error, text: str
) -> None:
    port = ScriptedPort(Produce=[end, end])

    async def program() -> Any:
        producer = await begin(port, retries=1)
        failed = await error_of(await producer.send("t", "v", partition=0))
        return failed, producer.transaction_manager.error

    failed, stored = port.run(program())
    assert (java_name(failed), str(failed)) == (name, text)
    assert (java_name(stored), stored.__cause__) == ("TransactionAbortableException", failed)
    assert len(port.list_sent("Produce")) == 2


async def sent_once(app: App) -> Any:
    producer = app.producer(enable_idempotence=False, retries=0)
    return await error_of(await producer.send("t", "v"))


def test_in_a_run_a_lost_answer_is_a_request_that_times_out() -> None:
    cluster = Cluster(
        Scenario(topics={"t": 1}, programs=(Program("app", sent_once),), faults=(Drop("ProduceResponse#1"),))
    )
    cluster.run()
    failed = cluster.results["app"]
    assert isinstance(failed, KafkaTimeoutError)
    assert str(failed).startswith("Disconnected from node ")
    assert str(failed).endswith(" due to timeout")
