"""A replica's log of one partition: batches, high watermark, last stable offset, aborted transactions
(docs/protocol.md#reading)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kafkalab.log.batch_list import READ_BYTES, BatchList, SpillFile
from kafkalab.log.cleaner_checkpoint import CleanerCheckpoint
from kafkalab.log.offset_index import OffsetIndex
from kafkalab.log.producer_state.state import EXPIRATION_MS, ProducerStates
from kafkalab.log.transaction_index import Entries, TransactionIndex
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch


class PartitionLog:
    """Batches in offset order. What follows from them (producer state, LSO, aborted index) is kept up to date."""

    def __init__(
        self, partition: str, rules: Rules | None = None, producer_id_expiration_ms: int = EXPIRATION_MS,
        spill_file: SpillFile | None = None,
    ) -> None:  # fmt: skip
        self.partition = partition
        self.batches = BatchList(spill_file)
        self.high_watermark = 0
        self.log_start_offset = 0
        self.log_end_offset = 0
        """The offset that the next record gets."""
        self.segments: list[int] = [0]
        """Base offsets, in order; the last one is the active segment's."""
        self.producers = ProducerStates(rules, producer_id_expiration_ms)
        self.transaction_index = TransactionIndex()
        self.checkpoint = CleanerCheckpoint()
        self._epochs: list[tuple[int, int]] = []  # leader epoch, its first offset
        self._indexes: dict[int, OffsetIndex] = {}  # by the base offset of their segments

    # marks

    @property
    def first_unstable_offset(self) -> int | None:
        """Return where the earliest transaction begins that is undecided or whose marker is not replicated, or None.

        If its beginning was deleted: the base offset of the batch that holds the log's start, which may lie below it
        (`UnifiedLog.maybeIncrementFirstUnstableOffset`).
        """
        first = self.producers.first_unstable_offset
        if first is None or first >= self.log_start_offset:
            return first
        holding = next(self.batches.stream(self.log_start_offset, self.log_end_offset), None)
        return self.log_end_offset if holding is None else holding.base_offset

    @property
    def last_stable_offset(self) -> int:
        """All below is decided and replicated: the first unstable offset if below the high watermark, else that.

        A completed transaction stays unstable until its marker is below the high watermark (`UnifiedLog`).
        """
        if not self.producers.ongoing and not self.producers.unreplicated:
            return self.high_watermark
        first = self.first_unstable_offset
        return self.high_watermark if first is None else min(first, self.high_watermark)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, -1 for an empty log."""
        return self._epochs[-1][0] if self._epochs else -1

    def end_offset_for(self, leader_epoch: int) -> int:
        """Return the end of this leader epoch's log: the base offset of the first batch of a newer one (KIP-101)."""
        return self.epoch_and_end(leader_epoch)[1]

    def epoch_and_end(self, leader_epoch: int) -> tuple[int, int]:
        """The newest epoch up to this one that the log has (else this one), and where its part ends (KIP-279)."""
        known = leader_epoch
        for epoch, first_offset in self._epochs:
            if epoch > leader_epoch:
                return known, first_offset
            known = epoch
        return known, self.log_end_offset

    def advance(self, high_watermark: int) -> bool:
        """Raise the high watermark, never beyond the log's end and never back; whether it moved."""
        new = min(high_watermark, self.log_end_offset)
        if new <= self.high_watermark:
            return False
        self.high_watermark = new
        self.producers.high_watermark_moved(new)
        return True

    # appending and reading

    def append(self, batch: Batch, leader_epoch: int) -> Batch:
        """The batch as appended by a leader: with its base offset and leader epoch."""
        appended = batch.place(self.log_end_offset, leader_epoch)
        self.replicate(appended)
        return appended

    def replicate(self, batch: Batch) -> None:
        """Take over a batch whose offset a leader assigned; it must come after the last one."""
        assert batch.base_offset >= self.log_end_offset, f"{self.partition}: {batch.base_offset} is taken"
        self.batches.append(batch)
        if not self._epochs or self._epochs[-1][0] != batch.leader_epoch:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        completed = self.producers.apply(batch)
        self.log_end_offset = self.producers.map_end_offset
        if completed is not None and completed.aborted:
            stable = self.producers.last_stable_offset(completed)
            self.transaction_index.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
            )

    def take_over(self, leader: PartitionLog) -> None:
        """Replicate all that the leader's log has more, of which this one is a beginning, high watermark included.

        The result is that of `replicate` for each batch, at the cost of one copy.
        """
        end = self.log_end_offset
        if self.producers.verifications:
            for batch in leader.stream(end, leader.log_end_offset):
                self.replicate(batch)
        elif end < leader.log_end_offset:
            self.batches.take_over(leader.batches, end)
            self._epochs += [known for known in leader._epochs if known[1] >= end]
            self.transaction_index.entries.extend(leader.transaction_index.between(end, leader.log_end_offset))
            self.log_end_offset = leader.log_end_offset
            self.producers.take_over(leader.producers, end)
        self.advance(leader.high_watermark)

    def read(self, offset: int, upper: int) -> list[Batch]:
        """The batches that hold offsets from `offset` on, of which the first offset is below `upper`."""
        return self.batches.read(offset, upper)

    def stream(self, offset: int, upper: int) -> Iterator[Batch]:
        """Yield what `read` returns, without having all of a long log in memory; the log must not change meanwhile."""
        return self.batches.stream(offset, upper)

    def read_segment(self, offset: int, upper: int) -> list[Batch]:
        """Read as `read` does, but from one segment: the first that has such a batch (`LocalLog.read`).

        Of what is not in memory about READ_BYTES are read, so a reader gets a long log in parts.
        """
        if len(self.segments) == 1:
            return self.batches.read(offset, upper, READ_BYTES)
        for end in self.segments[bisect_right(self.segments, offset) :]:
            if found := self.batches.read(offset, min(upper, end), READ_BYTES):
                return found
        return self.batches.read(offset, upper, READ_BYTES)

    def segment_of(self, offset: int) -> int:
        """Return the base offset of the segment in which `offset` lies, or will lie."""
        return self.segments[max(bisect_right(self.segments, offset) - 1, 0)]

    def aborted_between(self, offset: int, upper: int) -> tuple[AbortedTxn, ...]:
        """The aborted transactions that overlap [offset, upper)."""
        return self.transaction_index.collect(offset, upper)[0]

    def aborted_for(self, offset: int, batches: Sequence[Batch]) -> tuple[AbortedTxn, ...]:
        """Return what Fetch lists for read_committed: the aborted transactions from `offset` to the next entry of the
        offset index behind `batches`, which are of one segment; else to the next segment; else to the log's end.

        So it may name some that begin behind the batches, even above the last stable offset.
        """
        if not batches or not self.transaction_index.entries:
            return ()
        last_offset = batches[-1].last_offset
        base = self.segment_of(last_offset)
        following = bisect_right(self.segments, base)
        end = self.segments[following] if following < len(self.segments) else self.log_end_offset
        index = self._indexes.setdefault(base, OffsetIndex(base))
        index.extend(b for b in self.stream(index.next_offset, end) if b.base_offset >= index.next_offset)
        upper = index.upper_bound(last_offset)
        return self.aborted_between(offset, end if upper is None else upper)

    # segments

    def roll(self, now: int) -> bool:
        """Begin a new segment at the log's end, with a snapshot of the producers; not while the active one is empty."""
        if self.segments[-1] >= self.log_end_offset:
            return False
        self.segments.append(self.log_end_offset)
        self.producers.take_snapshot()
        return True

    def batches_between(self, base_offset: int, next_base_offset: int) -> list[Batch]:
        """The batches that begin in [base_offset, next_base_offset): those of a segment."""
        return self.batches.between(base_offset, next_base_offset)

    def replace_batches(self, base_offset: int, next_base_offset: int, cleaned: Sequence[Batch]) -> None:
        """Put cleaned batches in place of those in [base_offset, next_base_offset). Producer state does not change."""
        self.batches.replace(base_offset, next_base_offset, cleaned)
        self._indexes = {}

    def raise_log_start(self, offset: int) -> bool:
        """Records below are deleted for readers, though perhaps not yet from the log; whether anything changed."""
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self.producers.log_start_moved(offset)
        return True

    def drop_segments(self, first_kept: int) -> None:
        """The segments before the one with base offset `first_kept` are gone, with their indexes and snapshots."""
        self.replace_batches(0, first_kept, ())
        self.transaction_index.drop_before(first_kept)
        for base in [b for b in self.segments if b < first_kept]:
            self.producers.snapshots.pop(base, None)
            self.segments.remove(base)
        self.raise_log_start(first_kept)

    # truncation, restart

    def truncate(self, offset: int, now: int = 0) -> None:
        """Drop everything from `offset` on, and rebuild producer state from the newest snapshot below it."""
        if offset >= self.log_end_offset:
            return
        self.batches.truncate(offset)
        self._indexes = {}
        self._epochs = [(epoch, first) for epoch, first in self._epochs if first < offset]
        self.segments = [base for base in self.segments if base <= offset] or [offset]
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.transaction_index.truncate(offset)
        self._rebuild(now)

    def start_at(self, offset: int) -> None:
        """An empty log that begins at `offset`: nothing of the old one is left (`truncateFullyAndStartAt`)."""
        self.batches.truncate(0)
        self._epochs, self.segments, self._indexes = [], [offset], {}
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.transaction_index.truncate(0)
        self.producers.start_at(offset)

    def close(self) -> None:
        """A clean shutdown: what is known of the producers is written down."""
        self.producers.take_snapshot()

    def reload(self, now: int = 0) -> PartitionLog:
        """Return the log as read back after a restart, clean or not: of each producer the last batch is known, and no
        verification guard.

        Recovery replays what follows the newest snapshot and writes another one at the log's end; loading reads that
        (`LogLoader`, `UnifiedLog.rebuildProducerState`).
        """
        old = self.producers
        log = PartitionLog(self.partition, old.rules, old.expiration_ms)
        log.batches, log._epochs = self.batches.copy(), list(self._epochs)
        log.segments, log.checkpoint = list(self.segments), self.checkpoint
        log.log_start_offset, log.log_end_offset = self.log_start_offset, self.log_end_offset
        log.high_watermark = self.high_watermark
        log.transaction_index.entries = Entries(self.transaction_index.entries)
        log.producers.snapshots = dict(old.snapshots)
        log._rebuild(now)
        log.producers = ProducerStates(old.rules, old.expiration_ms, log.producers.snapshots)
        log._rebuild(now)
        return log

    def _rebuild(self, now: int) -> None:
        """Producer state from the newest snapshot, and what follows it in the log, unchecked (REPLICATION)."""
        states = self.producers
        states.truncate_and_reload(self.log_start_offset, self.log_end_offset, now)
        if states.map_end_offset < self.log_end_offset:
            for batch in self.stream(states.map_end_offset, self.log_end_offset):
                states.apply(batch)
            states.map_end_offset = self.log_end_offset
        states.take_snapshot()
        states.high_watermark_moved(self.high_watermark)
