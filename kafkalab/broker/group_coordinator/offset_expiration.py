"""Offsets that nobody needs any more, and groups that nobody is in, get tombstones (`cleanupExpiredOffsets`)."""

from __future__ import annotations

from kafkalab.broker.effects import Append, Appended, Effect, Note, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import find_group, group_note
from kafkalab.broker.group_coordinator.offsets import GroupOffsets, StoredOffset, group_key, offset_key
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState, Move
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import offsets_partition, topic_of
from kafkalab.protocol.records import Batch, Record

MINUTE_MS = 60_000


def expire_offsets(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """Every offsets.retention.check.interval.ms: one batch of tombstones per group that has some.

    An offset expires offsets.retention.minutes after its commit, or after a group of members became empty; never
    with a pending one for its partition. A group goes with its last offset, unless a transaction is open on it.
    """
    effects: list[Effect] = []
    for partition, known in list(broker.offsets.items()):
        if partition in broker.offsets_loading:
            continue
        names = dict.fromkeys([*known.groups, *(g for g in broker.groups if offsets_partition(g) == partition)])
        for name in names:
            group = find_group(broker, name)
            if group is not None and group.state is not GroupState.DEAD:
                effects += _expire(broker, known, group, now)
    return effects


def _expire(broker: BrokerState, known: GroupOffsets, group: ClassicGroup, now: int) -> list[Effect]:
    stored = known.offsets_of(group.group)
    expired = [p for p, o in stored.items() if _is_expired(broker, known, group, p, o, now)]
    keys = [offset_key(group.group, p) for p in expired]
    outcome = group.ask(GroupAsk.EXPIRE)
    gone = len(expired) == len(stored) and not known.has_open_transaction(group.group) and isinstance(outcome, Move)
    gone = gone and not group.pending
    notes: list[Effect] = []
    if gone:
        group.move(GroupState.DEAD, now)
        notes = [group_note(group)]
        keys.append(group_key(group.group))
    if not keys:
        return []
    batch = Batch(records=tuple(Record(k, None) for k in keys), timestamp_ms=now)
    then = Then(_expired, (group.group, gone))
    partition = offsets_partition(group.group)
    note = Note("offsets expired", {"group": group.group, "partitions": tuple(expired)})
    return [note, *notes, Append(partition, batch, broker.config.offsets_commit_timeout_ms, then)]


def _is_expired(
    broker: BrokerState, known: GroupOffsets, group: ClassicGroup, partition: str, stored: StoredOffset, now: int
) -> bool:
    if known.is_unstable(group.group, partition) or group.subscribed_to(topic_of(partition)):
        return False
    since = stored.commit_timestamp_ms
    if group.protocol_type != "":
        if group.state is GroupState.EMPTY:
            since = group.state_since_ms if group.state_since_ms >= 0 else since
        elif group.state is not GroupState.STABLE or group.protocol_type != "consumer":
            return False
    if stored.expire_timestamp_ms >= 0:
        return now >= stored.expire_timestamp_ms
    return now - since >= broker.config.offsets_retention_minutes * MINUTE_MS


def _expired(broker: BrokerState, result: Appended, now: int, group_id: str, gone: bool) -> list[Effect]:
    """The group exists no more; if the tombstones were not replicated, it is as it was."""
    group = broker.groups.get(group_id)
    if not gone or group is None or group.state is not GroupState.DEAD:
        return []
    if result.error is Error.NONE:
        del broker.groups[group_id]
    else:
        group.state, group.state_since_ms = group.previous_state, now
    return []
