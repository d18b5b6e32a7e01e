"""A producer with the names of confluent-kafka: lab 6 repairs a program that is written with them.

It wraps the simulated producer, and treats as fatal what librdkafka treats as fatal. Its calls are awaited, and its
first argument is the app.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from typing import Any

from kafkalab.client import exceptions
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata, Offsets
from kafkalab.protocol.errors import Error
from kafkalab.sim.app import App

FATAL = (exceptions.ProducerFencedError, exceptions.InvalidProducerEpochError)
"""Both are `_FENCED` to librdkafka, and end the producer; Java may abort after the second."""
SETTINGS = {"transactional.id": "transactional_id", "linger.ms": "linger_ms"}
LIMITS = {
    "transaction.timeout.ms": "transaction_timeout_ms",
    "socket.timeout.ms": "request_timeout_ms",
    "message.timeout.ms": "delivery_timeout_ms",
}
"""The settings of librdkafka that the wrapper takes, with their names here."""
CALL_MS = 2_000
"""The time after which a call gives up: the argument `timeout` of the real client's calls."""


class KafkaError:
    """An error with the questions that confluent-kafka's KafkaError answers."""

    _FENCED, _STATE, _TIMED_OUT, _FAIL = -144, -172, -185, -196

    def __init__(
        self, code: int, text: builtins.str, fatal: bool = False, retriable: bool = False, abort: bool = False
    ) -> None:
        self._code, self._text = code, text
        self._fatal, self._retriable, self._abort = fatal, retriable, abort

    def code(self) -> int:
        """Return the error's number."""
        return self._code

    def str(self) -> builtins.str:
        """Return the error's text."""
        return self._text

    def fatal(self) -> bool:
        """Return True if this producer is of no use any more."""
        return self._fatal

    def retriable(self) -> bool:
        """Return True if the same call may be made again."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Return True if the transaction has to be aborted."""
        return self._abort

    def __repr__(self) -> builtins.str:
        return f'KafkaError{{code={self._code},str="{self._text}"}}'


class KafkaException(Exception):
    """The exception of every call; `args[0]` is its KafkaError."""


class Producer:
    """A transactional producer: `Producer(app, {"transactional.id": "billing-0"})`."""

    def __init__(self, app: App, config: dict[str, Any]) -> None:
        names = SETTINGS | LIMITS
        unknown = [name for name in config if name not in names]
        if unknown:
            raise ValueError(f"this producer has no setting {unknown[0]!r}; it has {', '.join(names)}")
        given = {names[name]: value for name, value in config.items()}
        self._producer = app.producer(max_block_ms=CALL_MS, **given)
        self._sent: list[Promise[Any]] = []
        self._fatal: KafkaError | None = None

    async def init_transactions(self) -> None:
        """Claim the name."""
        await self._call(self._producer.init_transactions)

    def begin_transaction(self) -> None:
        """Begin a transaction; nothing is sent."""
        if self._fatal:
            raise KafkaException(self._fatal)
        try:
            self._producer.begin_transaction()
        except exceptions.KafkaError as error:
            raise KafkaException(self._explain(error)) from error
        self._sent = []

    async def produce(self, topic: str, value: str, partition: int = 0, headers: Any = ()) -> None:
        """Put a record into the producer's queue. The next call of the transaction tells whether it failed."""

        async def send() -> None:
            self._sent.append(await self._producer.send(topic, value, partition=partition, headers=headers))

        await self._call(send)

    async def flush(self) -> None:
        """Wait until each record is acknowledged or has failed."""

        async def wait() -> None:
            await self._producer.flush()
            for sent in self._sent:
                await sent

        await self._call(wait)

    async def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata) -> None:
        """Add the offsets to the transaction."""
        await self._call(lambda: self._producer.send_offsets_to_transaction(offsets, group))

    async def commit_transaction(self) -> None:
        """Flush and commit. After a retriable error make the same call again."""
        if self._producer.state.name == "IN_TRANSACTION":
            await self.flush()
        await self._call(self._producer.commit_transaction)

    async def abort_transaction(self) -> None:
        """Abort the transaction."""
        await self._call(self._producer.abort_transaction)

    async def _call(self, call: Callable[[], Awaitable[None]]) -> None:
        if self._fatal:
            raise KafkaException(self._fatal)
        try:
            await call()
        except exceptions.KafkaError as error:
            raise KafkaException(self._explain(error)) from error

    def _explain(self, error: exceptions.KafkaError) -> KafkaError:
        """Return what librdkafka says to this error."""
        text, state = str(error), self._producer.state.name
        if isinstance(error, FATAL) or state == "FATAL_ERROR":
            code = KafkaError._FENCED if isinstance(error, FATAL) else _code_of(error)
            self._fatal = self._fatal or KafkaError(code, text, fatal=True)
            return self._fatal
        if state == "ABORTABLE_ERROR":
            return KafkaError(_code_of(error), text, abort=True)
        if isinstance(error, exceptions.IllegalStateError):
            return KafkaError(KafkaError._STATE, text)
        return KafkaError(_code_of(error), text, retriable=isinstance(error, exceptions.RetriableError))


def _code_of(error: exceptions.KafkaError) -> int:
    if isinstance(error, exceptions.KafkaTimeoutError):
        return KafkaError._TIMED_OUT
    return KafkaError._FAIL if error.error is Error.NONE else error.error.code
