"""Calls that wait, at most max.block.ms, and may have to be called again (`TransactionManager.handleCached...`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from kafkalab.client.exceptions import IllegalStateError, KafkaError, KafkaTimeoutError
from kafkalab.client.promise import Promise

if TYPE_CHECKING:
    from kafkalab.client.producer import Producer


class BlockingCalls:
    """At most one call that timed out and goes on; until it was called again no other is allowed."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._pending: tuple[str, Promise[Any]] | None = None

    def check_none_pending(self, name: str) -> None:
        """IllegalStateError if a call timed out that was not called again."""
        if self._pending is not None:
            raise IllegalStateError(
                f"Cannot attempt operation `{name}` because the previous call to `{self._pending[0]}` "
                "timed out and must be retried"
            )

    async def run(self, name: str, step: Callable[[], Coroutine[Any, Any, Any]], again: bool = True) -> None:
        """Wait for a step; one that timed out goes on, and the same call waits for its result if `again`."""
        producer = self.producer
        if self._pending is not None and (self._pending[0] != name or not again):
            self.check_none_pending(name)
        if self._pending is not None:
            promise = self._pending[1]
        else:
            producer.record("invoke", name)
            promise = producer.port.spawn(step())
            if again:
                self._pending = (name, promise)
        if not await producer.connection.done_within(promise, producer.config.max_block_ms):
            producer.record("complete", name, {"outcome": "info", "error": "TimeoutException"})
            raise KafkaTimeoutError(f"{name}() took longer than max.block.ms ({producer.config.max_block_ms} ms)")
        self._pending = None
        try:
            promise.result()
        except KafkaError as error:
            producer.record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        producer.record("complete", name, {"outcome": "ok", "error": "NONE"})
