"""Settings of the clients, with Kafka 4.4's defaults, names, checks and messages (facts 7.6 and 8)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kafkalab.client.exceptions import ConfigError, KafkaError

RETRIES_MAX = 2**31 - 1
MAX_IN_FLIGHT_WHEN_IDEMPOTENT = 5


class _Default(int):
    """A default remembers that nobody set it."""


def _default(value: int) -> Any:
    return _Default(value)


def wrong(name: str, value: object, why: str) -> ConfigError:
    """Kafka's message for a value that a setting cannot have."""
    return ConfigError(f"Invalid value {value} for configuration {name.replace('_', '.')}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Dots of Kafka's names are underscores here: `transactional.id` is `transactional_id`; acks "all" is -1.

    What was set explicitly (`explicit`) matters: a default gives way where a setting that was made is an error.
    ConfigError, with Kafka's message, for a wrong value or combination.
    """

    transactional_id: str | None = None
    enable_idempotence: bool = _default(True)
    acks: int | str = _default(-1)
    retries: int = _default(RETRIES_MAX)
    linger_ms: int = _default(5)
    batch_size: int = _default(16384)
    max_in_flight_requests_per_connection: int = _default(5)
    max_block_ms: int = _default(60_000)
    delivery_timeout_ms: int = _default(120_000)
    request_timeout_ms: int = _default(30_000)
    transaction_timeout_ms: int = _default(60_000)
    transaction_two_phase_commit_enable: bool = _default(False)
    explicit: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        settings = [f.name for f in fields(self) if f.init]
        given = tuple(n for n in settings if not isinstance(getattr(self, n), _Default) and n != "transactional_id")
        self._set("explicit", given if self.transactional_id is None else ("transactional_id", *given))
        self._check_values()
        for name in ("enable_idempotence", "transaction_two_phase_commit_enable"):
            self._set(name, bool(getattr(self, name)))
        self._check_idempotence()
        if self.transaction_two_phase_commit_enable and "transaction_timeout_ms" in given:
            raise ConfigError(
                "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true. "
                "Transactions will not expire with two-phase commit enabled."
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_values(self) -> None:
        """One value at a time, as Kafka's `ConfigDef` does before anything else."""
        if self.transactional_id == "":
            raise wrong("transactional_id", "", "String must be non-empty")
        if str(self.acks) not in ("all", "-1", "0", "1"):
            raise wrong("acks", self.acks, "String must be one of: all, -1, 0, 1")
        self._set("acks", -1 if self.acks == "all" else int(self.acks))
        at_least = {"max_in_flight_requests_per_connection": 1, "retries": 0, "linger_ms": 0, "batch_size": 0}
        at_least.update(dict.fromkeys(("max_block_ms", "delivery_timeout_ms", "request_timeout_ms"), 0))
        for name, least in at_least.items():
            if getattr(self, name) < least:
                raise wrong(name, getattr(self, name), f"Value must be at least {least}")

    def _check_idempotence(self) -> None:
        """An explicit idempotence forbids what would break it; a default one is switched off without a word."""
        possible = True
        if self.enable_idempotence:
            wanted = "enable_idempotence" in self.explicit
            if self.retries == 0:
                if wanted:
                    raise ConfigError("Must set retries to non-zero when using the idempotent producer.")
                possible = False
            if self.acks != -1:
                if wanted:
                    raise ConfigError(
                        "Must set acks to all in order to use the idempotent producer. "
                        "Otherwise we cannot guarantee idempotence."
                    )
                possible = False
            if self.max_in_flight_requests_per_connection > MAX_IN_FLIGHT_WHEN_IDEMPOTENT:
                raise ConfigError(
                    "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. "
                    f"Current value is {self.max_in_flight_requests_per_connection}."
                )
            self._set("enable_idempotence", possible)
        if self.transactional_id is not None and not self.enable_idempotence:
            raise ConfigError("Cannot set a transactional.id without also enabling idempotence.")


def construction_error(cause: str) -> KafkaError:
    """What Java's `KafkaProducer` constructor makes of a ConfigException of its own."""
    error = KafkaError("Failed to construct kafka producer")
    error.__cause__ = ConfigError(cause)
    return error


def delivery_timeout_ms(config: ProducerConfig) -> int:
    """delivery.timeout.ms, at least linger.ms + request.timeout.ms: a smaller default is raised, a setting refused."""
    least = min(config.linger_ms + config.request_timeout_ms, 2**31 - 1)
    if config.delivery_timeout_ms >= least:
        return config.delivery_timeout_ms
    if "delivery_timeout_ms" in config.explicit:
        raise construction_error("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")
    return least


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """`auto_offset_reset` is "earliest" or "latest"; Kafka's default for it is latest."""

    group_id: str | None = None
    isolation_level: str = "read_uncommitted"
    auto_offset_reset: str = "latest"
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    default_api_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.isolation_level not in ("read_uncommitted", "read_committed"):
            raise ConfigError(f"isolation.level is read_uncommitted or read_committed, not {self.isolation_level!r}")
        if self.auto_offset_reset not in ("earliest", "latest"):
            raise ConfigError(f"auto.offset.reset is earliest or latest here, not {self.auto_offset_reset!r}")
