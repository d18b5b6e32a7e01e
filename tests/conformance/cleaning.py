"""Writes logs for the cases of compaction and deletion: by default one record with a key each, values not said."""

from __future__ import annotations

from typing import Any

from kafkalab.log.cleaner import Cleaning, clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.segments import SEGMENT_BYTES
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker

RETENTION_MS = 100_000


class Written:
    """A log whose producers count their own sequences; everything appended is replicated at once."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.log = PartitionLog("p-0", rules)
        self.now = 1_000
        self.sequences: dict[int, int] = {}

    def data(self, producer_id: int, *keys: Any, txn: bool = True, value: Any = "v", epoch: int = 0) -> None:
        """One batch: a record for each key (None for no key) with the value (None for a tombstone)."""
        first = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = first + len(keys)
        plain = producer_id < 0
        self._append(
            Batch(
                records=tuple(Record(None if k is None else str(k), value) for k in keys),
                timestamp_ms=self.now,
                producer_id=producer_id,
                producer_epoch=-1 if plain else epoch,
                base_sequence=-1 if plain else first,
                transactional=txn and not plain,
            )
        )

    def end(self, control: str, producer_id: int, epoch: int = 0) -> None:
        self._append(marker(producer_id, epoch, ControlType[control], 0, self.now))

    def _append(self, batch: Batch) -> None:
        self.log.append(batch, 0)
        self.log.advance(self.log.log_end_offset)

    def clean(
        self, roll: bool = True, after_ms: int = 0, lag_ms: int = 0, segment_bytes: int = SEGMENT_BYTES
    ) -> Cleaning:
        """Let time pass, begin a new segment, clean what is cleanable."""
        self.now += after_ms
        if roll:
            self.log.roll(self.now)
        return clean(self.log, self.now, RETENTION_MS, lag_ms, segment_bytes)

    @property
    def offsets(self) -> list[int]:
        return [offset for b in self.log.batches for offset in b.offsets]

    @property
    def keys(self) -> list[str | None]:
        return [r.key for b in self.log.batches if b.control is None for r in b.records]

    @property
    def ends(self) -> list[int]:
        """The last offset of every batch, empty ones included."""
        return [b.last_offset for b in self.log.batches]

    @property
    def index(self) -> list[tuple[int, int, int, int]]:
        entries = self.log.transaction_index.entries
        return [(e.producer_id, e.first_offset, e.last_offset, e.last_stable_offset) for e in entries]

    def last_sequence(self, producer_id: int) -> int:
        return self.log.producers.entries[producer_id].last_sequence
