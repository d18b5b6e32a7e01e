"""Settings of the clients, with Kafka 4.4's defaults and names (facts 8)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.client.exceptions import KafkaError


class ConfigError(KafkaError):
    """A setting is wrong (Java: ConfigException)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Dots of Kafka's names are underscores here: `transactional.id` is `transactional_id`."""

    transactional_id: str | None = None
    enable_idempotence: bool = True
    acks: int = -1
    linger_ms: int = 5
    batch_size: int = 16384
    max_in_flight_requests_per_connection: int = 5
    max_block_ms: int = 60_000
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.acks not in (-1, 0, 1):
            raise ConfigError(f"acks is -1 (all), 0 or 1, not {self.acks!r}")
        if self.enable_idempotence and self.acks != -1:
            raise ConfigError(
                "Must set acks to all in order to use the idempotent producer. "
                "Otherwise we cannot guarantee idempotence."
            )
        if self.enable_idempotence and self.max_in_flight_requests_per_connection > 5:
            raise ConfigError(
                "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. "
                f"Current value is {self.max_in_flight_requests_per_connection}."
            )
        if self.transactional_id is not None and not self.enable_idempotence:
            raise ConfigError("Cannot set a transactional.id without also enabling idempotence.")
        if self.transactional_id == "":
            raise ConfigError("transactional.id must not be an empty string")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """`auto_offset_reset` is "earliest" or "latest"; Kafka's default for it is latest."""

    group_id: str | None = None
    isolation_level: str = "read_uncommitted"
    auto_offset_reset: str = "latest"
    fetch_max_wait_ms: int = 500
    default_api_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.isolation_level not in ("read_uncommitted", "read_committed"):
            raise ConfigError(f"isolation.level is read_uncommitted or read_committed, not {self.isolation_level!r}")
        if self.auto_offset_reset not in ("earliest", "latest"):
            raise ConfigError(f"auto.offset.reset is earliest or latest here, not {self.auto_offset_reset!r}")
