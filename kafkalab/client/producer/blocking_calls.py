"""Calls that block, at most max.block.ms, and may have to be called again (`TransactionManager.handleCached...`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from kafkalab.client.connection import Connection
from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.transaction_manager import TransactionManager
from kafkalab.protocol.transition_tables.producer import REPEATED, Action, Call, Cell

METHODS: dict[Call, tuple[str, str]] = {
    Call.INIT: (
        "init_transactions",
        "InitTransactions timed out - did not complete coordinator discovery or receive the InitProducerId response "
        "within max.block.ms.",
    ),
    Call.SEND_OFFSETS: (
        "send_offsets_to_transaction",
        "SendOffsetsToTransaction timed out - did not reach the coordinator or receive the "
        "TxnOffsetCommit/AddOffsetsToTxn response within max.block.ms",
    ),
    Call.COMMIT: (
        "commit_transaction",
        "CommitTransaction timed out - did not complete EndTxn with the transaction coordinator within max.block.ms",
    ),
    Call.ABORT: (
        "abort_transaction",
        "AbortTransaction timed out - did not complete EndTxn(abort) with the transaction coordinator within "
        "max.block.ms",
    ),
}
"""The methods that block: their names here, and how Kafka's message of a timeout ends."""


class BlockingCalls:
    """Run calls; one that timed out goes on, and no other is allowed until it was called again."""

    def __init__(self, manager: TransactionManager, connection: Connection) -> None:
        self.manager, self.connection = manager, connection
        self._pending: tuple[Call, Promise[Any]] | None = None
        self._awaited = ""  # the request whose answer ends the pending call

    def apply(self, call: Call, partition: str = "") -> Cell:
        """Do what the table says for `call`, given the pending one."""
        return self.manager.apply_call(call, self._waiting(), partition)

    def _waiting(self) -> Call | None:
        return self._pending[0] if self._pending is not None else None

    def _result_of(self, call: Call) -> str:
        """Return the operation whose result the call awaits, by the name that Java gives it."""
        if call is Call.SEND_OFFSETS:
            return "TxnOffsetCommitHandler" if self.manager.brokers_add_partitions else "AddOffsetsToTxn"
        if call is Call.INIT or self.manager.bump_needed:
            return "InitProducerId"
        return f"EndTxn({str(call is Call.COMMIT).lower()})"

    async def finish(self) -> None:
        """Wait for the pending call's result."""
        if self._pending is not None:
            with suppress(KafkaError):  # it is the result of that call
                await self._pending[1]
            self._pending = None

    async def run(self, call: Call, step: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Run `step` for `call` and wait for it; if the same call is pending, wait for that one's result instead."""
        manager, (name, reason) = self.manager, METHODS[call]
        if self._waiting() is None:
            manager.record("invoke", name)
        try:
            cell = self.apply(call)
        except KafkaError as error:
            if self._waiting() is None:
                manager.record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        if cell.action is Action.CACHED:
            assert self._pending is not None
            promise = self._pending[1]
        else:
            promise = manager.port.spawn(step())
            if call in REPEATED:
                self._pending = (call, promise)
                self._awaited = self._result_of(call)
        awaited = self._awaited if call in REPEATED else self._result_of(call)
        limit = manager.config.max_block_ms
        if not await self.connection.done_within(promise, limit):
            manager.record("complete", name, {"outcome": "info", "error": "TimeoutException"})
            raise KafkaTimeoutError(f"Timeout expired after {limit}ms while awaiting {awaited}. {reason}")
        if call in REPEATED:
            self._pending = None
        try:
            promise.result()
        except KafkaError as error:
            manager.record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        manager.record("complete", name, {"outcome": "ok", "error": "NONE"})
