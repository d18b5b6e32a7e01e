"""delivery.timeout.ms and retries: a batch that is too old is not sent again, whatever its answer says.

The timer of `expire` is due first as long as a client runs. When its clock has jumped, or it was paused, an answer
that came before the timer is read after the time: then `Sender.canRetry` must look at the clock itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.protocol.errors import Error
from tests.conformance.scripted_port import HOLD, ScriptedPort, error_of

SETTINGS = {"transactional_id": None, "delivery_timeout_ms": 1_000, "request_timeout_ms": 1_000}


async def sent_once(port: ScriptedPort) -> Any:
    """Send one record; the exception of its future, None if it was acknowledged."""
    producer = port.producer(**SETTINGS)
    future = await producer.send("t", "v", partition=0)
    return await error_of(future)


def answered_after(age_ms: int, error: Error, jump: bool) -> tuple[ScriptedPort, Any]:
    """The batch is `age_ms` old when its answer is read; the clock jumps there, or time passes as usual."""
    port = ScriptedPort(Produce=[HOLD])
    result = port.spawn(sent_once(port))
    while not port.held:
        port.schedule.pop()[-1]()
    created = port.requests[-1][0]
    if jump:
        port.schedule.advance(created + age_ms - port.now)
        body, answered = port.held.pop()
        answered(port.response_to(body, error))
    else:
        body, answered = port.held.pop()
        port.schedule.at(created + age_ms, "app", 0, lambda: answered(port.response_to(body, error)))
    while not result.done:
        port.schedule.pop()[-1]()
    return port, result.result()


@pytest.mark.parametrize("age_ms", [1_000, 5_000])
def test_an_answer_that_is_read_too_late_is_the_end_of_its_batch(age_ms: int) -> None:
    port, error = answered_after(age_ms, Error.NOT_ENOUGH_REPLICAS, jump=True)
    assert type(error) is not KafkaTimeoutError
    assert isinstance(error, KafkaError)
    assert error.error is Error.NOT_ENOUGH_REPLICAS
    assert len(port.list_sent("Produce")) == 1


def test_a_good_answer_that_is_read_too_late_is_good() -> None:
    assert answered_after(5_000, Error.NONE, jump=True)[1] is None


@pytest.mark.parametrize("jump", [True, False])
def test_until_then_a_batch_is_sent_again(jump: bool) -> None:
    port, error = answered_after(800, Error.NOT_ENOUGH_REPLICAS, jump)
    assert error is None
    assert len(port.list_sent("Produce")) == 2


def test_while_the_clock_runs_the_batch_expires_before_its_answer() -> None:
    _, error = answered_after(1_000, Error.NOT_ENOUGH_REPLICAS, jump=False)
    assert isinstance(error, KafkaTimeoutError)
    assert "1000 ms has passed since batch creation" in str(error)
