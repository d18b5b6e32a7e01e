"""A producer's identity, state and transaction; every move is looked up in the transition table beside it.

Kafka: `TransactionManager`. The producer owns one; its sender and its calls read it, and change it by its methods only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.connection import ClientPort
from kafkalab.client.exceptions import (
    IllegalStateError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    RetriableError,
    TransactionAbortableError,
)
from kafkalab.client.transaction_manager.coordinator_errors import stored_error
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.sequences import Sequences
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transition_tables.producer import (
    ERRORS,
    Action,
    Call,
    Cell,
    ProducerState,
    SenderEvent,
    decide,
    follow,
)

S, A = ProducerState, Action
EPOCH_MAX = 32767
IN_PREPARED = (
    "Cannot perform operation while the transaction is in a prepared state. "
    "Only commitTransaction(), abortTransaction(), or completeTransaction() are permitted."
)
NOT_PREPARED = (
    "Cannot complete transaction: no transaction has been prepared. "
    "Call prepareTransaction() first, or make sure initTransaction(true) was called."
)
EXHAUSTED = "Transaction Request was aborted after exhausting retries."
COMPLETING = (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION)


class TransactionManager:
    """The state of one producer, transactional or idempotent only.

    `started`: the coordinator may know of the present transaction. `bump_needed`: InitProducerId must follow its end
    (transaction versions 0 and 1). `transaction_version` stays until the transaction ends (KIP-890).

    `partitions` belong to the transaction, `new_partitions` are to be added to it, and `pending_partitions` are named
    in a request without a final answer. `closed`: the producer was closed; no request is sent any more.
    """

    def __init__(self, port: ClientPort, config: ProducerConfig, wake_sender: Callable[[], None]) -> None:
        self.port, self.config, self.wake_sender = port, config, wake_sender
        self.transactional = config.transactional_id is not None
        self.state = ProducerState.UNINITIALIZED
        self.producer_id, self.producer_epoch = -1, -1
        self.error: KafkaError | None = None
        self.started = self.bump_needed = self.closed = False
        self.transaction_version = self.ending_version = min(port.transaction_version, 1)
        self.partitions: dict[str, None] = {}
        self.new_partitions: list[str] = []
        self.pending_partitions: dict[str, None] = {}
        self.sequences = Sequences()

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch."""
        return self.producer_id, self.producer_epoch

    @property
    def fatal(self) -> bool:
        return self.state is ProducerState.FATAL_ERROR

    @property
    def failed(self) -> bool:
        """True if the application must deal with an error."""
        return self.state in ERRORS

    @property
    def brokers_add_partitions(self) -> bool:
        """True if the client sends neither AddPartitionsToTxn nor AddOffsetsToTxn (KIP-890 part 2)."""
        return self.transaction_version >= 2

    @property
    def bumps_by_request(self) -> bool:
        """True if a new epoch takes an InitProducerId of this client; with transaction version 2 EndTxn returns it."""
        return self.port.coordinator_bumps_epoch and self.transaction_version < 2

    # the application's calls and the sender's events

    def apply_call(self, call: Call, waiting: Call | None = None, partition: str = "") -> Cell:
        """Move as the table says for `call`, or raise and change nothing; `waiting` is a call that timed out."""
        cell = decide(call, self.state, waiting)
        if call is Call.SEND and cell.action is A.STAY and self.producer_id == -1:
            raise self._no_transaction(call, partition)
        if cell.action is A.MOVE:
            assert cell.target is not None
            self._enter(cell.target)
            if cell.target in COMPLETING:
                self._begin_completing()
        elif cell.action not in (A.STAY, A.CACHED):
            raise self._refusal(call, cell, waiting, partition)
        return cell

    def _refusal(self, call: Call, cell: Cell, waiting: Call | None, partition: str) -> KafkaError:
        if cell.action is A.STORED:
            assert self.error is not None
            return stored_error(self.error, self.config.transactional_id, self.identity)
        if cell.action is A.RETRY_FIRST:
            assert waiting is not None
            return IllegalStateError(
                f"Cannot attempt operation `{call.value}` because the previous call to `{waiting.value}` "
                "timed out and must be retried"
            )
        if cell.action is A.PREPARED:
            return IllegalStateError(IN_PREPARED)
        if cell.action is A.NOT_PREPARED:
            return InvalidTxnStateError(NOT_PREPARED)
        if cell.action is A.INVALID:
            return self._invalid_transition(cell)
        return self._no_transaction(call, partition)

    def _no_transaction(self, call: Call, partition: str) -> IllegalStateError:
        if call is Call.SEND_OFFSETS:
            text = f"Cannot send offsets if a transaction is not in progress (currentState= {self.state.name})"
        elif self.producer_id == -1:
            text = f"Cannot add partition {partition} to transaction before completing a call to initTransactions"
        else:
            text = f"Cannot add partition {partition} to transaction while in state  {self.state.name}"
        return IllegalStateError(text)

    def _invalid_transition(self, cell: Cell) -> IllegalStateError:
        assert cell.target is not None
        whose = "" if self.config.transactional_id is None else f"TransactionalId {self.config.transactional_id}: "
        move = f"from state {self.state.name} to state {cell.target.name}"
        return IllegalStateError(f"{whose}Invalid transition attempted {move}")

    def apply_event(self, event: SenderEvent, error: KafkaError | None = None) -> None:
        """Move as the table says for an event of the sender; an invalid one ends in FATAL_ERROR (KAFKA-14831)."""
        cell = follow(event, self.state)
        if cell.action is A.IGNORED:
            return
        assert cell.target is not None
        if cell.action is A.MOVE:
            self._enter(cell.target, error)
        else:
            poison = self._invalid_transition(cell)
            poison.__cause__ = error
            self._enter(ProducerState.FATAL_ERROR, poison)
        if self.failed:
            self.wake_sender()

    def _enter(self, target: ProducerState, error: KafkaError | None = None) -> None:
        self.state = target
        self.error = error if target in ERRORS else None
        self._record_state()

    def fail(self, exception: KafkaError, what: Reaction) -> None:
        """Enter an error state; RECOVERABLE is abortable if the epoch can be raised, else fatal."""
        if what is Reaction.RECOVERABLE:
            recoverable = self.port.coordinator_bumps_epoch or self.transaction_version >= 2
            self.bump_needed = self.bump_needed or self.bumps_by_request
            what = Reaction.ABORTABLE if recoverable else Reaction.FATAL
        self.apply_event(SenderEvent.ABORTABLE if what is Reaction.ABORTABLE else SenderEvent.FATAL, exception)

    def fail_send(self, error: KafkaError) -> None:
        """Enter the error state for a `send` that failed with `error`; IllegalStateError if there is no way to it."""
        cell = follow(SenderEvent.ABORTABLE, self.state)
        if self.transactional and cell.action is A.POISON and _severity(error) is not Reaction.FATAL:
            raise self._invalid_transition(cell)
        self.fail_batch(error)

    def fail_batch(self, error: KafkaError) -> None:
        """Enter the error state that a batch which failed with `error` leads to, if any."""
        what = _severity(error)
        if what is Reaction.FATAL:
            self.fail(error, what)
        elif self.transactional:
            if self.bumps_by_request and self.state not in COMPLETING:
                self.bump_needed = True
            if isinstance(error, RetriableError | InvalidTxnStateError) and not self.config.legacy:  # KAFKA-19176
                cause = error
                error = TransactionAbortableError(EXHAUSTED, cause.error)
                error.__cause__ = cause
            self.fail(error, Reaction.ABORTABLE)

    # the transaction

    def add_partition(self, partition: str) -> None:
        """Note that the transaction writes to `partition` (`maybeAddPartition`)."""
        if self.brokers_add_partitions:
            self.started = True
            self.partitions[partition] = None
        elif not any(partition in known for known in (self.partitions, self.new_partitions, self.pending_partitions)):
            self.new_partitions.append(partition)

    def may_send_to(self, partition: str) -> bool:
        """Return whether a batch for `partition` may go: its coordinator knows of it, or need not."""
        return not self.transactional or partition in self.partitions

    def take_new_partitions(self) -> tuple[str, ...]:
        """Return the partitions to add: the new ones, and those that an earlier request is still to add."""
        self.pending_partitions.update(dict.fromkeys(self.new_partitions))
        self.new_partitions = []
        return tuple(self.pending_partitions)

    def answered_partitions(self, partitions: tuple[str, ...]) -> None:
        """Note that a request that adds `partitions` has its final answer."""
        for partition in partitions:
            self.pending_partitions.pop(partition, None)

    def begin_at_coordinator(self, partitions: tuple[str, ...] = ()) -> None:
        """Note that the coordinator may know of the transaction, and has added `partitions` to it."""
        self.started = True
        self.partitions.update(dict.fromkeys(partitions))

    def finish_init(self) -> None:
        """Take the cluster's transaction version: `initTransactions` has succeeded."""
        self.transaction_version = self.port.transaction_version

    def _begin_completing(self) -> None:
        """Take the cluster's version for the next transaction; EndTxn has that of this one (`maybeUpdate...V2Enabled`).

        On the way to version 2 the next transaction needs an epoch of its own. An abort adds no further partitions.
        """
        if self.state is S.ABORTING_TRANSACTION:
            self.new_partitions.clear()
        self.ending_version, self.transaction_version = self.transaction_version, self.port.transaction_version
        if self.ending_version < 2 <= self.transaction_version:
            self.bump_needed = True

    def complete(self) -> bool:
        """Leave the transaction, which has ended; return whether InitProducerId must follow (`completeTransaction`)."""
        bump, self.bump_needed, self.started = self.bump_needed, False, False
        self.new_partitions.clear()
        self.pending_partitions.clear()
        self.partitions.clear()
        self.apply_event(SenderEvent.EPOCH_NEEDED if bump else SenderEvent.ENDED)
        return bump

    def close(self) -> None:
        """Stop every request that is not answered yet."""
        self.closed = True

    # the identity

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """Take the identity that a broker returned; sequences start at 0."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.sequences.reset()
        self._record_state()

    def reset_producer_id(self) -> None:
        """Drop the identity: the next one comes from a broker, and every partition begins at 0 (`resetProducerId`)."""
        self.producer_id = self.producer_epoch = -1
        self.sequences.reset()

    def bump_idempotent_epoch(self) -> bool:
        """Take the next epoch without a request, up to 32767, if a partition has a gap; return whether it did so.

        Above 32767 the identity is dropped and a broker gives another one (KIP-360).
        """
        if not self.sequences.to_restart or self.producer_id == -1:
            return False
        if self.producer_epoch >= EPOCH_MAX:
            self.producer_id = self.producer_epoch = -1
            self.apply_event(SenderEvent.ID_DROPPED)
            return False
        self.producer_epoch += 1
        self._record_state()
        return True

    # the trace

    def _record_state(self) -> None:
        data = {
            "transactional_id": self.config.transactional_id,
            "state": self.state.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }
        self.record("state", "producer", data)

    def record(self, kind: str, name: str, data: dict[str, Any] | None = None) -> None:
        """Record one event of this producer in the trace."""
        self.port.record(kind, name, data or {"transactional_id": self.config.transactional_id})


def _severity(error: KafkaError) -> Reaction:
    """Return what a failed batch means to its producer (`maybeTransitionToErrorState`)."""
    if isinstance(error, ProducerFencedError):
        return Reaction.FATAL
    return reaction("Produce", error.error) if error.error is not Error.NONE else Reaction.ABORTABLE
