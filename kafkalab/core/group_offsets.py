"""The offsets that a group coordinator knows, as they follow from `__consumer_offsets` (`OffsetMetadataManager`)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.core.records import Batch, ControlType


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """The decoded value of an offset record: in `group`, reading of `partition` goes on at `offset`."""

    group: str
    partition: str
    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A committed offset and where its record lies: of two for one partition the later record wins."""

    offset: int
    metadata: str
    record_offset: int


class GroupOffsets:
    """Committed and pending offsets of all groups of one `__consumer_offsets` partition."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str, str], StoredOffset] = {}
        self.pending: dict[int, dict[tuple[str, str], StoredOffset]] = {}

    def apply(self, batch: Batch) -> None:
        """Replay one batch: plain commits count at once, transactional ones when their COMMIT marker comes."""
        if batch.control is not None:
            self._end(batch.producer_id, batch.control)
            return
        for i, record in enumerate(batch.records):
            entry: OffsetCommit = record.value
            stored = StoredOffset(entry.offset, entry.metadata, batch.base_offset + i)
            key = (entry.group, entry.partition)
            if batch.transactional:
                self.pending.setdefault(batch.producer_id, {})[key] = stored
            else:
                self.committed[key] = stored

    def _end(self, producer_id: int, control: ControlType) -> None:
        for key, stored in self.pending.pop(producer_id, {}).items():
            known = self.committed.get(key)
            if control is ControlType.COMMIT and (known is None or stored.record_offset > known.record_offset):
                self.committed[key] = stored

    def is_unstable(self, group: str, partition: str) -> bool:
        """Whether an undecided transaction has committed an offset for this partition."""
        return any((group, partition) in offsets for offsets in self.pending.values())
