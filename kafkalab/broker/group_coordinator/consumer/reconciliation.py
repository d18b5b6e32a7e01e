"""A member's way from its current assignment to its target: give up first, then take (`CurrentAssignmentBuilder`).

A member revokes what is not in its target and stays in its epoch until it says that it has. Then it goes into the
target's epoch and gets what no other member has; what others still have follows with a later heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kafkalab.log.consumer_groups import ConsumerMember
from kafkalab.protocol.consumer_group_records import MemberState
from kafkalab.protocol.partitions import topic_of

Owned = tuple[str, ...] | None
"""The partitions that a member says it has; None if it did not say."""


@dataclass(frozen=True, slots=True)
class Target:
    """The partitions that a member is to have at `epoch`; `partition_epoch` is -1 for one that no member has."""

    epoch: int
    partitions: tuple[str, ...]
    topics: tuple[str, ...]
    partition_epoch: Callable[[str], int]


def reconcile(member: ConsumerMember, target: Target, owned: Owned, subscription_changed: bool) -> ConsumerMember:
    """Return the member after the next step towards its target."""
    match member.state:
        case MemberState.STABLE if member.member_epoch == target.epoch:
            return _drop_unsubscribed(member, target, owned) if subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS if _owns_any(owned, member.pending_revocation):
            return _drop_unsubscribed(member, target, owned) if subscription_changed else member
    return _take_next(member, target, owned)


def _owns_any(owned: Owned, revoked: dict[str, int]) -> bool:
    return owned is None or any(p in revoked for p in owned)


def _drop_unsubscribed(member: ConsumerMember, target: Target, owned: Owned) -> ConsumerMember:
    """Take away the partitions of topics that the member no longer wants."""
    kept = {p: e for p, e in member.assigned.items() if topic_of(p) in target.topics}
    if kept == member.assigned:
        return member
    revoked = {**member.pending_revocation, **{p: e for p, e in member.assigned.items() if p not in kept}}
    changed = replace(member.with_epoch(member.member_epoch), assigned=kept)
    if _owns_any(owned, revoked):
        return replace(changed, state=MemberState.UNREVOKED_PARTITIONS, pending_revocation=revoked)
    return changed


def _take_next(member: ConsumerMember, target: Target, owned: Owned) -> ConsumerMember:
    wanted = tuple(p for p in target.partitions if topic_of(p) in target.topics)
    kept = {p: e for p, e in member.assigned.items() if p in wanted}
    revoked = {p: e for p, e in member.assigned.items() if p not in wanted}
    if revoked and _owns_any(owned, revoked):
        same_epoch = member.with_epoch(member.member_epoch)
        return replace(same_epoch, state=MemberState.UNREVOKED_PARTITIONS, assigned=kept, pending_revocation=revoked)
    missing = [p for p in wanted if p not in kept]
    free = [p for p in missing if target.partition_epoch(p) == -1 or p in member.pending_revocation]
    state = MemberState.STABLE if len(free) == len(missing) else MemberState.UNRELEASED_PARTITIONS
    assigned = {**kept, **dict.fromkeys(free, target.epoch)}
    return replace(member.with_epoch(target.epoch), state=state, assigned=assigned, pending_revocation={})
