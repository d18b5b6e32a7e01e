"""Calls that wait, at most max.block.ms, and may have to be called again (`TransactionManager.handleCached...`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.transition_table import REPEATED, Call, Cell, Verdict

if TYPE_CHECKING:
    from kafkalab.client.producer.producer import Producer

METHODS: dict[Call, tuple[str, str]] = {
    Call.INIT: ("init_transactions", "InitProducerId"),
    Call.SEND_OFFSETS: ("send_offsets_to_transaction", "AddOffsetsToTxn"),
    Call.COMMIT: ("commit_transaction", "EndTxn(true)"),
    Call.ABORT: ("abort_transaction", "EndTxn(false)"),
}
"""The methods that wait: their names here, and what they wait for in Kafka's words."""


class BlockingCalls:
    """At most one call that timed out and goes on; until it was called again no other is allowed."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._pending: tuple[Call, Promise[Any]] | None = None

    def obey(self, call: Call, partition: str = "") -> Cell:
        """What the table says, given the call that is pending."""
        return self.producer.obey(call, self._waiting(), partition)

    def _waiting(self) -> Call | None:
        return self._pending[0] if self._pending is not None else None

    async def settled(self) -> None:
        """The call that goes on, if there is one, has its result."""
        if self._pending is not None:
            with suppress(KafkaError):  # it is the result of that call
                await self._pending[1]
            self._pending = None

    async def run(self, call: Call, step: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Wait for a step; one that timed out goes on, and the same call waits for its result if it is kept."""
        producer, (name, awaited) = self.producer, METHODS[call]
        if self._waiting() is None:
            producer.record("invoke", name)
        try:
            cell = self.obey(call)
        except KafkaError as error:
            if self._waiting() is None:
                producer.record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        if cell.verdict is Verdict.CACHED:
            assert self._pending is not None
            promise = self._pending[1]
        else:
            promise = producer.port.spawn(step())
            if call in REPEATED:
                self._pending = (call, promise)
        limit = producer.config.max_block_ms
        if not await producer.connection.done_within(promise, limit):
            producer.record("complete", name, {"outcome": "info", "error": "TimeoutException"})
            raise KafkaTimeoutError(f"Timeout expired after {limit}ms while awaiting {awaited}")
        if call in REPEATED:
            self._pending = None
        try:
            promise.result()
        except KafkaError as error:
            producer.record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        producer.record("complete", name, {"outcome": "ok", "error": "NONE"})
