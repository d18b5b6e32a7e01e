"""Settings: the defaults of three versions, wrong names, types and values, and every combination
(docs/protocol.md#config-checks)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kafkalab.client.config.config import ConsumerConfig, ProducerConfig, delivery_timeout_ms
from kafkalab.client.config.config_def import configure
from kafkalab.client.config.defaults import DEFAULTS, IF_IDEMPOTENT, default
from kafkalab.client.config.legacy import producer_config
from kafkalab.client.exceptions import ConfigError, KafkaError

MAX = 2147483647
# docs/protocol.md#defaults, typed by hand: setting, 0.11, 0.11 if idempotent, 1.0, 1.0 if idempotent, 4.4
FACTS = [
    ("enable_idempotence", False, True, False, True, True),
    ("acks", 1, -1, 1, -1, -1),
    ("retries", 0, MAX, 0, MAX, MAX),
    ("max_in_flight_requests_per_connection", 5, 1, 5, 5, 5),
    ("transactional_id", None, None, None, None, None),
    ("transaction_timeout_ms", 60000, 60000, 60000, 60000, 60000),
    ("request_timeout_ms", 30000, 30000, 30000, 30000, 30000),
    ("max_block_ms", 60000, 60000, 60000, 60000, 60000),
    ("linger_ms", 0, 0, 0, 0, 5),
]


@pytest.mark.parametrize(("name", "old", "old_idempotent", "one", "one_idempotent", "today"), FACTS)
def test_every_default_is_that_of_its_version(
    name: str, old: Any, old_idempotent: Any, one: Any, one_idempotent: Any, today: Any
) -> None:
    assert getattr(producer_config("0.11"), name) == old
    assert getattr(producer_config("1.0"), name) == one
    assert getattr(producer_config("0.11", enable_idempotence=True), name) == old_idempotent
    assert getattr(producer_config("1.0", enable_idempotence=True), name) == one_idempotent
    assert getattr(ProducerConfig(), name) == today == default(name)
    assert DEFAULTS[name] == (old, one, today)


def test_settings_that_came_later_have_no_old_default() -> None:
    assert DEFAULTS["delivery_timeout_ms"] == (None, None, 120000)
    assert DEFAULTS["isolation_level"] == ("read_uncommitted",) * 3
    assert ConsumerConfig().isolation_level == "read_uncommitted"
    assert set(IF_IDEMPOTENT) == {"0.11", "1.0", "4.4"}
    with pytest.raises(ConfigError, match=r"no setting delivery\.timeout\.ms in Kafka 1\.0"):
        producer_config("1.0", delivery_timeout_ms=1)


RETRIES = "Must set retries to non-zero when using the idempotent producer."
ACKS = "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
IN_FLIGHT = (
    "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. "
    "Current value is 6."
)
TRANSACTIONAL = "Cannot set a transactional.id without also enabling idempotence."


def expect(idempotence: bool | None, transactional: bool, retries: Any, acks: Any, in_flight: int) -> Any:
    """Return what docs/protocol.md#config-checks say of one combination: the message, or whether idempotence is on."""
    on = idempotence is not False
    if idempotence and retries == 0:
        return RETRIES
    if idempotence and acks not in (None, "all", -1):
        return ACKS
    if on and in_flight > 5:
        return IN_FLIGHT
    on = on and retries != 0 and acks in (None, "all", -1)
    return TRANSACTIONAL if transactional and not on else on


@pytest.mark.parametrize("idempotence", [None, True, False], ids=lambda v: f"idempotence-{v}")
@pytest.mark.parametrize("transactional", [False, True], ids=lambda v: f"transactional-{v}")
@pytest.mark.parametrize("in_flight", [1, 5, 6], ids=lambda v: f"in-flight-{v}")
def test_every_combination_is_taken_or_refused_with_kafkas_message(
    idempotence: bool | None, transactional: bool, in_flight: int
) -> None:
    for retries, acks in product((None, 0, 3), (None, 0, 1, "all", -1)):
        given: dict[str, Any] = {"enable_idempotence": idempotence, "retries": retries, "acks": acks}
        given = {k: v for k, v in given.items() if v is not None}
        given["max_in_flight_requests_per_connection"] = in_flight
        if transactional:
            given["transactional_id"] = "a"
        want = expect(idempotence, transactional, retries, acks, in_flight)
        if isinstance(want, str):
            with pytest.raises(ConfigError) as caught:
                ProducerConfig(**given)
            assert str(caught.value) == want, given
        else:
            assert ProducerConfig(**given).enable_idempotence is want, given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"linger_ms": "soon"}, "Invalid value soon for configuration linger.ms: Not a number of type LONG"),
        ({"retries": "many"}, "Invalid value many for configuration retries: Not a number of type INT"),
        (
            {"retries": 2.5},
            "Invalid value 2.5 for configuration retries: Expected value to be a 32-bit integer, "
            "but it was a java.lang.Double",
        ),
        (
            {"batch_size": 2**31},
            "Invalid value 2147483648 for configuration batch.size: Expected value to be a 32-bit integer, "
            "but it was a java.lang.Long",
        ),
        (
            {"linger_ms": True},
            "Invalid value true for configuration linger.ms: Expected value to be a 64-bit integer (i.e. long), "
            "but it was a java.lang.Boolean",
        ),
        ({"max_block_ms": None}, "Invalid value null for configuration max.block.ms: Value must be non-null"),
        (
            {"enable_idempotence": "maybe"},
            "Invalid value maybe for configuration enable.idempotence: Expected value to be either true or false",
        ),
        (
            {"enable_idempotence": 1},
            "Invalid value 1 for configuration enable.idempotence: Expected value to be either true or false",
        ),
        (
            {"transactional_id": 7},
            "Invalid value 7 for configuration transactional.id: Expected value to be a string, "
            "but it was a java.lang.Integer",
        ),
        ({"acks": "most"}, "Invalid value most for configuration acks: String must be one of: all, -1, 0, 1"),
        (
            {"acks": None},
            "Invalid value null for configuration acks: Expected value to be a string, but it was a NoneType",
        ),
        ({"buffer_memory": -1}, "Invalid value -1 for configuration buffer.memory: Value must be at least 0"),
        ({"transactional_id": ""}, "Invalid value  for configuration transactional.id: String must be non-empty"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_kafkas_message(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig(**given)
    assert str(caught.value) == said


def test_a_text_that_is_a_value_counts_as_in_a_properties_file() -> None:
    config = configure(ProducerConfig, {"linger.ms": " 7 ", "enable.idempotence": "TRUE", "transactional.id": "a"})
    assert (config.linger_ms, config.enable_idempotence, config.transactional_id) == (7, True, "a")
    assert config.explicit == ("transactional_id", "enable_idempotence", "linger_ms")


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (ProducerConfig, "linger_mss", "did you mean linger.ms?"),
        (ProducerConfig, "transaction.id", "did you mean transactional.id?"),
        (ProducerConfig, "idempotence", "did you mean enable.idempotence?"),
        (ProducerConfig, "explicit", "there are"),
        (ConsumerConfig, "isolation", "did you mean isolation.level?"),
        (ConsumerConfig, "xyz", "there are group.id, isolation.level"),
    ],
)
def test_a_name_that_is_none_is_refused_with_a_hint(kind: type, name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configure(kind, {name: 1})
    assert f"no setting {name.replace('_', '.')}" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("version", ["4.x/TV2", "1.0"])
def test_a_program_hears_of_a_wrong_name(version: str) -> None:
    with pytest.raises(ConfigError, match=r"did you mean linger\.ms"):
        producer_config(version, linger_m=1)


@pytest.mark.parametrize(
    ("linger", "asked", "delivery", "then"),
    [(5, 30000, None, 120000), (100000, 30000, None, 130000), (0, 30000, 30000, 30000), (1, 30000, 30000, None)],
)
def test_the_delivery_timeout_covers_linger_and_request(
    linger: int, asked: int, delivery: int | None, then: int | None
) -> None:
    given: dict[str, Any] = {"linger_ms": linger, "request_timeout_ms": asked}
    if delivery is not None:
        given["delivery_timeout_ms"] = delivery
    if then is not None:
        assert delivery_timeout_ms(ProducerConfig(**given)) == then
        return
    with pytest.raises(KafkaError, match="Failed to construct kafka producer") as caught:
        delivery_timeout_ms(ProducerConfig(**given))
    assert isinstance(caught.value.__cause__, ConfigError)


def test_the_consumers_choices_are_kafkas() -> None:
    with pytest.raises(ConfigError, match="String must be one of: read_committed, read_uncommitted"):
        ConsumerConfig(isolation_level="committed")
    with pytest.raises(ConfigError, match=r"auto.offset.reset"):
        ConsumerConfig(auto_offset_reset="first")
