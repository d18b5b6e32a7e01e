"""The offsets that a group coordinator knows, as they follow from `__consumer_offsets` (`OffsetMetadataManager`)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.protocol.consumer_group_records import GroupEpoch, GroupRecord, parse_record_key
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.records import Batch, ControlType, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """The decoded value of an offset record: in `group`, reading of `partition` goes on at `offset`."""

    group: str
    partition: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int = -1


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A committed offset and where its record lies: of two for one partition the later record wins."""

    offset: int
    metadata: str
    record_offset: int
    leader_epoch: int = -1
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int = -1


def offset_key(group: str, partition: str) -> str:
    """The key of an offset record; a topic has no slash in its name, so the last slash divides."""
    return f"{group}/{partition}"


def group_key(group: str) -> str:
    """The key of a group record: that of an offset of no partition."""
    return f"{group}/"


class GroupOffsets:
    """Committed and pending offsets, and the group records, of one `__consumer_offsets` partition.

    With `newest_wins` a pending offset that was overtaken by a later plain commit is dropped when its transaction
    commits (KAFKA-14505); without, the transaction's offset overrides.
    """

    def __init__(self, newest_wins: bool = True) -> None:
        self.newest_wins = newest_wins
        self.committed: dict[tuple[str, str], StoredOffset] = {}
        self.pending: dict[int, dict[tuple[str, str], StoredOffset]] = {}
        self.groups: dict[str, GroupEntry | None] = {}
        """Every group by its id; None for a simple one, of which only offsets are known, and for a consumer group."""
        self.consumer_groups: dict[str, ConsumerGroup] = {}

    def apply(self, batch: Batch) -> None:
        """Replay one batch: plain commits count at once, transactional ones when their COMMIT marker comes."""
        if batch.control is not None:
            self._end(batch.producer_id, batch.control)
            return
        for offset, record in zip(batch.offsets, batch.records, strict=True):
            self._replay(record, batch, offset)

    def _replay(self, record: Record, batch: Batch, record_offset: int) -> None:
        entry = record.value
        if entry is None:
            self._remove(record.key or "")
            return
        if isinstance(entry, GroupEntry):
            self.groups[entry.group] = entry
            return
        if not isinstance(entry, OffsetCommit):
            self._replay_consumer_group(entry)
            return
        self.groups.setdefault(entry.group, None)
        stored = StoredOffset(
            entry.offset,
            entry.metadata,
            record_offset,
            entry.leader_epoch,
            entry.commit_timestamp_ms,
            entry.expire_timestamp_ms,
        )
        place = self.pending.setdefault(batch.producer_id, {}) if batch.transactional else self.committed
        place[entry.group, entry.partition] = stored

    def _replay_consumer_group(self, record: GroupRecord) -> None:
        """Take a record of a consumer group into account; a classic group of that id is no more."""
        group = self.consumer_groups.get(record.group)
        if group is None:
            group = self.consumer_groups[record.group] = ConsumerGroup(record.group)
            self.groups[record.group] = None
        group.replay(record)

    def _forget_consumer_group(self, kind: str, name: str, member_id: str) -> None:
        group = self.consumer_groups.get(name)
        if group is not None and kind == GroupEpoch.kind:
            del self.consumer_groups[name]
            self.groups.pop(name, None)
        elif group is not None:
            group.forget(kind, member_id)

    def _remove(self, key: str) -> None:
        """A tombstone: of a group, or of an offset, the pending ones included."""
        of_consumer_group = parse_record_key(key)
        if of_consumer_group is not None:
            self._forget_consumer_group(*of_consumer_group)
            return
        group, _, partition = key.rpartition("/")
        if partition == "":
            self.groups.pop(group, None)
            return
        self.committed.pop((group, partition), None)
        for producer_id, offsets in list(self.pending.items()):
            offsets.pop((group, partition), None)
            if not offsets:
                del self.pending[producer_id]

    def _end(self, producer_id: int, control: ControlType) -> None:
        for key, stored in self.pending.pop(producer_id, {}).items():
            if control is not ControlType.COMMIT:
                continue
            known = self.committed.get(key)
            if known is None or not self.newest_wins or stored.record_offset > known.record_offset:
                self.committed[key] = stored

    def is_unstable(self, group: str, partition: str) -> bool:
        """Return True if an undecided transaction has committed an offset for this partition."""
        return any((group, partition) in offsets for offsets in self.pending.values())

    def has_open_transaction(self, group: str) -> bool:
        """Return True if an undecided transaction has committed any offset of the group."""
        return any(key[0] == group for offsets in self.pending.values() for key in offsets)

    def offsets_of(self, group: str) -> dict[str, StoredOffset]:
        """The group's committed offsets, by partition."""
        return {key[1]: stored for key, stored in self.committed.items() if key[0] == group}

    def partitions_of(self, group: str) -> list[str]:
        """The partitions of which the group has an offset, committed or pending."""
        pending = [p for offsets in self.pending.values() for g, p in offsets if g == group]
        return list(dict.fromkeys([*self.offsets_of(group), *pending]))
