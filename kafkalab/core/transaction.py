"""One transactional id's state, which is also its record in `__transaction_state` (Kafka: `TransactionMetadata`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

PRODUCER_EPOCH_MAX = 32767
"""Reserved for fencing; the largest epoch that a client ever gets is one lower."""


class TxnState(Enum):
    """State ids of the log value. DEAD and PREPARE_EPOCH_FENCE exist only as pending states."""

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

    def __repr__(self) -> str:
        return f"TxnState.{self.name}"


PREPARED = (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)
AT_REST = (TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
_FINISHED = {TxnState.PREPARE_COMMIT: TxnState.COMPLETE_COMMIT, TxnState.PREPARE_ABORT: TxnState.COMPLETE_ABORT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Txn:
    """What the coordinator knows of one transactional id. `partitions` is sorted; `start_ms` is -1 outside one.

    `last_producer_epoch` lives in memory only: after a failover it is -1 (facts 2.3).
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

    def loaded(self) -> Txn:
        """As read back from the log: what is not persisted is forgotten."""
        return replace(self, last_producer_epoch=-1)

    def with_partitions(self, added: tuple[str, ...], version: int, now: int) -> Txn:
        """Ongoing, with the union of the partitions; the clock of the timeout starts with the first one."""
        ongoing = self.state is TxnState.ONGOING
        return replace(
            self,
            state=TxnState.ONGOING,
            partitions=tuple(sorted({*self.partitions, *added})),
            start_ms=self.start_ms if ongoing else now,
            update_ms=now,
            prev_producer_id=self.producer_id,
            client_transaction_version=version,
        )

    def initialised(self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now: int) -> Txn:
        """Empty, with the producer id and epoch that InitProducerId hands out."""
        return replace(
            self,
            state=TxnState.EMPTY,
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            prev_producer_id=self.producer_id,
            next_producer_id=-1,
            timeout_ms=timeout_ms,
            partitions=(),
            start_ms=-1,
            update_ms=now,
        )

    def prepared(self, state: TxnState, version: int, now: int, next_producer_id: int = -1) -> Txn:
        """PrepareCommit or PrepareAbort. Under version 2 the epoch rises here, so the markers carry the new one."""
        new = replace(
            self,
            state=state,
            start_ms=self.start_ms if self.state is TxnState.ONGOING else now,
            update_ms=now,
            prev_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            client_transaction_version=version,
        )
        if version < 2 or self.producer_epoch == PRODUCER_EPOCH_MAX:
            return new
        return replace(new, producer_epoch=self.producer_epoch + 1, last_producer_epoch=self.producer_epoch)

    def completed(self, now: int) -> Txn:
        """CompleteCommit or CompleteAbort: no partitions left; a rotation that was due takes place."""
        new = replace(
            self, state=_FINISHED[self.state], partitions=(), update_ms=now, prev_producer_id=self.producer_id
        )
        if self.next_producer_id == -1:
            return new
        return replace(new, producer_id=self.next_producer_id, producer_epoch=0, next_producer_id=-1)
