"""CFG: which settings a producer takes, and what Kafka says to the others (docs/cases.md;
docs/protocol.md#config-checks)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.config.legacy import producer_config
from kafkalab.client.exceptions import ConfigError, KafkaError
from kafkalab.client.producer.producer import Producer
from tests.conformance.scripted_port import ScriptedPort

RETRIES = "Must set retries to non-zero when using the idempotent producer."
ACKS = "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
IN_FLIGHT = (
    "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. "
    "Current value is 6."
)
TRANSACTIONAL_ID = "Cannot set a transactional.id without also enabling idempotence."
TWO_PHASE = (
    "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true. "
    "Transactions will not expire with two-phase commit enabled."
)
DELIVERY = "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"


def refusal_of(**settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig(**settings)
    return str(caught.value)


@pytest.mark.parametrize("explicit", [{}, {"enable_idempotence": True}], ids=["CFG-01-default", "CFG-01-explicit"])
def test_CFG_01_more_than_five_in_flight_is_an_error_even_where_idempotence_is_the_default(
    explicit: dict[str, bool],
) -> None:
    assert refusal_of(max_in_flight_requests_per_connection=6, **explicit) == IN_FLIGHT
    assert ProducerConfig(max_in_flight_requests_per_connection=6, enable_idempotence=False).acks == -1


@pytest.mark.parametrize("acks", [0, 1])
def test_CFG_02_acks_1_switches_a_default_idempotence_off_and_contradicts_an_explicit_one(acks: int) -> None:
    assert ProducerConfig(acks=acks).enable_idempotence is False
    assert refusal_of(acks=acks, enable_idempotence=True) == ACKS
    assert refusal_of(acks=acks, transactional_id="a") == TRANSACTIONAL_ID


def test_CFG_02_no_retries_switch_a_default_idempotence_off_and_contradict_an_explicit_one() -> None:
    assert ProducerConfig(retries=0).enable_idempotence is False
    assert refusal_of(retries=0, enable_idempotence=True) == RETRIES
    assert refusal_of(retries=0, transactional_id="a") == TRANSACTIONAL_ID
    assert refusal_of(enable_idempotence=False, transactional_id="a") == TRANSACTIONAL_ID


def test_CFG_02_the_checks_come_in_kafkas_order() -> None:
    everything = {"retries": 0, "acks": 1, "max_in_flight_requests_per_connection": 6, "transactional_id": "a"}
    assert refusal_of(enable_idempotence=True, **everything) == RETRIES
    del everything["retries"]
    assert refusal_of(enable_idempotence=True, **everything) == ACKS
    assert refusal_of(**everything) == IN_FLIGHT
    del everything["max_in_flight_requests_per_connection"]
    assert refusal_of(**everything) == TRANSACTIONAL_ID


@pytest.mark.parametrize("timeout_ms", [60_000, 1], ids=["CFG-04-the-default-value", "CFG-04"])
def test_CFG_04_two_phase_commit_has_no_time_out(timeout_ms: int) -> None:
    both = {"transaction_two_phase_commit_enable": True, "transaction_timeout_ms": timeout_ms}
    assert refusal_of(transactional_id="a", **both) == TWO_PHASE
    assert ProducerConfig(transaction_timeout_ms=timeout_ms).transaction_timeout_ms == timeout_ms


def test_CFG_05_in_0_11_an_idempotent_producer_has_one_request_in_flight() -> None:
    assert producer_config("0.11", enable_idempotence=True).max_in_flight_requests_per_connection == 1
    assert producer_config("0.11", transactional_id="a").max_in_flight_requests_per_connection == 1
    assert producer_config("0.11").max_in_flight_requests_per_connection == 5
    with pytest.raises(KafkaError, match="Failed to construct kafka producer") as caught:
        producer_config("0.11", enable_idempotence=True, max_in_flight_requests_per_connection=2)
    assert isinstance(caught.value.__cause__, ConfigError)


def test_CFG_05_in_1_0_up_to_five_are_allowed() -> None:
    assert producer_config("1.0", enable_idempotence=True).max_in_flight_requests_per_connection == 5
    with pytest.raises(KafkaError) as caught:
        producer_config("1.0", enable_idempotence=True, max_in_flight_requests_per_connection=6)
    assert str(caught.value.__cause__) == (
        "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
    )


@pytest.mark.parametrize("version", ["0.11", "1.0"])
def test_CFG_05_old_defaults_are_those_of_then(version: str) -> None:
    plain, idempotent = producer_config(version), producer_config(version, enable_idempotence=True)
    assert (plain.enable_idempotence, plain.acks, plain.retries, plain.linger_ms) == (False, 1, 0, 0)
    assert (idempotent.acks, idempotent.retries) == (-1, 2147483647)
    for wrong, why in (({"acks": 1}, ACKS), ({"retries": 0}, RETRIES)):
        with pytest.raises(KafkaError) as caught:
            producer_config(version, enable_idempotence=True, **wrong)
        assert str(caught.value.__cause__) == why


def test_a_delivery_timeout_that_is_too_short_is_raised_if_default_and_refused_if_set() -> None:
    port = ScriptedPort()
    assert Producer(port, ProducerConfig(request_timeout_ms=200_000)).accumulator.delivery_timeout_ms == 200_005
    with pytest.raises(KafkaError, match="Failed to construct kafka producer") as caught:
        Producer(port, ProducerConfig(delivery_timeout_ms=30_004))
    assert str(caught.value.__cause__) == DELIVERY
    assert Producer(port, ProducerConfig(delivery_timeout_ms=30_005)).accumulator.delivery_timeout_ms == 30_005


def test_every_value_is_checked_by_itself_first() -> None:
    assert refusal_of(transactional_id="", acks=1) == (
        "Invalid value  for configuration transactional.id: String must be non-empty"
    )
    assert refusal_of(acks=2) == "Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1"
    assert ProducerConfig(acks="all").acks == -1
    assert refusal_of(max_in_flight_requests_per_connection=0).endswith("Value must be at least 1")
    for name in ("retries", "linger_ms", "batch_size", "max_block_ms", "delivery_timeout_ms", "request_timeout_ms"):
        assert refusal_of(**{name: -1}).endswith(f"configuration {name.replace('_', '.')}: Value must be at least 0")
