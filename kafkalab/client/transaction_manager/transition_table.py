"""What a producer's transaction manager answers to every call and event in every state: total tables (facts 7.1, 7.2).

A call comes from the application, an event from the sender. The producer asks `decide` and `follow` and does what the
cell says; no other place knows which move is legal. Source: `TransactionManager` and `KafkaProducer` of Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ProducerState(Enum):
    """As in Java's `TransactionManager.State`."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    PREPARED_TRANSACTION = "PREPARED_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


class Call(Enum):
    """A public method, with Java's name for it, which its messages use."""

    INIT = "initTransactions"
    BEGIN = "beginTransaction"
    SEND = "send"
    SEND_OFFSETS = "sendOffsetsToTransaction"
    PREPARE = "prepareTransaction"
    COMMIT = "commitTransaction"
    ABORT = "abortTransaction"
    COMPLETE = "completeTransaction"
    CLOSE = "close"


class Happening(Enum):
    """What the sender meets."""

    INITIALIZED = "InitProducerId was answered"
    INIT_REFUSED = "InitProducerId was refused and may be asked again"
    ENDED = "the transaction is over"
    EPOCH_NEEDED = "the transaction is over and a new epoch is needed"
    ABORTABLE = "an error that an abort cures"
    FATAL = "an error that nothing cures"


class Verdict(Enum):
    """What a cell says. Of the refusals none changes anything; POISON comes from the sender and ends the producer."""

    MOVE = "go to the target"
    STAY = "accepted, in the same state"
    INVALID = "IllegalState: invalid transition"
    NOT_READY = "IllegalState: no transaction to send to"
    PREPARED = "IllegalState: prepared, only an end is allowed"
    NOT_PREPARED = "InvalidTxnState: nothing is prepared"
    STORED = "the stored error is raised again"
    CACHED = "the result of the same call that is under way"
    RETRY_FIRST = "IllegalState: the call that timed out comes first"
    IGNORED = "nothing happens"
    POISON = "FATAL_ERROR with an IllegalState (KAFKA-14831)"


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer; `target` is the state to go to, or the one that an invalid transition was to reach."""

    verdict: Verdict
    target: ProducerState | None = None


S, V = ProducerState, Verdict
_STATES = tuple(S)

SOURCES: dict[ProducerState, tuple[ProducerState, ...]] = {
    S.UNINITIALIZED: (S.READY, S.ABORTABLE_ERROR),
    S.INITIALIZING: (S.UNINITIALIZED, S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    S.READY: (S.INITIALIZING, S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    S.IN_TRANSACTION: (S.READY,),
    S.PREPARED_TRANSACTION: (S.IN_TRANSACTION, S.INITIALIZING),
    S.COMMITTING_TRANSACTION: (S.IN_TRANSACTION, S.PREPARED_TRANSACTION),
    S.ABORTING_TRANSACTION: (S.IN_TRANSACTION, S.PREPARED_TRANSACTION, S.ABORTABLE_ERROR),
    S.ABORTABLE_ERROR: (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION, S.ABORTABLE_ERROR, S.INITIALIZING),
    S.FATAL_ERROR: tuple(S),
}
"""Target state to the states that it may be reached from (facts 7.1)."""

_TARGETS: dict[Call, ProducerState] = {
    Call.INIT: S.INITIALIZING,
    Call.BEGIN: S.IN_TRANSACTION,
    Call.PREPARE: S.PREPARED_TRANSACTION,
    Call.COMMIT: S.COMMITTING_TRANSACTION,
    Call.ABORT: S.ABORTING_TRANSACTION,
}
_EVENTS: dict[Happening, ProducerState] = {
    Happening.INITIALIZED: S.READY,
    Happening.INIT_REFUSED: S.UNINITIALIZED,
    Happening.ENDED: S.READY,
    Happening.EPOCH_NEEDED: S.INITIALIZING,
    Happening.ABORTABLE: S.ABORTABLE_ERROR,
    Happening.FATAL: S.FATAL_ERROR,
}
_FROM: dict[Happening, tuple[ProducerState, ...]] = {
    Happening.INITIALIZED: (S.INITIALIZING,),
    Happening.INIT_REFUSED: (S.ABORTABLE_ERROR,),
    Happening.ENDED: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    Happening.EPOCH_NEEDED: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
}
ERRORS = (S.ABORTABLE_ERROR, S.FATAL_ERROR)
REPEATED = (Call.INIT, Call.COMMIT, Call.ABORT)
"""The calls whose result is kept after a time-out: calling the same again waits for it."""


def _call_cell(call: Call, state: ProducerState) -> Cell:
    """The cell where no earlier call is open."""
    if call is Call.CLOSE:
        ends = state in (S.IN_TRANSACTION, S.ABORTABLE_ERROR)
        return Cell(V.MOVE, S.ABORTING_TRANSACTION) if ends else Cell(V.STAY)
    if call is Call.COMPLETE:
        return Cell(V.STAY) if state is S.PREPARED_TRANSACTION else Cell(V.NOT_PREPARED)
    if state is S.PREPARED_TRANSACTION and call in (Call.BEGIN, Call.SEND, Call.SEND_OFFSETS, Call.PREPARE):
        return Cell(V.PREPARED)
    if state in ERRORS and not (call is Call.ABORT and state is S.ABORTABLE_ERROR):
        return Cell(V.STORED)
    if call in (Call.SEND, Call.SEND_OFFSETS):
        return Cell(V.STAY if state is S.IN_TRANSACTION else V.NOT_READY)
    target = _TARGETS[call]
    legal = state in SOURCES[target] and not (call is Call.INIT and state is not S.UNINITIALIZED)
    legal = legal and not (call is Call.PREPARE and state is not S.IN_TRANSACTION)
    return Cell(V.MOVE if legal else V.INVALID, target)


def _open_cell(call: Call, state: ProducerState, waiting: Call) -> Cell:
    """The cell where `waiting` has timed out, or is still under way, and its result was not fetched."""
    free = _call_cell(call, state)
    if call in (Call.CLOSE, Call.COMPLETE) or free.verdict is V.PREPARED:
        return free
    if call in (Call.INIT, Call.SEND) and free.verdict is V.STORED:
        return free  # these two look at errors first
    return Cell(V.CACHED if call is waiting else V.RETRY_FIRST)


def _event_cell(event: Happening, state: ProducerState) -> Cell:
    """Events come from the sender: a move that the table has not is fatal, since nothing is certain any more."""
    target = _EVENTS[event]
    if event is Happening.ABORTABLE and state is S.ABORTING_TRANSACTION:
        return Cell(V.IGNORED)
    legal = state in _FROM.get(event, SOURCES[target])
    return Cell(V.MOVE, target) if legal else Cell(V.POISON, target)


TABLE: dict[Call | None, dict[Call, dict[ProducerState, Cell]]] = {
    waiting: {
        call: {s: _call_cell(call, s) if waiting is None else _open_cell(call, s, waiting) for s in _STATES}
        for call in Call
    }
    for waiting in (None, *REPEATED)
}
"""`TABLE[open call or None][call][state]`: what the call gets."""

EVENTS: dict[Happening, dict[ProducerState, Cell]] = {e: {s: _event_cell(e, s) for s in _STATES} for e in Happening}
"""`EVENTS[event][state]`: what the event does."""


def decide(call: Call, state: ProducerState, waiting: Call | None = None) -> Cell:
    """`decide(Call.BEGIN, ProducerState.READY) == Cell(Verdict.MOVE, ProducerState.IN_TRANSACTION)`."""
    return TABLE[waiting][call][state]


def follow(event: Happening, state: ProducerState) -> Cell:
    """`follow(Happening.FATAL, ProducerState.READY) == Cell(Verdict.MOVE, ProducerState.FATAL_ERROR)`."""
    return EVENTS[event][state]
