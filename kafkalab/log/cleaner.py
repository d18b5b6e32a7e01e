"""Compaction that knows transactions: of each key the newest committed value stays (docs/protocol.md#compaction;
`Cleaner`).

A cleaning goes through the log twice: once to learn each key's newest offset, once to write the segments anew.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, fields

from kafkalab.log.cleaned_transactions import CleanedTransactions
from kafkalab.log.cleaner_checkpoint import CleanerCheckpoint
from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.entry import NO_OFFSET
from kafkalab.log.segments import SEGMENT_BYTES, Segment, segments_of
from kafkalab.protocol.records import Batch, CleanedBatch, Record
from kafkalab.protocol.rules import DELETE_HORIZON, LAST_BATCH_STAYS, NO_NEEDLESS_BATCH

DELETE_RETENTION_MS = 86_400_000
NO_HORIZON = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """One cleaning: it cleaned [log start, `end`), of which all from `first_dirty` on for the first time."""

    first_dirty: int
    end: int
    batches_removed: int = 0
    records_removed: int = 0
    horizons_set: int = 0

    @property
    def changed(self) -> bool:
        """True if the log is another one now."""
        return bool(self.batches_removed or self.records_removed or self.horizons_set)


def cleanable_end(log: PartitionLog, newest_ms: int | None = None) -> int:
    """Return where a cleaning ends: at the base of the segment that holds the last stable offset, of the active one,
    or of the first dirty one with a record newer than `newest_ms` (`LogCleanerManager.cleanableOffsets`)."""
    end = min(log.last_stable_offset, log.segments[-1])
    if newest_ms is not None:
        first_dirty = max(log.checkpoint.first_dirty_offset, log.log_start_offset)
        for base, upper in zip(log.segments, log.segments[1:], strict=False):
            if upper > first_dirty and log.batches.extent(base, upper)[0] > max(newest_ms, -1):
                end = min(end, base)
                break
    return log.segments[max(bisect_right(log.segments, end) - 1, 0)]


def is_dirty(log: PartitionLog) -> bool:
    """Return True if a cleaning would meet records for the first time; any other log is left alone, whatever has become
    removable in it meanwhile (`LogCleanerManager.grabFilthiestCompactedLog`)."""
    return cleanable_end(log) > max(log.checkpoint.first_dirty_offset, log.log_start_offset)


def clean(
    log: PartitionLog,
    now: int,
    delete_retention_ms: int = DELETE_RETENTION_MS,
    min_compaction_lag_ms: int = 0,
    segment_bytes: int = SEGMENT_BYTES,
) -> Cleaning:
    """The log compacted, cleaned neighbours merged up to `segment_bytes`; producer state is as it was.

    `now` and the limits are in milliseconds. Nothing changes where nothing is cleanable.
    """
    end = cleanable_end(log, now - min_compaction_lag_ms if min_compaction_lag_ms > 0 else None)
    dirty = min(max(log.checkpoint.first_dirty_offset, log.log_start_offset), end)
    if end <= log.log_start_offset:
        return Cleaning(first_dirty=dirty, end=end)
    return _Cleaner(log, now, delete_retention_ms, end, dirty).run(segment_bytes)


def would_clean(log: PartitionLog, now: int, delete_retention_ms: int = DELETE_RETENTION_MS) -> bool:
    """Return True if the cleaner would change the log right after a new segment has begun; the log stays as it is."""
    if not log.batches:
        return False
    rolled = copy(log)
    rolled.segments = list(dict.fromkeys((*log.segments, log.log_end_offset)))
    if not is_dirty(rolled):
        return False
    end = cleanable_end(rolled)
    dirty = min(max(log.checkpoint.first_dirty_offset, log.log_start_offset), end)
    return _Cleaner(rolled, now, delete_retention_ms, end, dirty).would_change()


class _Cleaner:
    """One cleaning of one log."""

    def __init__(self, log: PartitionLog, now: int, delete_retention_ms: int, end: int, dirty: int) -> None:
        self.log = log
        self.now = now
        self.delete_retention_ms = delete_retention_ms
        self.end = end
        self.dirty = dirty
        self.start = log.segments[0]
        rules = log.producers.rules
        self.horizons = rules.on(DELETE_HORIZON)
        self.keeps_last = rules.on(LAST_BATCH_STAYS)
        self.last_end = log.high_watermark if rules.on(NO_NEEDLESS_BATCH) else end
        self.newest: dict[str, int] = {}
        self.horizons_set = 0

    def run(self, segment_bytes: int) -> Cleaning:
        log = self.log
        source = log.batches_between(0, self.end)
        self.newest = {key: offset for key, offset in self._dirty_keys(source) if key is not None}
        transactions = self._transactions(self.start)
        segments = self._segments()
        cleaned = [kept for _, kept in self._pairs(source, transactions) if kept is not None]
        before = sum(len(b.records) for b in source)
        log.replace_batches(self.start, self.end, cleaned)
        log.transaction_index.replace(self.start, self.end, transactions.kept)
        self._merge(segments, segment_bytes)
        return Cleaning(
            first_dirty=self.dirty,
            end=self.end,
            batches_removed=len(source) - len(cleaned),
            records_removed=before - sum(len(b.records) for b in cleaned),
            horizons_set=self.horizons_set,
        )

    def would_change(self) -> bool:
        """Return whether a run would change the log; read it up to the first record or batch that it would change."""
        for key, offset in self._dirty_keys(self.log.stream(0, self.end)):
            if key is None or key in self.newest:
                return True
            self.newest[key] = offset
        return any(
            kept is None or self.horizons_set or len(kept.records) != len(batch.records)
            for batch, kept in self._pairs(self.log.stream(0, self.end), self._transactions(self.start))
        )

    def _segments(self) -> list[Segment]:
        return [s for s in segments_of(self.log)[:-1] if s.base_offset < self.end]

    def _pairs(
        self, source: Iterable[Batch], transactions: CleanedTransactions
    ) -> Iterator[tuple[Batch, Batch | None]]:
        """Yield each batch with what is left of it."""
        bases = self.log.segments
        old_times = {} if self.horizons else {s.base_offset: s.modified_ms for s in self._segments()}
        legacy_horizon = self._legacy_horizon(old_times)
        for batch in source:
            base = bases[bisect_right(bases, batch.base_offset) - 1]
            yield batch, self._clean(batch, transactions, old_times.get(base, self.now) <= legacy_horizon)

    def _transactions(self, base_offset: int) -> CleanedTransactions:
        """Return the aborted ones whose markers are at `base_offset` or behind it, perhaps behind the end."""
        return CleanedTransactions(self.log.transaction_index.between(base_offset, self.log.log_end_offset))

    def _dirty_keys(self, source: Iterable[Batch]) -> Iterator[tuple[str | None, int]]:
        """Yield the key and the offset of each record that is dirty; not of markers and aborted records."""
        transactions = self._transactions(self.dirty)
        for batch in source:
            if batch.last_offset < self.dirty:
                continue
            if batch.control is not None:
                transactions.marker_read(batch)
            elif not transactions.data_read(batch):
                for offset, record in zip(batch.offsets, batch.records, strict=True):
                    if offset >= self.dirty:
                        yield record.key, offset

    def _legacy_horizon(self, times: dict[int, int]) -> int:
        """Before KIP-534: tombstones and markers go from segments this much older than the newest clean one."""
        clean = [time for base, time in times.items() if base < self.dirty]
        return clean[-1] - self.delete_retention_ms if clean else 0

    def _clean(self, batch: Batch, transactions: CleanedTransactions, old_enough: bool) -> Batch | None:
        """Return what is left of a batch: the batch itself, another one with the same offsets, or nothing."""
        horizon = batch.delete_horizon_ms if isinstance(batch, CleanedBatch) else NO_HORIZON
        if self.horizons:
            old_enough = horizon != NO_HORIZON and horizon <= self.now
        if batch.control is not None:
            unneeded = transactions.marker_read(batch)
            discarded = unneeded and old_enough
        else:
            unneeded, discarded = False, transactions.data_read(batch)
        kept = [] if discarded else self._records(batch, old_enough)
        if not kept:
            return self._empty(batch) if self._stays(batch) else None
        wants_horizon = unneeded or any(record.value is None for _, record in kept if batch.control is None)
        if self.horizons and wants_horizon and horizon == NO_HORIZON:
            horizon = self.now + self.delete_retention_ms
            self.horizons_set += 1
        elif len(kept) == len(batch.records):
            return batch
        deltas = tuple(offset - batch.base_offset for offset, _ in kept)
        return _rewritten(batch, tuple(record for _, record in kept), deltas, horizon)

    def _records(self, batch: Batch, old_enough: bool) -> list[tuple[int, Record]]:
        """The records that stay, with their offsets. One without a key has no place in a compacted topic."""
        pairs = list(zip(batch.offsets, batch.records, strict=True))
        if batch.control is not None:
            return pairs
        return [
            (offset, record)
            for offset, record in pairs
            if record.key is not None
            and offset >= self.newest.get(record.key, NO_OFFSET)
            and (record.value is not None or not old_enough)
        ]

    def _stays(self, batch: Batch) -> bool:
        """Return True if an empty batch stays: a producer's last one, or the one that ends at `last_end`.

        Without the latter the log could end at a lower offset than before (KAFKA-17076).
        """
        if batch.last_offset == self.last_end - 1:
            return True
        entry = self.log.producers.entries.get(batch.producer_id)
        if entry is None or not self.keeps_last:
            return False
        if entry.last_data_offset != NO_OFFSET:
            return batch.last_offset == entry.last_data_offset
        return batch.control is not None and batch.producer_epoch == entry.producer_epoch

    def _empty(self, batch: Batch) -> Batch:
        return _rewritten(batch, (), (), NO_HORIZON)

    def _merge(self, segments: list[Segment], segment_bytes: int) -> None:
        """Neighbours that fit into one segment become one; its file time is the newest of those it was made of."""
        log = self.log
        modified: dict[int, int] = {}
        room, into = -1, -1
        for segment in segments:
            room -= segment.size_bytes
            if room < 0:
                room, into = segment_bytes - segment.size_bytes, segment.base_offset
                modified[into] = segment.modified_ms
            else:
                log.segments.remove(segment.base_offset)
                log.producers.snapshots.pop(segment.base_offset, None)
                modified[into] = max(modified[into], segment.modified_ms)
        log.checkpoint = CleanerCheckpoint(first_dirty_offset=self.end, modified_ms=modified)


def _rewritten(batch: Batch, records: tuple[Record, ...], deltas: tuple[int, ...], horizon: int) -> CleanedBatch:
    told = {f.name: getattr(batch, f.name) for f in fields(Batch)} | {"last_offset_delta": batch.offset_delta}
    return CleanedBatch(**told | {"records": records}, offset_deltas=deltas, delete_horizon_ms=horizon)
