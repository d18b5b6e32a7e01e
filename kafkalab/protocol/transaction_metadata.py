"""One transactional id's state, which is also its record in `__transaction_state` (Kafka: `TransactionMetadata`)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from operator import attrgetter
from typing import Any

from kafkalab.protocol.errors import Error, IllegalArgumentError, InvariantError

PRODUCER_EPOCH_MAX = 32767
"""Reserved for fencing; the largest epoch that a client ever gets is one lower."""
TWO_PHASE_TIMEOUT_MS = 2**31 - 1
"""The timeout of a transaction that another system decides (KIP-939): it never times out."""


class TxnState(Enum):
    """State ids of the log value. DEAD and PREPARE_EPOCH_FENCE exist only as pending states."""

    __hash__ = object.__hash__  # of Enum it is a function in Python; members are keys of tables

    EMPTY = (0, "Empty")
    ONGOING = (1, "Ongoing")
    PREPARE_COMMIT = (2, "PrepareCommit")
    PREPARE_ABORT = (3, "PrepareAbort")
    COMPLETE_COMMIT = (4, "CompleteCommit")
    COMPLETE_ABORT = (5, "CompleteAbort")
    DEAD = (6, "Dead")
    PREPARE_EPOCH_FENCE = (7, "PrepareEpochFence")

    def __init__(self, id: int, label: str) -> None:
        self.id = id
        self.label = label

    @classmethod
    def of(cls, label: str) -> TxnState:
        """The state with Kafka's own name: `TxnState.of("PrepareCommit")`. ValueError if there is none."""
        for state in cls:
            if state.label == label:
                return state
        raise ValueError(f"no transaction state {label!r}; there are {', '.join(s.label for s in cls)}")

    @classmethod
    def from_id(cls, id: int) -> TxnState:
        """The state with this number in the log; InvariantError if there is none."""
        for state in cls:
            if state.id == id:
                return state
        raise InvariantError(f"no transaction state has the id {id}")

    def __repr__(self) -> str:
        return f"TxnState.{self.name}"


EM, ON, PC, PA, CC, CA, DEAD, FENCE = TxnState
PREPARED = (PC, PA)
AT_REST = (EM, CC, CA)
VALID_PREVIOUS: dict[TxnState, tuple[TxnState, ...]] = {
    EM: (EM, CC, CA),
    ON: (ON, EM, CC, CA),
    PC: (ON,),
    PA: (ON, FENCE, EM, CC, CA),
    CC: (PC,),
    CA: (PA,),
    DEAD: (EM, CA, CC),
    FENCE: (ON,),
}
"""From where a state can be reached, in any version (`TransactionState.validPreviousStates`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Txn:
    """A coordinator's knowledge of one transactional id. `partitions` is sorted.

    `start_ms` is -1 in Empty; CompleteCommit and CompleteAbort keep that of the transaction which they ended.

    Each method gives the next record and leaves this one as it is. InvariantError: that state cannot follow this
    one; IllegalArgumentError: the producer id or the epoch is negative (`TransactionMetadata.prepareTransitionTo`).
    `prev_producer_id` is the producer id before the last transition. `last_producer_epoch` lives in memory only:
    after a failover it is -1 (docs/protocol.md#epoch-arithmetic).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int = -1
    state: TxnState = TxnState.EMPTY
    timeout_ms: int = 60_000
    partitions: tuple[str, ...] = ()
    start_ms: int = -1
    update_ms: int = -1
    last_producer_epoch: int = -1
    prev_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0

    @property
    def exhausted(self) -> bool:
        """No further epoch can be handed out for this producer id."""
        return self.producer_epoch >= PRODUCER_EPOCH_MAX - 1

    @property
    def logged_partitions(self) -> tuple[str, ...] | None:
        """The partitions in the log value: null for Empty, an empty array for Complete*
        (docs/protocol.md#transaction-state-records)."""
        return None if self.state is TxnState.EMPTY else self.partitions

    def forget_last_epoch(self) -> Txn:
        """As read back from the log: what is not persisted is forgotten."""
        return replace(self, last_producer_epoch=-1)

    def transit(self, state: TxnState, **changed: object) -> Txn:
        """The next record, in this state and with these fields; the errors of this class."""
        if self.state not in VALID_PREVIOUS[state]:
            raise InvariantError(f"{self.transactional_id}: {state.label} cannot follow {self.state.label}")
        new = self._with(state=state, prev_producer_id=self.producer_id, **changed)
        if new.producer_id < 0 or (new.producer_epoch < 0 and state is not TxnState.DEAD):
            ids = f"producer id {new.producer_id}, epoch {new.producer_epoch}"
            raise IllegalArgumentError(f"{self.transactional_id}: {state.label} with {ids}")
        return new

    def _with(self, **changed: object) -> Txn:
        """As `replace` would, in half the time."""
        return Txn(**(dict(zip(FIELDS, _fields(self), strict=True)) | changed))

    def with_partitions(self, added: tuple[str, ...], version: int, now: int) -> Txn:
        """Ongoing, with the union of the partitions; the clock of the timeout starts with the first one."""
        return self.transit(
            TxnState.ONGOING,
            partitions=tuple(sorted({*self.partitions, *added})),
            start_ms=self.start_ms if self.state is TxnState.ONGOING else now,
            update_ms=now,
            client_transaction_version=version,
        )

    def increment_epoch(self, timeout_ms: int, expected: int | None, now: int, step: int = 1) -> Txn | Error:
        """Empty, with the epoch that InitProducerId hands out; PRODUCER_FENCED if another one is expected
        (docs/protocol.md#epoch-arithmetic).

        If the last epoch is expected this is a retry: the same epoch once more. InvariantError: none is left.
        """
        if self.exhausted:
            raise InvariantError(f"producer id {self.producer_id} has no epoch left")
        bumped = 0 if self.producer_epoch == -1 else self.producer_epoch + step
        if expected is None:
            return self._empty(timeout_ms, now, producer_epoch=bumped, last_producer_epoch=-1)
        if expected == self.producer_epoch or self.producer_epoch == -1:
            return self._empty(timeout_ms, now, producer_epoch=bumped, last_producer_epoch=self.producer_epoch)
        if expected == self.last_producer_epoch:
            return self._empty(timeout_ms, now)
        return Error.PRODUCER_FENCED

    def rotate_producer_id(self, producer_id: int, timeout_ms: int, now: int, record_last_epoch: bool) -> Txn:
        """Empty, with a new producer id and epoch 0. InvariantError while a transaction is open or being ended."""
        last = self.producer_epoch if record_last_epoch else -1
        return self._empty(timeout_ms, now, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last)

    def _empty(self, timeout_ms: int, now: int, **changed: object) -> Txn:
        clean: dict[str, Any] = {"partitions": (), "start_ms": -1, "next_producer_id": -1}
        return self.transit(TxnState.EMPTY, timeout_ms=timeout_ms, update_ms=now, **clean, **changed)

    def fence(self, failed_before: bool = False, step: int = 1) -> Txn:
        """PrepareEpochFence: the epoch that the coordinator's own abort will have; never appended.

        It is not raised beyond 32767, nor again after a fence that could not be written: nobody ever got that epoch.
        """
        last = failed_before or self.producer_epoch == PRODUCER_EPOCH_MAX
        return self.transit(TxnState.PREPARE_EPOCH_FENCE, producer_epoch=self.producer_epoch + (0 if last else step))

    def prepare(self, state: TxnState, version: int, now: int, next_producer_id: int = -1) -> Txn:
        """PrepareCommit or PrepareAbort. Under version 2 the epoch rises here, so the markers carry the new one.

        IllegalArgumentError: PrepareCommit at epoch 32767, which has no successor. Only PrepareAbort recovers there.
        """
        raised = {}
        if version >= 2 and self.producer_epoch >= 0:
            last = self.producer_epoch == PRODUCER_EPOCH_MAX
            if last and state is TxnState.PREPARE_COMMIT:
                raise IllegalArgumentError(f"{self.transactional_id}: no epoch is left for {state.label}")
            epoch = self.producer_epoch + (0 if last else 1)
            raised = {"producer_epoch": epoch, "last_producer_epoch": self.producer_epoch}
        return self.transit(
            state,
            start_ms=self.start_ms if self.state is TxnState.ONGOING else now,
            update_ms=now,
            next_producer_id=next_producer_id,
            client_transaction_version=version,
            **raised,
        )

    def without(self, marked: tuple[str, ...]) -> Txn:
        """These partitions have their markers: the cache forgets them, the log does not (`removePartition`)."""
        return self._with(partitions=tuple(p for p in self.partitions if p not in marked))

    def complete(self, now: int, state: TxnState) -> Txn:
        """CompleteCommit or CompleteAbort: no partitions left; a rotation that was due takes place."""
        new = self.transit(state, partitions=(), update_ms=now)
        if self.next_producer_id == -1:
            return new
        return replace(new, producer_id=self.next_producer_id, producer_epoch=0, next_producer_id=-1)


FIELDS = tuple(f.name for f in fields(Txn))
_fields = attrgetter(*FIELDS)


def check_transition(current: Txn, pending: TxnState | None, new: Txn) -> None:
    """Raise InvariantError unless `new` was pending and can follow `current` (`completeTransitionTo`,
    docs/protocol.md#pending-states)."""
    if pending is not new.state:
        raise InvariantError(f"{current.transactional_id}: {new.state.label} is not what was pending: {pending}")
    if not _follows(current, new):
        raise InvariantError(f"{current.transactional_id}: {new} cannot follow {current}")


def _follows(current: Txn, new: Txn) -> bool:
    same = (new.producer_id, new.producer_epoch) == (current.producer_id, current.producer_epoch)
    if new.state is TxnState.EMPTY:
        fresh = new.producer_id != current.producer_id and new.producer_epoch == 0
        bumped = new.producer_epoch in (current.producer_epoch, current.producer_epoch + 1)
        return (fresh or bumped) and not new.partitions and new.start_ms == -1
    if new.timeout_ms != current.timeout_ms:
        return False
    if new.state is TxnState.ONGOING:
        return same and set(current.partitions) <= set(new.partitions)
    if new.state in PREPARED:
        bumped = new.producer_id == current.producer_id and new.last_producer_epoch == current.producer_epoch
        started = new.start_ms == current.start_ms or (current.state is not TxnState.ONGOING and not new.partitions)
        by_version = bumped if new.client_transaction_version >= 2 else same
        return by_version and started and new.partitions == current.partitions
    if new.state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT):
        due = (new.producer_id, new.producer_epoch) == (current.next_producer_id, 0)
        kept = new.last_producer_epoch == current.last_producer_epoch and new.prev_producer_id == current.producer_id
        return (same or (due and kept)) and new.start_ms != -1
    return False  # Dead and PrepareEpochFence are pending states only
