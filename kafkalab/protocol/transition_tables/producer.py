"""The answer of a producer's transaction manager to each call and event in each state: total tables
(docs/protocol.md#producer-calls).

Theory of operation. The state says what the application may call next; the coordinator keeps a state of its own, and
the two meet only in requests. A *call* comes from the application: `TABLE` says whether it moves the state, waits, or
is refused, and a refusal changes nothing (the caller can call something else). An *event* comes from the sender, when a
request was answered or given up: `EVENTS` moves the state, and an event that the state does not allow means that the
producer no longer knows where its transaction is, so that it ends in FATAL_ERROR (POISON, KAFKA-14831).

The checks of a call, in Kafka's order:
1. PREPARED_TRANSACTION allows only the end of the transaction (KIP-939). The transaction may be waiting for a decision
   elsewhere, so nothing may join it.
2. A call that timed out (`REPEATED`) goes on in the background. Until the same call is made again, which returns its
   result (CACHED), no other call is allowed (RETRY_FIRST): the application would act without knowing the outcome. Only
   initTransactions and send look for a stored error first.
3. In an error state the error is raised again (STORED). An abort cures ABORTABLE_ERROR, nothing cures FATAL_ERROR.
4. Last the move itself must be one of `SOURCES`, else the call is INVALID (or NOT_READY, to add to a transaction).

`close` and `completeTransaction` are checked apart: the first is always taken, the second needs a prepared transaction.
What a call waits for is in client/producer/blocking_calls.py, which error leads to which event in error_reactions.py.
Source: `TransactionManager` and `KafkaProducer` of Kafka 4.4.
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
    """A public method, by its name in Java, which the messages use."""

    INIT = "initTransactions"
    BEGIN = "beginTransaction"
    SEND = "send"
    SEND_OFFSETS = "sendOffsetsToTransaction"
    PREPARE = "prepareTransaction"
    COMMIT = "commitTransaction"
    ABORT = "abortTransaction"
    COMPLETE = "completeTransaction"
    CLOSE = "close"


class SenderEvent(Enum):
    """An event of the sender."""

    ID_NEEDED = "without transactions, a producer id is needed"
    INITIALIZED = "InitProducerId was answered"
    INIT_REFUSED = "InitProducerId was refused and may be asked again"
    ID_DROPPED = "without transactions, the last epoch is used up"
    ENDED = "the transaction is over"
    EPOCH_NEEDED = "the transaction is over and a new epoch is needed"
    ABORTABLE = "an error that an abort cures"
    FATAL = "an error that nothing cures"


class Action(Enum):
    """The action in a cell. A refusal changes nothing; POISON is of events only, and ends the producer."""

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
    """One answer; `target` is the next state, or the one that an invalid transition names."""

    action: Action
    target: ProducerState | None = None


S, A = ProducerState, Action
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
"""Each state, with the states from which it may be reached (docs/protocol.md#producer-states; `isTransitionValid`)."""

_TARGETS: dict[Call, ProducerState] = {
    Call.INIT: S.INITIALIZING,
    Call.BEGIN: S.IN_TRANSACTION,
    Call.PREPARE: S.PREPARED_TRANSACTION,
    Call.COMMIT: S.COMMITTING_TRANSACTION,
    Call.ABORT: S.ABORTING_TRANSACTION,
}
_EVENTS: dict[SenderEvent, ProducerState] = {
    SenderEvent.ID_NEEDED: S.INITIALIZING,
    SenderEvent.INITIALIZED: S.READY,
    SenderEvent.INIT_REFUSED: S.UNINITIALIZED,
    SenderEvent.ID_DROPPED: S.UNINITIALIZED,
    SenderEvent.ENDED: S.READY,
    SenderEvent.EPOCH_NEEDED: S.INITIALIZING,
    SenderEvent.ABORTABLE: S.ABORTABLE_ERROR,
    SenderEvent.FATAL: S.FATAL_ERROR,
}
_FROM: dict[SenderEvent, tuple[ProducerState, ...]] = {
    SenderEvent.ID_NEEDED: (S.UNINITIALIZED,),
    SenderEvent.INITIALIZED: (S.INITIALIZING,),
    SenderEvent.INIT_REFUSED: (S.ABORTABLE_ERROR,),
    SenderEvent.ID_DROPPED: (S.READY,),
    SenderEvent.ENDED: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    SenderEvent.EPOCH_NEEDED: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
}
ERRORS = (S.ABORTABLE_ERROR, S.FATAL_ERROR)
REPEATED = (Call.INIT, Call.COMMIT, Call.ABORT)
"""The calls whose result is kept after a timeout: the same call again waits for it."""


def _call_cell(call: Call, state: ProducerState) -> Cell:
    """Return the cell of a call while no earlier one is open."""
    if call is Call.CLOSE:
        ends = state in (S.IN_TRANSACTION, S.ABORTABLE_ERROR)
        return Cell(A.MOVE, S.ABORTING_TRANSACTION) if ends else Cell(A.STAY)
    if call is Call.COMPLETE:
        return Cell(A.STAY) if state is S.PREPARED_TRANSACTION else Cell(A.NOT_PREPARED)
    if state is S.PREPARED_TRANSACTION and call in (Call.BEGIN, Call.SEND, Call.SEND_OFFSETS, Call.PREPARE):
        return Cell(A.PREPARED)
    if state in ERRORS and not (call is Call.ABORT and state is S.ABORTABLE_ERROR):
        return Cell(A.STORED)
    if call in (Call.SEND, Call.SEND_OFFSETS):
        return Cell(A.STAY if state is S.IN_TRANSACTION else A.NOT_READY)
    target = _TARGETS[call]
    legal = state in SOURCES[target] and not (call is Call.INIT and state is not S.UNINITIALIZED)
    legal = legal and not (call is Call.PREPARE and state is not S.IN_TRANSACTION)
    return Cell(A.MOVE if legal else A.INVALID, target)


def _open_cell(call: Call, state: ProducerState, waiting: Call) -> Cell:
    """Return the cell of a call while the result of `waiting` was not fetched."""
    free = _call_cell(call, state)
    if call in (Call.CLOSE, Call.COMPLETE) or free.action is A.PREPARED:
        return free
    if call in (Call.INIT, Call.SEND) and free.action is A.STORED:
        return free  # these two look at errors first
    return Cell(A.CACHED if call is waiting else A.RETRY_FIRST)


def _event_cell(event: SenderEvent, state: ProducerState) -> Cell:
    """Return the cell of an event; a late error during an abort is ignored, any other illegal move is POISON."""
    target = _EVENTS[event]
    if event is SenderEvent.ABORTABLE and state is S.ABORTING_TRANSACTION:
        return Cell(A.IGNORED)
    legal = state in _FROM.get(event, SOURCES[target])
    return Cell(A.MOVE, target) if legal else Cell(A.POISON, target)


TABLE: dict[Call | None, dict[Call, dict[ProducerState, Cell]]] = {
    waiting: {
        call: {s: _call_cell(call, s) if waiting is None else _open_cell(call, s, waiting) for s in _STATES}
        for call in Call
    }
    for waiting in (None, *REPEATED)
}
"""`TABLE[open call or None][call][state]` is the answer to a call."""

EVENTS: dict[SenderEvent, dict[ProducerState, Cell]] = {e: {s: _event_cell(e, s) for s in _STATES} for e in SenderEvent}
"""`EVENTS[event][state]` is the effect of an event."""


def decide(call: Call, state: ProducerState, waiting: Call | None = None) -> Cell:
    """Look a call up: `decide(Call.BEGIN, S.READY) == Cell(Action.MOVE, S.IN_TRANSACTION)`."""
    return TABLE[waiting][call][state]


def follow(event: SenderEvent, state: ProducerState) -> Cell:
    """Look an event up: `follow(SenderEvent.FATAL, S.READY) == Cell(Action.MOVE, S.FATAL_ERROR)`."""
    return EVENTS[event][state]
