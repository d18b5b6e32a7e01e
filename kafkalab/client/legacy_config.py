"""The producer's settings in Kafka 0.11 and 1.0: other defaults, other checks (`KafkaProducer.configure...`)."""

from __future__ import annotations

from typing import Any

from kafkalab.client.config import RETRIES_MAX, ProducerConfig, construction_error

LEGACY_VERSIONS = ("0.11", "1.0")
DELIVERY_TIMEOUT_MAX_MS = 2**31 - 1


def producer_config(version: str, **given: Any) -> ProducerConfig:
    """The settings as a producer of this version takes them: "0.11" and "1.0"; any other means today's.

    KafkaError with a ConfigError as its cause for a combination that the old constructor refuses.
    """
    if version not in LEGACY_VERSIONS:
        return ProducerConfig(**given)
    idempotent = bool(given.get("enable_idempotence", given.get("transactional_id") is not None))
    if given.get("transactional_id") is not None and not idempotent:
        raise construction_error("Cannot set a transactional.id without also enabling idempotence.")
    settings: dict[str, Any] = {"linger_ms": 0, "delivery_timeout_ms": DELIVERY_TIMEOUT_MAX_MS, **given}
    settings["enable_idempotence"] = idempotent
    settings["max_in_flight_requests_per_connection"] = _in_flight(version, idempotent, given)
    settings["retries"] = given.get("retries", RETRIES_MAX if idempotent else 0)
    if idempotent and settings["retries"] == 0:
        raise construction_error("Must set retries to non-zero when using the idempotent producer.")
    settings["acks"] = given.get("acks", -1 if idempotent else 1)
    if idempotent and settings["acks"] not in (-1, "-1", "all"):
        raise construction_error(
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
        )
    return ProducerConfig(**settings)


def _in_flight(version: str, idempotent: bool, given: dict[str, Any]) -> int:
    """0.11 forces 1 on an idempotent producer; since 1.0 (KAFKA-5494) up to 5 are in order."""
    name = "max_in_flight_requests_per_connection"
    asked: int = given.get(name, 1 if idempotent and version == "0.11" else 5)
    if idempotent and version == "0.11" and asked != 1:
        raise construction_error(
            "Must set max.in.flight.requests.per.connection to 1 in order to use the idempotent producer. "
            "Otherwise we cannot guarantee idempotence."
        )
    if idempotent and asked > 5:
        raise construction_error(
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
        )
    return asked
