"""Settings of the clients, with Kafka 4.4's defaults, names, checks and messages (docs/protocol.md#config-checks)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kafkalab.client.config.config_def import INT_MAX, number, one_of, text, truth, wrong
from kafkalab.client.config.defaults import TODAY, default
from kafkalab.client.exceptions import ConfigError, KafkaError

MAX_IN_FLIGHT_WHEN_IDEMPOTENT = 5
NUMBERS: dict[str, tuple[str, int | None]] = {
    "retries": ("INT", 0),
    "linger_ms": ("LONG", 0),
    "batch_size": ("INT", 0),
    "buffer_memory": ("LONG", 0),
    "max_request_size": ("INT", 0),
    "max_in_flight_requests_per_connection": ("INT", 1),
    "max_block_ms": ("LONG", 0),
    "delivery_timeout_ms": ("INT", 0),
    "request_timeout_ms": ("INT", 0),
    "transaction_timeout_ms": ("INT", None),
}
"""The settings that are numbers: their type and least value, None where any is taken."""
ACKS = ("all", "-1", "0", "1")
FLAGS = ("enable_idempotence", "transaction_two_phase_commit_enable")
CONSUMER_NUMBERS = {
    "auto_commit_interval_ms": 0,
    "session_timeout_ms": 0,
    "heartbeat_interval_ms": 0,
    "max_poll_interval_ms": 1,
    "fetch_max_wait_ms": 0,
    "fetch_min_bytes": 0,
    "default_api_timeout_ms": 0,
}


class _Default(int):
    """A default value, as opposed to an explicit setting."""


def _default(name: str) -> Any:
    return _Default(default(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Dots of Kafka's names are underscores here: `transactional.id` is `transactional_id`; acks "all" is -1.

    `explicit` names the settings that were given: where one of them is an error, a default gives way instead.
    ConfigError, with Kafka's message, for a wrong value or combination.
    """

    transactional_id: str | None = None
    enable_idempotence: bool = _default("enable_idempotence")
    acks: int | str = _default("acks")
    retries: int = _default("retries")
    linger_ms: int = _default("linger_ms")
    batch_size: int = _default("batch_size")
    buffer_memory: int = _default("buffer_memory")
    max_request_size: int = _default("max_request_size")
    max_in_flight_requests_per_connection: int = _default("max_in_flight_requests_per_connection")
    max_block_ms: int = _default("max_block_ms")
    delivery_timeout_ms: int = _default("delivery_timeout_ms")
    request_timeout_ms: int = _default("request_timeout_ms")
    transaction_timeout_ms: int = _default("transaction_timeout_ms")
    transaction_two_phase_commit_enable: bool = _default("transaction_two_phase_commit_enable")
    explicit: tuple[str, ...] = field(init=False)
    version: str = field(init=False, default=TODAY)

    def __post_init__(self) -> None:
        settings = [f.name for f in fields(self) if f.init]
        given = tuple(n for n in settings if not isinstance(getattr(self, n), _Default) and n != "transactional_id")
        self._set("explicit", given if self.transactional_id is None else ("transactional_id", *given))
        self._check_values()
        self._check_idempotence()
        if self.transaction_two_phase_commit_enable and "transaction_timeout_ms" in given:
            raise ConfigError(
                "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true. "
                "Transactions will not expire with two-phase commit enabled."
            )

    @property
    def legacy(self) -> bool:
        """True if the producer is older than KIP-360 and KIP-588: it cannot raise an epoch, and error 47 fences it."""
        return self.version != TODAY

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_values(self) -> None:
        """Check each value by itself, as Kafka's `ConfigDef` does before anything else."""
        if self.transactional_id is not None:
            self._set("transactional_id", text("transactional_id", self.transactional_id))
            if self.transactional_id == "":
                raise wrong("transactional_id", "", "String must be non-empty")
        whole = isinstance(self.acks, int) and not isinstance(self.acks, bool)
        acks = one_of("acks", str(int(self.acks)) if whole else self.acks, ACKS)
        self._set("acks", -1 if acks == "all" else int(acks))
        for name, (kind, least) in NUMBERS.items():
            self._set(name, number(name, getattr(self, name), kind, least))
        for name in FLAGS:
            value = getattr(self, name)
            self._set(name, bool(value) if isinstance(value, _Default) else truth(name, value))

    def _check_idempotence(self) -> None:
        """Refuse settings that break an explicit idempotence; a default one is switched off silently."""
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
    """Return what Java's `KafkaProducer` constructor raises for a ConfigException of its own."""
    error = KafkaError("Failed to construct kafka producer")
    error.__cause__ = ConfigError(cause)
    return error


def delivery_timeout_ms(config: ProducerConfig) -> int:
    """Return delivery.timeout.ms; below linger.ms + request.timeout.ms a default is raised, a setting refused."""
    least = min(config.linger_ms + config.request_timeout_ms, INT_MAX)
    if config.delivery_timeout_ms >= least:
        return config.delivery_timeout_ms
    if "delivery_timeout_ms" in config.explicit:
        raise construction_error("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")
    return least


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """`auto_offset_reset` is "earliest", "latest" or "none" (an error); Kafka's default for it is latest.

    Without a group.id nothing is committed automatically, and it is an error to ask for it.
    """

    group_id: str | None = None
    isolation_level: str = "read_uncommitted"
    group_instance_id: str | None = None
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = _Default(True)  # type: ignore[assignment]
    auto_commit_interval_ms: int = 5_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    partition_assignment_strategy: tuple[str, ...] = ("range",)
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    default_api_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        one_of("isolation_level", self.isolation_level, ("read_committed", "read_uncommitted"))
        one_of("auto_offset_reset", self.auto_offset_reset, ("earliest", "latest", "none"))
        for name, least in CONSUMER_NUMBERS.items():
            number(name, getattr(self, name), "INT", least)
        if self.group_instance_id is not None and text("group_instance_id", self.group_instance_id) == "":
            raise wrong("group_instance_id", "", "String must be non-empty")
        asked = not isinstance(self.enable_auto_commit, _Default)
        automatic = truth("enable_auto_commit", self.enable_auto_commit) if asked else self.group_id is not None
        if automatic and self.group_id is None:
            raise ConfigError("enable.auto.commit cannot be set to true when default group id (null) is used.")
        object.__setattr__(self, "enable_auto_commit", automatic)
        names = self.partition_assignment_strategy
        strategy = (names,) if isinstance(names, str) else tuple(names)
        for name in strategy:
            one_of("partition_assignment_strategy", name, ("range", "roundrobin"))
        object.__setattr__(self, "partition_assignment_strategy", strategy)
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("Heartbeat must be set lower than the session timeout")
