"""A replica's log of one partition: batches, high watermark, last stable offset, aborted transactions (facts 4)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from kafkalab.core.producer_state import CompletedTxn, ProducerStates
from kafkalab.core.records import Batch
from kafkalab.core.transaction_index import AbortedTxn, TransactionIndex


class PartitionLog:
    """Batches in offset order. What follows from them (producer state, LSO, aborted index) is kept up to date."""

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.batches: list[Batch] = []
        self.high_watermark = 0
        self.log_start_offset = 0
        self.segments: list[int] = [0]
        """Base offsets, in order; the last one is the active segment's."""
        self.producers = ProducerStates()
        self.transaction_index = TransactionIndex()
        self._unreplicated: list[CompletedTxn] = []
        self.log_end_offset = 0
        """The offset that the next record gets."""
        self._bases: list[int] = []
        self._epochs: list[tuple[int, int]] = []  # leader epoch, its first offset

    @property
    def last_stable_offset(self) -> int:
        """All below is decided and replicated: the first unstable offset if below the high watermark, else that.

        A completed transaction stays unstable until its marker is below the high watermark (`UnifiedLog`).
        """
        firsts = list(self.producers.ongoing.values()) + [t.first_offset for t in self._unreplicated]
        if not firsts:
            return self.high_watermark
        return min(max(min(firsts), self.log_start_offset), self.high_watermark)

    def append(self, batch: Batch, leader_epoch: int) -> Batch:
        """The batch as appended by a leader: with its base offset and leader epoch."""
        appended = replace(batch, base_offset=self.log_end_offset, leader_epoch=leader_epoch)
        self.replicate(appended)
        return appended

    def replicate(self, batch: Batch) -> None:
        """Take over a batch whose offset a leader assigned; it must follow the last one."""
        assert batch.base_offset == self.log_end_offset, f"{self.partition}: a hole before {batch.base_offset}"
        self.batches.append(batch)
        self._bases.append(batch.base_offset)
        self.log_end_offset = batch.last_offset + 1
        if not self._epochs or self._epochs[-1][0] != batch.leader_epoch:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        completed = self.producers.applied(batch)
        if completed is None:
            return
        self._unreplicated.append(completed)
        if completed.aborted:
            others = list(self.producers.ongoing.values())
            stable = min(others) if others else completed.last_offset + 1
            self.transaction_index.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
            )

    def roll(self, now: int) -> bool:
        """Begin a new segment at the log's end; nothing happens while the active one is empty. Whether it did."""
        if self.segments[-1] >= self.log_end_offset:
            return False
        self.segments.append(self.log_end_offset)
        return True

    def advance(self, high_watermark: int) -> bool:
        """Raise the high watermark, never beyond the log's end and never back; whether it moved."""
        new = min(high_watermark, self.log_end_offset)
        if new <= self.high_watermark:
            return False
        self.high_watermark = new
        if self._unreplicated:
            self._unreplicated = [t for t in self._unreplicated if t.last_offset >= new]
        return True

    def read(self, offset: int, upper: int) -> list[Batch]:
        """The batches that hold offsets from `offset` on, of which the first offset is below `upper`."""
        start = max(bisect_right(self._bases, offset) - 1, 0)
        end = bisect_right(self._bases, upper - 1)
        found = self.batches[start:end]
        return found[1:] if found and found[0].last_offset < offset else found

    def aborted_between(self, offset: int, upper: int) -> tuple[AbortedTxn, ...]:
        """The aborted transactions that overlap [offset, upper): what Fetch returns to read_committed."""
        return self.transaction_index.collect(offset, upper)[0]

    def end_offset_for(self, leader_epoch: int) -> int:
        """Where the log of this leader epoch ends: the base offset of the first batch of a newer one (KIP-101)."""
        for epoch, first_offset in self._epochs:
            if epoch > leader_epoch:
                return first_offset
        return self.log_end_offset

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, -1 for an empty log."""
        return self.batches[-1].leader_epoch if self.batches else -1

    def truncate(self, offset: int) -> None:
        """Drop everything from `offset` on and rebuild what follows from the rest."""
        kept = [b for b in self.batches if b.base_offset < offset]
        high_watermark = min(self.high_watermark, offset)
        self.batches, self._bases, self._epochs = [], [], []
        self.log_end_offset = self.log_start_offset
        self.producers, self.transaction_index, self._unreplicated = ProducerStates(), TransactionIndex(), []
        self.high_watermark = 0
        self.segments = [base for base in self.segments if base < offset] or [self.log_start_offset]
        for batch in kept:
            self.replicate(batch)
        self.advance(high_watermark)

    def reloaded(self) -> PartitionLog:
        """The log as read back after a restart: verification guards are forgotten, the records are not."""
        log = PartitionLog(self.partition)
        log.segments = list(self.segments)
        for batch in self.batches:
            log.replicate(batch)
        log.advance(self.high_watermark)
        return log
