"""A client node: what a program gets to work with, and the port that its producers and consumers use."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from kafkalab.broker.controller import Controller
from kafkalab.broker.state import BrokerConfig
from kafkalab.client.admin.admin import Admin, AdminConfig
from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.config.config_def import configure
from kafkalab.client.config.legacy import producer_config
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.producer.producer import Producer
from kafkalab.client.promise import Promise
from kafkalab.limits import quote
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.messages.txn_offset_commit import BY_TOPIC_ID
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.rules import ABORTED_FILTER, KEEP_EPOCH_EXPECTED
from kafkalab.sim.frame_headers import CLIENT_VERSIONS
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.sim.network import Network

LONGEST_CHAPTER = 40
TWO_PHASE_VERSION = 6
"""The version of InitProducerId that says `enable_2pc`; Kafka 4.3 calls it unstable."""


class Level(Protocol):
    """The holder of the brokers' settings and the finalized level of `transaction.version`: any broker's state."""

    config: BrokerConfig

    @property
    def transaction_version(self) -> int: ...


class SimPort:
    """The network and the clock as one client sees them. `cause` is the event that its present work goes back to."""

    def __init__(
        self, kernel: Kernel, network: Network, rules: Rules, brokers: tuple[str, ...], node: str, level: Level
    ) -> None:
        self.kernel = kernel
        self.network = network
        self.node = node
        self.bootstrap = brokers
        self.profile = rules.profile
        self.client_protocol, self.level = rules.client_protocol, level
        self.coordinator_bumps_epoch = rules.on(KEEP_EPOCH_EXPECTED)
        self.commits_by_topic_id = BY_TOPIC_ID in BY_NAME["TxnOffsetCommit"].known_to(rules.kafka)
        self.two_phase_commit = level.config.unstable_api_versions_enable
        self.filters_aborted = rules.on(ABORTED_FILTER)
        self.cause = -1

    @property
    def now(self) -> int:
        return self.kernel.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("only the simulator moves the clock")

    @property
    def transaction_version(self) -> int:
        return min(self.client_protocol, self.level.transaction_version)

    @property
    def timed_out(self) -> bool:
        return self.network.timing_out

    def request(
        self,
        to: str,
        body: Any,
        answered: Callable[[Any], None],
        version: int | None = None,
        timeout_ms: int = 0,
        transaction_version: int | None = None,
    ) -> None:
        if version is None and self.client_protocol == 2 and self._is_transactional(body):
            spoken = self.transaction_version if transaction_version is None else transaction_version
            version = CLIENT_VERSIONS[1].get(type(body).__name__) if spoken < 2 else None

        if getattr(body, "enable_2pc", False):
            version = TWO_PHASE_VERSION

        def with_cause(response: Any, step: int) -> None:
            self.cause = step
            answered(response)

        self.network.request(self.node, to, body, with_cause, self.cause, False, version, timeout_ms)

    def _is_transactional(self, body: Any) -> bool:
        """Return whether the request's version depends on transaction.version; at level 0 every Produce's does."""
        return getattr(body, "transactional_id", None) is not None or self.level.transaction_version == 0

    def timer(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._timer(delay_ms, action, False)

    def deadline(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._timer(delay_ms, action, True)

    def _timer(self, delay_ms: int, action: Callable[[], None], background: bool) -> None:
        cause = self.cause

        def due() -> None:
            self.cause = cause
            action()

        self.kernel.timer(self.node, delay_ms, due, background)

    def record(self, kind: str, name: str, data: Any) -> int:
        return self.kernel.record(self.node, kind, name, self.cause, data)

    def promise(self) -> Promise[Any]:
        return self.kernel.promise()

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Promise[Any]:
        return self.kernel.drive(self.node, coroutine)


class App:
    """The environment of a client program: its clients, its clock. One process; a crash takes all of it."""

    def __init__(self, port: SimPort, controller: Controller) -> None:
        self.port = port
        self.name = port.node
        self._controller = controller

    @property
    def now(self) -> int:
        """Milliseconds of virtual time since the run began."""
        return self.port.now

    def producer(self, **config: Any) -> Producer:
        """A producer; the settings are those of `ProducerConfig`, for example transactional_id="payments-0".

        Under the profile of an old Kafka ("0.11", "1.0") its defaults and checks are those of that version.
        """
        return Producer(self.port, producer_config(self.port.profile, **config))

    def consumer(self, **config: Any) -> Consumer:
        """A consumer; the settings are those of `ConsumerConfig`, for example isolation_level="read_committed"."""
        node = self.port.kernel.nodes[self.name]
        node.consumers += 1
        consumer = Consumer(self.port, configure(ConsumerConfig, config))
        consumer.name = f"{self.name}/consumer-{node.consumers}"
        return consumer

    def ask(self, to: str, body: Any, version: int | None = None, timeout_ms: int = 0) -> Promise[Any]:
        """Send one request to broker `to`, in `version` if given; return the promise of its response (None if lost).

        It is given up after `timeout_ms`, or 30 s where 0 is given; below 0 never.
        """
        promise = self.port.promise()
        if not to:
            promise.resolve(None)
            return promise
        self.port.request(to, body, promise.resolve, version, timeout_ms)
        return promise

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers' names."""
        return self.port.bootstrap

    def leader(self, partition: str) -> str:
        """Return the partition's leader as the controller knows it; "" if it has none."""
        return self._controller.metadata.leader(partition)

    def admin(self, **config: Any) -> Admin:
        """An admin client; the settings are those of `AdminConfig`."""
        return Admin(self.port, AdminConfig(**config))

    def chapter(self, name: str) -> None:
        """Begin a chapter of the run, called `name`, where calls, requests and faults do not show that one begins.

        ValueError for a name that is empty or longer than 40 characters.
        """
        if not 0 < len(name) <= LONGEST_CHAPTER:
            raise ValueError(f"a chapter's name has 1 to {LONGEST_CHAPTER} characters, not {quote(name)}")
        self.port.record("state", "chapter", {"name": name})

    def sleep(self, delay_ms: int) -> Promise[None]:
        """Return a promise that is done after `delay_ms` of virtual time."""
        promise = self.port.promise()
        self.port.timer(delay_ms, lambda: promise.resolve(None))
        return promise
