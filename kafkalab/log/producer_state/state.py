"""A partition's memory of all its producers (docs/protocol.md#produce; `ProducerStateManager`).

A check never changes anything; `apply` is called for batches that are in the log, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kafkalab.log.producer_state.append import NO_GUARD, VERSION_UNKNOWN, Origin, data_error, marker_error
from kafkalab.log.producer_state.entry import CACHED_BATCHES, CachedBatch, CompletedTxn, ProducerEntry, Verification
from kafkalab.log.producer_state.snapshot import CorruptSnapshotError, decode, encode
from kafkalab.protocol.errors import Error
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType
from kafkalab.protocol.rules import (
    DEDUPLICATION,
    EMPTY_NOT_COMPLETED,
    FIVE_BATCHES,
    MARKER_TAKES_GUARD,
    MARKERS_KEEP_STATE,
    NEXT_GUARD_STAYS,
    PRODUCE_EPOCH,
    STATE_OUTLIVES_DATA,
)

EXPIRATION_MS = 86_400_000


class ProducerStates:
    """All producers of one replica. `snapshots` are its files, by the offset up to which they tell.

    A producer id expires `expiration_ms` after its newest batch, a verification as long after it began.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        expiration_ms: int = EXPIRATION_MS,
        snapshots: dict[int, bytes] | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.expiration_ms = expiration_ms
        self.snapshots: dict[int, bytes] = {} if snapshots is None else snapshots
        self.entries: dict[int, ProducerEntry] = {}
        self.verifications: dict[int, Verification] = {}
        self.ongoing: dict[int, int] = {}
        """Producer id -> first offset of its open transaction, in the order of these offsets."""
        self.unreplicated: list[CompletedTxn] = []  # ended, and the marker is not yet below the high watermark
        self.map_end_offset = 0
        """All batches below are in here."""
        self.snapshot_offset = 0
        """The newest snapshot's."""
        self._guards = NO_GUARD
        self._deduplicates = self.rules.on(DEDUPLICATION)
        self._capacity = CACHED_BATCHES if self.rules.on(FIVE_BATCHES) else 1

    # questions before an append

    def analyze(
        self, batch: Batch, origin: Origin, guard: int = NO_GUARD, version: int = VERSION_UNKNOWN
    ) -> Error | CachedBatch:
        """NONE if the batch may be appended; the batch in the log that it repeats; or why it is refused.

        `version` is the transaction version of a marker; a leader must know it (IllegalArgumentError).
        """
        if batch.control is not None:
            return self.marker_error(batch, origin, version)
        if batch.producer_id < 0:
            return Error.NONE
        entry = self.entries.get(batch.producer_id)
        if origin is Origin.CLIENT and entry is not None:
            known = entry.find_duplicate(batch)
            if known is not None:
                if self._deduplicates:
                    return known
                origin = Origin.COORDINATOR  # nothing notices that these sequences have been here before
        return self.data_error(batch, origin, guard)

    def data_error(self, batch: Batch, origin: Origin, guard: int = NO_GUARD) -> Error:
        """NONE, or why this data batch is refused, whether or not it is a duplicate."""
        current = self.entries.get(batch.producer_id) or ProducerEntry()
        return data_error(current, self.verifications.get(batch.producer_id), batch, origin, guard, self.rules)

    def replication_error(self, batches: Iterable[Batch]) -> Error:
        """Return INVALID_TXN_STATE if a follower refuses these batches, which come after each other; else NONE.

        All batches of an answer are checked before the first is appended (`analyzeAndValidateProducerState`).
        """
        opened: dict[int, bool] = {}
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id < 0 or (batch.control is not None and not batch.records):
                continue
            if batch.control is None and not batch.transactional:
                if opened.get(producer_id, producer_id in self.ongoing):
                    return Error.INVALID_TXN_STATE
            else:
                opened[producer_id] = batch.control is None
        return Error.NONE

    def marker_error(self, batch: Batch, origin: Origin, version: int) -> Error:
        """NONE, or why this marker is refused; IllegalArgumentError if a leader does not know its version."""
        return marker_error(self.entries.get(batch.producer_id), batch, origin, version, self.rules)

    def has_ongoing(self, producer_id: int, producer_epoch: int) -> bool:
        """Return True if this producer has an open transaction here under this epoch."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset is not None and entry.producer_epoch == producer_epoch

    # verification

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, version: int, now_ms: int = 0
    ) -> int | Error:
        """The guard to show at the append; NO_GUARD where none is needed; INVALID_PRODUCER_EPOCH for an old epoch."""
        entry = self.entries.get(producer_id)
        if entry is not None and entry.producer_epoch > epoch and self.rules.on(PRODUCE_EPOCH):
            return Error.INVALID_PRODUCER_EPOCH
        if self.has_ongoing(producer_id, epoch):
            return NO_GUARD
        known = self.verifications.get(producer_id)
        if known is None:
            self._guards += 1
            known = Verification(self._guards, sequence, epoch, version >= 2, now_ms)
            self.verifications[producer_id] = known
        known.update(sequence, epoch)
        return known.guard

    def _take_guard(self, batch: Batch) -> None:
        """A transactional append uses the verification up; so does a marker, unless it serves the next transaction."""
        known = self.verifications.get(batch.producer_id)
        if known is None or not batch.transactional:
            return
        if batch.control is not None:
            next_one = known.supports_epoch_bump and known.producer_epoch == batch.producer_epoch
            if not self.rules.on(MARKER_TAKES_GUARD) or (next_one and self.rules.on(NEXT_GUARD_STAYS)):
                return
        del self.verifications[batch.producer_id]

    # what the log has

    def apply(self, batch: Batch) -> CompletedTxn | None:
        """The batch is in the log: remember it. For a marker that ended an open transaction, that transaction."""
        self.map_end_offset = batch.last_offset + 1
        producer_id = batch.producer_id
        if producer_id < 0:
            return None
        if self.verifications:
            self._take_guard(batch)
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry()
        if batch.control is not None:
            return self._end_transaction(batch, batch.control, entry) if batch.records else None
        if self._deduplicates or entry.find_duplicate(batch) is None:
            entry.remember(batch, self._capacity)
        if batch.transactional and entry.txn_first_offset is None:
            entry.txn_first_offset = self.ongoing[producer_id] = batch.base_offset
        return None

    def take_over(self, leader: ProducerStates, offset: int) -> None:
        """Remember what the leader of this replica remembers of the batches from `offset` on."""
        for producer_id, known in leader.entries.items():
            new = [batch for batch in known.batches if batch.last_offset >= offset]
            own = self.entries.get(producer_id)
            if own is not None and own.producer_epoch == known.producer_epoch:
                new = (own.batches + new)[-self._capacity :]
            self.entries[producer_id] = replace(known, batches=new)
        self.ongoing, self.unreplicated = dict(leader.ongoing), list(leader.unreplicated)
        self.map_end_offset = leader.map_end_offset

    def _end_transaction(self, batch: Batch, control: ControlType, entry: ProducerEntry) -> CompletedTxn | None:
        entry.take_epoch(batch.producer_epoch)
        entry.coordinator_epoch = batch.coordinator_epoch
        if self.rules.on(MARKERS_KEEP_STATE):
            entry.last_timestamp_ms = batch.timestamp_ms
        first, entry.txn_first_offset = entry.txn_first_offset, None
        if first is None:
            if self.rules.on(EMPTY_NOT_COMPLETED):
                return None
            first = batch.base_offset
        self.ongoing.pop(batch.producer_id, None)
        completed = CompletedTxn(batch.producer_id, first, batch.base_offset, control is ControlType.ABORT)
        self.unreplicated.append(completed)
        return completed

    @property
    def first_unstable_offset(self) -> int | None:
        """The offset at which the earliest transaction begins that is open, or whose marker is not yet replicated."""
        first = next(iter(self.ongoing.values()), None)
        for completed in self.unreplicated:
            if first is None or completed.first_offset < first:
                first = completed.first_offset
        return first

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """As the aborted index has it: where the earliest other open transaction begins, else after the marker."""
        others = (first for producer_id, first in self.ongoing.items() if producer_id != completed.producer_id)
        return next(others, completed.last_offset + 1)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Transactions whose marker lies below are no longer unstable."""
        if self.unreplicated:
            self.unreplicated = [t for t in self.unreplicated if t.last_offset >= high_watermark]

    # forgetting

    def remove_expired(self, now: int) -> tuple[int, ...]:
        """Forget producer ids long unused, never one with an open transaction, and old verifications; the ids."""
        gone = tuple(pid for pid, entry in self.entries.items() if self._is_expired(entry, now))
        for producer_id in gone:
            del self.entries[producer_id]
        for producer_id in [p for p, v in self.verifications.items() if now - v.created_ms >= self.expiration_ms]:
            del self.verifications[producer_id]
        return gone

    def _is_expired(self, entry: ProducerEntry, now: int) -> bool:
        return entry.txn_first_offset is None and now - entry.last_timestamp_ms >= self.expiration_ms

    def log_start_moved(self, log_start_offset: int) -> None:
        """Records below are gone. Their producers stay known (unless STATE_OUTLIVES_DATA is off)."""
        self.unreplicated = [t for t in self.unreplicated if t.last_offset >= log_start_offset]
        if not self.rules.on(STATE_OUTLIVES_DATA):
            for producer_id in [p for p, e in self.entries.items() if not self._has_data(e, log_start_offset)]:
                del self.entries[producer_id]
                self.ongoing.pop(producer_id, None)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self.snapshot_offset = max(self.snapshots, default=log_start_offset)

    @staticmethod
    def _has_data(entry: ProducerEntry, log_start_offset: int) -> bool:
        entry.batches = [b for b in entry.batches if b.last_offset >= log_start_offset]
        return bool(entry.batches)

    def start_at(self, offset: int) -> None:
        """Forget all producers and snapshots: the log is empty and begins at `offset`.

        Verifications stay (`ProducerStateManager.truncateFullyAndStartAt`).
        """
        self.entries, self.ongoing, self.unreplicated, self.snapshots = {}, {}, [], {}
        self.map_end_offset = self.snapshot_offset = offset

    # snapshots

    def take_snapshot(self) -> bool:
        """Write a snapshot up to `map_end_offset`; nothing happens if the newest one tells as much. Whether it did."""
        if self.map_end_offset <= self.snapshot_offset:
            return False
        self.snapshots[self.map_end_offset] = encode(self.entries)
        self.snapshot_offset = self.map_end_offset
        return True

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now: int) -> None:
        """The log is [log_start_offset, log_end_offset) now: drop snapshots outside, go back to the newest good one.

        If the log ends where this state ends, that holds already. What follows `map_end_offset` must be applied anew.
        """
        for offset in [o for o in self.snapshots if o > log_end_offset or o <= log_start_offset]:
            del self.snapshots[offset]
        if log_end_offset == self.map_end_offset:
            self.log_start_moved(log_start_offset)
            return
        self.entries, self.ongoing, self.unreplicated = {}, {}, []
        self.map_end_offset = self.snapshot_offset = log_start_offset
        while self.snapshots:
            newest = max(self.snapshots)
            try:
                loaded = decode(self.snapshots[newest])
            except CorruptSnapshotError:
                del self.snapshots[newest]
                continue
            self.entries = {pid: entry for pid, entry in loaded.items() if not self._is_expired(entry, now)}
            firsts = ((e.txn_first_offset, pid) for pid, e in self.entries.items() if e.txn_first_offset is not None)
            self.ongoing = {pid: first for first, pid in sorted(firsts)}
            self.map_end_offset = self.snapshot_offset = newest
            return
