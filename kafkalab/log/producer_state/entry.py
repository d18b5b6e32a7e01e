"""A replica's memory of one producer id, and of a verification under way (`ProducerStateEntry`,
docs/protocol.md#transaction-on-append)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.protocol.records import NO_PRODUCER_EPOCH, NO_SEQUENCE, SEQUENCE_MAX, Batch, sequence_after

CACHED_BATCHES = 5
NO_OFFSET = -1


@dataclass(frozen=True, slots=True)
class CachedBatch:
    """A data batch in the log, by which its retry is recognised. `offset_delta` is its last offset less its first."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class ProducerEntry:
    """One producer id on one partition; `batches` are its newest data batches of the present epoch, oldest first.

    `last_timestamp_ms` is that of its newest batch, markers included: by it a producer id expires.
    """

    producer_epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = -1
    batches: list[CachedBatch] = field(default_factory=list)
    txn_first_offset: int | None = None
    last_timestamp_ms: int = -1

    @property
    def first_sequence(self) -> int:
        return self.batches[0].first_sequence if self.batches else NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def find_duplicate(self, batch: Batch) -> CachedBatch | None:
        """The remembered batch of the same epoch and exactly the same sequences, if there is one."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        first, last = batch.base_sequence, batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last and known.first_sequence == first:
                return known
        return None

    def take_epoch(self, epoch: int) -> None:
        """A different epoch is the present one from now on; the batches of the old one are forgotten."""
        if epoch != self.producer_epoch:
            self.producer_epoch = epoch
            self.batches = []

    def remember(self, batch: Batch, capacity: int) -> None:
        """The data batch is in the log; beyond `capacity` the oldest one is forgotten."""
        self.take_epoch(batch.producer_epoch)
        delta = batch.offset_delta
        last_sequence = sequence_after(batch.base_sequence, delta)
        self.batches.append(CachedBatch(last_sequence, batch.base_offset + delta, delta, batch.timestamp_ms))
        if len(self.batches) > capacity:
            del self.batches[0]
        self.last_timestamp_ms = batch.timestamp_ms


@dataclass(slots=True)
class Verification:
    """A producer's request to write under way: `guard` must be shown at the append (`VerificationStateEntry`)."""

    guard: int
    lowest_sequence: int
    producer_epoch: int
    supports_epoch_bump: bool
    created_ms: int = 0

    def update(self, sequence: int, epoch: int) -> None:
        """Another request of the producer: a higher epoch begins anew, the same one may lower the sequence."""
        if epoch > self.producer_epoch:
            self.producer_epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


@dataclass(frozen=True, slots=True)
class CompletedTxn:
    """A transaction that a marker ended: `last_offset` is the marker's own."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
