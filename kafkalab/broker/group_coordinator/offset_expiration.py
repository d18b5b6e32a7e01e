"""Offsets that nobody needs any more, and groups that nobody is in, get tombstones (`cleanupExpiredOffsets`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Note, Spawn
from kafkalab.broker.group_coordinator.consumer.changes import delete_group
from kafkalab.broker.group_coordinator.consumer.topics import is_subscribed
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.log import append_tombstones, declare_dead, find_group
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.log.group_offsets import GroupOffsets, StoredOffset
from kafkalab.protocol.partitions import offsets_partition, topic_of
from kafkalab.protocol.transition_tables.group import GroupAsk, GroupState, Move

MINUTE_MS = 60_000


def expire_offsets(broker: BrokerState) -> Effects[None]:
    """Every offsets.retention.check.interval.ms: one batch of tombstones per group that has some.

    An offset expires offsets.retention.minutes after its commit, or after a group of members became empty; never
    with a pending one for its partition. A group goes with its last offset, unless a transaction is open on it.
    """
    for partition, known in list(broker.newest_offsets.items()):
        if partition in broker.offsets_loading:
            continue
        names = dict.fromkeys([*known.groups, *(g for g in broker.groups if offsets_partition(g) == partition)])
        for name in names:
            consumers = known.consumer_groups.get(name)
            if consumers is not None:
                yield Spawn(_expire_consumer_group(broker, known, consumers))
                continue
            group = find_group(broker, name)
            if group is not None and group.state is not GroupState.DEAD:
                yield Spawn(_expire(broker, known, group))


def _expire(broker: BrokerState, known: GroupOffsets, group: ClassicGroup) -> Effects[None]:
    stored = known.offsets_of(group.group)
    expired = [p for p, o in stored.items() if _is_expired(broker, known, group, p, o)]
    outcome = group.ask(GroupAsk.EXPIRE)
    gone = len(expired) == len(stored) and not known.has_open_transaction(group.group) and isinstance(outcome, Move)
    gone = gone and not group.pending
    if not expired and not gone:
        return
    yield Note("offsets expired", {"group": group.group, "partitions": tuple(expired)})
    if gone:
        yield from declare_dead(broker, group)
    yield from append_tombstones(broker, group.group, expired, gone)


def _expire_consumer_group(broker: BrokerState, known: GroupOffsets, group: ConsumerGroup) -> Effects[None]:
    """Delete offsets of topics that no member wants; every one counts from its commit."""
    name, stored = group.group, known.offsets_of(group.group)
    kept = [p for p in stored if known.is_unstable(name, p) or is_subscribed(broker, group, topic_of(p))]
    expired = [p for p, o in stored.items() if p not in kept and _is_over(broker, o, o.commit_timestamp_ms)]
    gone = len(expired) == len(stored) and not group.members and not known.has_open_transaction(name)
    if not expired and not gone:
        return
    yield Note("offsets expired", {"group": name, "partitions": tuple(expired)})
    if gone:
        yield from delete_group(broker, group, expired)
    else:
        yield from append_tombstones(broker, name, expired)


def _is_expired(
    broker: BrokerState, known: GroupOffsets, group: ClassicGroup, partition: str, stored: StoredOffset
) -> bool:
    if known.is_unstable(group.group, partition) or group.subscribed_to(topic_of(partition)):
        return False
    since = stored.commit_timestamp_ms
    if group.protocol_type != "":
        if group.state is GroupState.EMPTY:
            since = group.state_since_ms if group.state_since_ms >= 0 else since
        elif group.state is not GroupState.STABLE or group.protocol_type != "consumer":
            return False
    return _is_over(broker, stored, since)


def _is_over(broker: BrokerState, stored: StoredOffset, since: int) -> bool:
    if stored.expire_timestamp_ms >= 0:
        return broker.now >= stored.expire_timestamp_ms
    return broker.now - since >= broker.config.offsets_retention_minutes * MINUTE_MS
