"""Segments of a log: their sizes and file times, and their deletion by age, size and log start
(docs/protocol.md#retention)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.log.partition_log import PartitionLog

SEGMENT_BYTES = 2**30
NO_LIMIT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment as it is now: offsets [base_offset, end_offset), its size, and its file's time.

    `newest_ms` is the largest timestamp of its batches, -1 if it has none.
    """

    base_offset: int
    end_offset: int
    size_bytes: int
    newest_ms: int
    modified_ms: int


def segments_of(log: PartitionLog) -> list[Segment]:
    """All segments, in order; the last one is active. Without batches a file is as old as its checkpoint says."""
    found = []
    for base, end in zip(log.segments, [*log.segments[1:], log.log_end_offset], strict=True):
        newest, size = log.batches.extent(base, end)
        modified = max(newest, log.checkpoint.modified_ms.get(base, 0))
        found.append(Segment(base_offset=base, end_offset=end, size_bytes=size, newest_ms=newest, modified_ms=modified))
    return found


def delete_old_segments(
    log: PartitionLog, now: int, retention_ms: int = NO_LIMIT, retention_bytes: int = NO_LIMIT
) -> tuple[int, ...]:
    """Delete from the front what is too old, too much, or below the log start; the base offsets of what went.

    A segment goes only if all of it is below the high watermark. The active one goes too if it has records: a new one
    begins at the log's end first. -1 is no limit (`UnifiedLog.deleteOldSegments`).
    """
    segments = segments_of(log)
    doomed = 0
    while doomed < len(segments) and 0 <= retention_ms < now - _age_from(segments[doomed]):
        doomed += 1
    surplus = sum(s.size_bytes for s in segments) - retention_bytes if retention_bytes >= 0 else -1
    by_size = 0
    while by_size < len(segments) and surplus - segments[by_size].size_bytes >= 0:
        surplus -= segments[by_size].size_bytes
        by_size += 1
    by_start = sum(1 for s in segments[:-1] if s.end_offset <= log.log_start_offset)
    going = [s for s in segments[: max(doomed, by_size, by_start)] if s.end_offset <= log.high_watermark]
    if going and going[-1] is segments[-1] and not log.roll(now):
        going.pop()  # the active segment is empty
    if going:
        log.drop_segments(going[-1].end_offset)
    return tuple(s.base_offset for s in going)


def _age_from(segment: Segment) -> int:
    return segment.newest_ms if segment.newest_ms >= 0 else segment.modified_ms
