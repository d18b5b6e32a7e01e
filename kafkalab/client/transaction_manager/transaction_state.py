"""A producer's state, identity and error; it does what the transition table beside it says."""

from __future__ import annotations

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
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.failures import raised_again
from kafkalab.client.transaction_manager.transition_table import (
    ERRORS,
    SOURCES,
    Call,
    Cell,
    Happening,
    ProducerState,
    Verdict,
    decide,
    follow,
)
from kafkalab.protocol.errors import Error

S, V = ProducerState, Verdict
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


def invalid_transition(source: ProducerState, target: ProducerState, transactional_id: str | None) -> IllegalStateError:
    """Kafka's exception for a move that the table has not."""
    whose = "" if transactional_id is None else f"TransactionalId {transactional_id}: "
    return IllegalStateError(f"{whose}Invalid transition attempted from state {source.name} to state {target.name}")


def check_transition(source: ProducerState, target: ProducerState, transactional_id: str | None = None) -> None:
    """IllegalStateError with Kafka's message unless the move is in the table."""
    if source not in SOURCES[target]:
        raise invalid_transition(source, target, transactional_id)


class TransactionState:
    """What a producer believes. `started`: the broker may know of the present transaction; `bump_needed`: an abort
    must be followed by InitProducerId (transaction versions 0 and 1).
    """

    def __init__(self, port: ClientPort, config: ProducerConfig) -> None:
        self.port = port
        self.config = config
        self.transactional = config.transactional_id is not None
        self.state = ProducerState.UNINITIALIZED
        self.producer_id, self.producer_epoch = -1, -1
        self.error: KafkaError | None = None
        self.started = self.bump_needed = self.closed = False

    def wake_sender(self) -> None:
        """The sender looks at the new state soon."""

    # what is so

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch."""
        return self.producer_id, self.producer_epoch

    @property
    def fatal(self) -> bool:
        return self.state is ProducerState.FATAL_ERROR

    @property
    def failed(self) -> bool:
        """Whether an error waits to be dealt with by the application."""
        return self.state in ERRORS

    @property
    def bumps_itself(self) -> bool:
        """Whether a new epoch takes an InitProducerId of this client: under TV2 EndTxn brings it."""
        return self.port.coordinator_bumps_epoch and self.port.transaction_version < 2

    # calls

    def obey(self, call: Call, waiting: Call | None = None, partition: str = "") -> Cell:
        """Do what the table says to a call: move, or raise and change nothing (the caller's path, CL-37)."""
        cell = decide(call, self.state, waiting)
        if cell.verdict is V.MOVE:
            assert cell.target is not None
            self._enter(cell.target)
        elif cell.verdict not in (V.STAY, V.CACHED):
            raise self._refusal(call, cell, waiting, partition)
        return cell

    def _refusal(self, call: Call, cell: Cell, waiting: Call | None, partition: str) -> KafkaError:
        if cell.verdict is V.STORED:
            assert self.error is not None
            return raised_again(self.error, self.config.transactional_id, self.identity)
        if cell.verdict is V.RETRY_FIRST:
            assert waiting is not None
            return IllegalStateError(
                f"Cannot attempt operation `{call.value}` because the previous call to `{waiting.value}` "
                "timed out and must be retried"
            )
        if cell.verdict is V.PREPARED:
            return IllegalStateError(IN_PREPARED)
        if cell.verdict is V.NOT_PREPARED:
            return InvalidTxnStateError(NOT_PREPARED)
        if cell.verdict is V.INVALID:
            assert cell.target is not None
            return invalid_transition(self.state, cell.target, self.config.transactional_id)
        if call is Call.SEND_OFFSETS:
            said = f"Cannot send offsets if a transaction is not in progress (currentState= {self.state.name})"
        elif self.producer_id == -1:
            said = f"Cannot add partition {partition} to transaction before completing a call to initTransactions"
        else:
            said = f"Cannot add partition {partition} to transaction while in state  {self.state.name}"
        return IllegalStateError(said)

    # events

    def happen(self, event: Happening, error: KafkaError | None = None) -> None:
        """Do what the table says to an event (the sender's path): an invalid one leaves FATAL_ERROR behind."""
        cell = follow(event, self.state)
        if cell.verdict is V.IGNORED:
            return
        assert cell.target is not None
        if cell.verdict is V.MOVE:
            self._enter(cell.target, error)
        else:
            poison = invalid_transition(self.state, cell.target, self.config.transactional_id)
            poison.__cause__ = error
            self._enter(ProducerState.FATAL_ERROR, poison)
        if self.failed:
            self.wake_sender()

    def _enter(self, target: ProducerState, error: KafkaError | None = None) -> None:
        self.state = target
        self.error = error if target in ERRORS else None
        self.note()

    def meet(self, error: KafkaError) -> None:
        """A batch or a call of `send` failed: the transaction must be aborted, or the producer closed."""
        what = reaction("Produce", error.error) if error.error is not Error.NONE else Reaction.ABORTABLE
        if isinstance(error, ProducerFencedError):
            what = Reaction.FATAL
        if what is Reaction.FATAL:
            self.fail(error, what)
        elif self.transactional:
            if self.bumps_itself and self.state not in COMPLETING:
                self.bump_needed = True
            if isinstance(error, RetriableError | InvalidTxnStateError) and not self.config.legacy:  # KAFKA-19176
                cause = error
                error = TransactionAbortableError(EXHAUSTED, cause.error)
                error.__cause__ = cause
            self.fail(error, Reaction.ABORTABLE)

    def fail(self, exception: KafkaError, what: Reaction) -> None:
        """An error of the sender, of this class: RECOVERABLE is abortable if the epoch can be raised, else fatal."""
        if what is Reaction.RECOVERABLE:
            recoverable = self.port.coordinator_bumps_epoch or self.port.transaction_version >= 2
            self.bump_needed = self.bump_needed or self.bumps_itself
            what = Reaction.ABORTABLE if recoverable else Reaction.FATAL
        self.happen(Happening.ABORTABLE if what is Reaction.ABORTABLE else Happening.FATAL, exception)

    # the trace

    def note(self) -> None:
        """Record what this producer believes now."""
        data = {
            "transactional_id": self.config.transactional_id,
            "state": self.state.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }
        self.record("state", "producer", data)

    def record(self, kind: str, name: str, data: dict[str, Any] | None = None) -> None:
        """One event of this producer."""
        self.port.record(kind, name, data or {"transactional_id": self.config.transactional_id})
