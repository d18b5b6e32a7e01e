"""Members of consumer groups that must do something in time: give a sign of life, give up partitions.

Timers are background: they do not keep a run going.
"""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Sleep, Spawn
from kafkalab.broker.group_coordinator.consumer.changes import fence
from kafkalab.broker.group_coordinator.log import find_consumer_group
from kafkalab.broker.state import BrokerState, ConsumerTimer
from kafkalab.log.consumer_groups import ConsumerGroup, ConsumerMember
from kafkalab.protocol.consumer_group_records import MemberState
from kafkalab.protocol.partitions import offsets_partition

SESSION, REVOCATION = "session", "revocation"


def renew_session(broker: BrokerState, group_id: str, member_id: str) -> Effects[None]:
    """Let the member's session end group.consumer.session.timeout.ms from now, unless it is renewed before."""
    yield from _set(broker, (SESSION, group_id, member_id), broker.config.group_consumer_session_timeout_ms, -1)


def watch_revocation(broker: BrokerState, group_id: str, member: ConsumerMember) -> Effects[None]:
    """Remove the member if it has not given up its partitions within its rebalance timeout."""
    key = (REVOCATION, group_id, member.member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        yield from _set(broker, key, member.rebalance_timeout_ms, member.member_epoch)
    else:
        broker.consumer_deadlines.pop(key, None)


def watch_members(broker: BrokerState, group: ConsumerGroup) -> Effects[None]:
    """Begin every member's session anew: this broker has read the group back (`GroupMetadataManager.onLoaded`)."""
    for member in list(group.members.values()):
        yield from renew_session(broker, group.group, member.member_id)
        yield from watch_revocation(broker, group.group, member)


def cancel(broker: BrokerState, group_id: str, member_id: str) -> None:
    """Forget what the member had to do in time."""
    for kind in (SESSION, REVOCATION):
        broker.consumer_deadlines.pop((kind, group_id, member_id), None)


def forget_members(broker: BrokerState, partition: str) -> None:
    """Forget what members had to do in time: this broker no longer coordinates the groups of this partition."""
    kept = {k: ms for k, ms in broker.consumer_deadlines.items() if offsets_partition(k[1]) != partition}
    broker.consumer_deadlines = kept


def _set(broker: BrokerState, key: ConsumerTimer, timeout_ms: int, epoch: int) -> Effects[None]:
    watched = broker.consumer_deadlines.get(key, -1)
    broker.consumer_deadlines[key] = broker.now + timeout_ms
    if not broker.now < watched <= broker.now + timeout_ms:  # else the timer that is set looks again
        yield Spawn(_watch(broker, key, timeout_ms, epoch))


def _watch(broker: BrokerState, key: ConsumerTimer, delay_ms: int, epoch: int) -> Effects[None]:
    """Remove the member at its deadline; with `epoch` only if it is still in that epoch."""
    while delay_ms > 0:
        yield Sleep(delay_ms, background=True)
        deadline_ms = broker.consumer_deadlines.get(key)
        if deadline_ms is None:
            return
        delay_ms = deadline_ms - broker.now
    _, group_id, member_id = key
    broker.consumer_deadlines.pop(key, None)
    group = find_consumer_group(broker, group_id)
    member = group.members.get(member_id) if group else None
    if group is not None and member is not None and epoch in (-1, member.member_epoch):
        cancel(broker, group_id, member_id)
        yield from fence(broker, group, member)
