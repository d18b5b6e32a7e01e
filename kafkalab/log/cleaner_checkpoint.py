"""The progress of compaction in one log, which outlives a restart (`cleaner-offset-checkpoint`)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerCheckpoint:
    """All below `first_dirty_offset` was cleaned once. `modified_ms` has the file times of cleaned segments.

    A cleaned segment keeps the time of the newest one that went into it; that of any other is its newest batch's.
    """

    first_dirty_offset: int = 0
    modified_ms: dict[int, int] = field(default_factory=dict)
