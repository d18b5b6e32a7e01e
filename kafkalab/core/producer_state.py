"""What a partition remembers of each producer: the checks of an idempotent append (facts 3; `ProducerAppendInfo`).

Offsets, epochs and sequences follow Kafka's `ProducerStateManager`. Only the log layer calls `applied`, for batches
that are in the log; a check never changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.core.errors import Error
from kafkalab.core.records import NO_SEQUENCE, Batch, ControlType, sequence_after
from kafkalab.profiles import Rules
from kafkalab.rules import MARKER_EPOCH, PRODUCE_EPOCH, SEQUENCE_GAPS, VERIFICATION

CACHED_BATCHES = 5
EPOCH_MAX = 32767


@dataclass(slots=True)
class ProducerEntry:
    """One producer id on one partition. `batches`: the five newest (first sequence, last sequence, base offset)."""

    producer_epoch: int = -1
    coordinator_epoch: int = -1
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    txn_first_offset: int | None = None
    last_timestamp_ms: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][1] if self.batches else NO_SEQUENCE


@dataclass(slots=True)
class Verification:
    """A producer's request to write under way: `guard` must be shown at the append (KIP-890 part 1)."""

    guard: int
    lowest_sequence: int
    producer_epoch: int
    supports_epoch_bump: bool


@dataclass(frozen=True, slots=True)
class CompletedTxn:
    """A transaction that a marker ended: `last_offset` is the marker's own."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ProducerStates:
    """All producers of one replica, rebuilt by applying the log in order."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.verifications: dict[int, Verification] = {}
        self.ongoing: dict[int, int] = {}  # producer id -> first offset of its open transaction
        self._guards = 0

    def duplicate_of(self, batch: Batch) -> int | None:
        """The base offset of an identical batch among the last five of the same epoch, or None."""
        entry = self.entries.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        for first, last, offset in entry.batches:
            if first == batch.base_sequence and last == batch.last_sequence:
                return offset
        return None

    def has_ongoing(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer has an open transaction here under this epoch."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset is not None and entry.producer_epoch == producer_epoch

    def start_verification(self, producer_id: int, sequence: int, epoch: int, version: int) -> int | Error:
        """The guard to show at the append; 0 where none is needed; INVALID_PRODUCER_EPOCH for an old epoch."""
        entry = self.entries.get(producer_id)
        if entry is not None and entry.producer_epoch > epoch:
            return Error.INVALID_PRODUCER_EPOCH
        if self.has_ongoing(producer_id, epoch):
            return 0
        known = self.verifications.get(producer_id)
        if known is None:
            self._guards += 1
            known = Verification(self._guards, sequence, epoch, version >= 2)
            self.verifications[producer_id] = known
        elif epoch > known.producer_epoch:
            known.producer_epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.producer_epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return known.guard

    def check_data(self, batch: Batch, rules: Rules, *, from_client: bool, guard: int = 0) -> Error:
        """NONE, or why a leader refuses this data batch. `guard` is 0 where nothing was verified (facts 3.1 to 3.4)."""
        current = self.entries.get(batch.producer_id) or ProducerEntry()
        if batch.producer_epoch < current.producer_epoch and rules.on(PRODUCE_EPOCH):
            return Error.INVALID_PRODUCER_EPOCH
        if batch.transactional and rules.on(VERIFICATION) and not self._ongoing_or_verified(batch, guard):
            return Error.INVALID_TXN_STATE
        if from_client and rules.on(SEQUENCE_GAPS) and not self._in_sequence(batch, current):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        if current.txn_first_offset is not None and not batch.transactional:
            return Error.INVALID_TXN_STATE
        return Error.NONE

    def _ongoing_or_verified(self, batch: Batch, guard: int) -> bool:
        if self.has_ongoing(batch.producer_id, batch.producer_epoch):
            return True
        known = self.verifications.get(batch.producer_id)
        return known is not None and known.guard == guard

    def _in_sequence(self, batch: Batch, current: ProducerEntry) -> bool:
        """Facts 3.3, in Kafka's order."""
        first = batch.base_sequence
        known = self.verifications.get(batch.producer_id)
        if known is not None:
            if known.supports_epoch_bump and first != 0 and not current.batches:
                return False
            if first > known.lowest_sequence:
                return False
        if batch.producer_epoch != current.producer_epoch:
            return first == 0 or current.producer_epoch == -1
        return first == (0 if current.last_sequence == NO_SEQUENCE else sequence_after(current.last_sequence, 1))

    def check_marker(self, batch: Batch, version: int, rules: Rules) -> Error:
        """NONE, or why a leader refuses this marker; `version` is its transaction version (facts 3.5)."""
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            return Error.NONE
        epoch = batch.producer_epoch
        retry = epoch == entry.producer_epoch and (entry.txn_first_offset is None or epoch == EPOCH_MAX)
        accepted = (epoch > entry.producer_epoch or retry) if version >= 2 else epoch >= entry.producer_epoch
        if not accepted:
            return Error.INVALID_PRODUCER_EPOCH
        if batch.coordinator_epoch < entry.coordinator_epoch and rules.on(MARKER_EPOCH):
            return Error.TRANSACTION_COORDINATOR_FENCED
        return Error.NONE

    def applied(self, batch: Batch) -> CompletedTxn | None:
        """The batch is in the log: remember it. For a marker that ended an open transaction, that transaction."""
        if batch.producer_id < 0:
            return None
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerEntry()
        if batch.control is not None:
            return self._ended(batch, batch.control, entry)
        if batch.producer_epoch != entry.producer_epoch:
            entry.producer_epoch = batch.producer_epoch
            entry.batches = []
        entry.batches.append((batch.base_sequence, batch.last_sequence, batch.base_offset))
        if len(entry.batches) > CACHED_BATCHES:
            del entry.batches[0]
        entry.last_timestamp_ms = batch.timestamp_ms
        if batch.transactional:
            self.verifications.pop(batch.producer_id, None)
            if entry.txn_first_offset is None:
                entry.txn_first_offset = self.ongoing[batch.producer_id] = batch.base_offset
        return None

    def _ended(self, batch: Batch, control: ControlType, entry: ProducerEntry) -> CompletedTxn | None:
        known = self.verifications.get(batch.producer_id)
        if known and not (known.supports_epoch_bump and known.producer_epoch == batch.producer_epoch):
            del self.verifications[batch.producer_id]
        if batch.producer_epoch != entry.producer_epoch:
            entry.producer_epoch = batch.producer_epoch
            entry.batches = []
        entry.coordinator_epoch = batch.coordinator_epoch
        entry.last_timestamp_ms = batch.timestamp_ms
        first, entry.txn_first_offset = entry.txn_first_offset, None
        if first is None:
            return None
        del self.ongoing[batch.producer_id]
        return CompletedTxn(batch.producer_id, first, batch.base_offset, control is ControlType.ABORT)
