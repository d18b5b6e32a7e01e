"""The producer's settings in Kafka 0.11 and 1.0: other defaults, other checks (`KafkaProducer.configure...`)."""

from __future__ import annotations

from typing import Any

from kafkalab.client.config.config import ProducerConfig, construction_error
from kafkalab.client.config.config_def import configure, to_dotted, truth
from kafkalab.client.config.defaults import DEFAULTS, default
from kafkalab.client.exceptions import ConfigError

LEGACY_VERSIONS = ("0.11", "1.0")
DELIVERY_TIMEOUT_MAX_MS = 2**31 - 1
OLD_DEFAULTS = ("acks", "retries", "linger_ms", "max_in_flight_requests_per_connection")


def producer_config(version: str, **given: Any) -> ProducerConfig:
    """Return the settings of a producer of `version`, "0.11" or "1.0"; any other means 4.4.

    KafkaError with a ConfigError as its cause for a combination that the old constructor refuses.
    """
    if version not in LEGACY_VERSIONS:
        return configure(ProducerConfig, given)
    given = {name.replace(".", "_"): value for name, value in given.items()}
    for name in given:
        if name in DEFAULTS and DEFAULTS[name][LEGACY_VERSIONS.index(version)] is None and name != "transactional_id":
            raise ConfigError(f"no setting {to_dotted(name)} in Kafka {version}")
    transactional = given.get("transactional_id") is not None
    idempotent = truth("enable_idempotence", given.get("enable_idempotence", transactional))
    if transactional and not idempotent:
        raise construction_error("Cannot set a transactional.id without also enabling idempotence.")
    old = {n: default(n, version, idempotent) for n in OLD_DEFAULTS}
    settings: dict[str, Any] = {"delivery_timeout_ms": DELIVERY_TIMEOUT_MAX_MS, **old, **given}
    settings["enable_idempotence"] = idempotent
    config = configure(ProducerConfig, {**settings, "enable_idempotence": False, "transactional_id": None})
    if idempotent:
        _check(version, config)
    config = configure(ProducerConfig, settings)
    object.__setattr__(config, "version", version)
    return config


def _check(version: str, config: ProducerConfig) -> None:
    """Check what the idempotent producer of that version demands, in the order of its constructor."""
    in_flight = config.max_in_flight_requests_per_connection
    if config.retries == 0:
        raise construction_error("Must set retries to non-zero when using the idempotent producer.")
    if version == "0.11" and in_flight != 1:
        raise construction_error(
            "Must set max.in.flight.requests.per.connection to 1 in order to use the idempotent producer. "
            "Otherwise we cannot guarantee idempotence."
        )
    if in_flight > 5:
        raise construction_error(
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
        )
    if config.acks != -1:
        raise construction_error(
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
        )
