"""A ConsumerGroupHeartbeat at the coordinator: what the member wants, the group's target, the member's next step.

`GroupMetadataManager.consumerGroupHeartbeat`: each step adds records to one list, which is appended in the end; the
group follows its records.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kafkalab.broker.group_coordinator.assignors.assignment import Targets
from kafkalab.broker.group_coordinator.assignors.range_assignor import assign_ranges
from kafkalab.broker.group_coordinator.assignors.uniform import assign_uniformly
from kafkalab.broker.group_coordinator.consumer import records
from kafkalab.broker.group_coordinator.consumer.guards import ASSIGNORS, check_epoch, check_instance
from kafkalab.broker.group_coordinator.consumer.reconciliation import Target, reconcile
from kafkalab.broker.group_coordinator.consumer.topics import assignor_input, existing_topics, metadata_hash
from kafkalab.broker.patterns import compile_pattern
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup, ConsumerMember
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_heartbeat import JOIN, ConsumerGroupHeartbeat
from kafkalab.protocol.records import Record

BY_NAME = dict(zip(ASSIGNORS, (assign_uniformly, assign_ranges), strict=True))


@dataclass(slots=True)
class Step:
    """One heartbeat on its way: the group as it is, the member before and after, and the records so far."""

    broker: BrokerState
    group: ConsumerGroup
    before: ConsumerMember
    after: ConsumerMember
    replaces: str = ""
    """The id of the member whose place a static member takes."""
    moved: bool = False
    """True if the member has come closer to its target."""
    changes: list[Record] = field(default_factory=list)

    @property
    def members(self) -> dict[str, ConsumerMember]:
        """The group's members, with this one as it is to be."""
        kept = {k: m for k, m in self.group.members.items() if k != self.replaces}
        return {**kept, self.after.member_id: self.after}

    @property
    def targets(self) -> Targets:
        """The group's targets; a static member that comes back has that of the member it replaces."""
        found = dict(self.group.targets)
        if self.replaces:
            found[self.after.member_id] = found.pop(self.replaces, ())
        return found


def begin(broker: BrokerState, group: ConsumerGroup, request: ConsumerGroupHeartbeat, client_id: str) -> Step | Error:
    """Find the request's member, or a new one, as it says that it is from now on; or return why it is refused."""
    known = group.members.get(request.member_id)
    replaced = None
    if request.instance_id is not None and request.member_epoch == JOIN:
        replaced = group.static_member(request.instance_id)
    elif request.instance_id is not None:
        error = check_instance(group, request.instance_id, request.member_id)
        if error is not Error.NONE:
            return error
    if replaced is not None:
        known = replace(replaced, member_id=request.member_id, member_epoch=0, previous_member_epoch=0)
    elif known is None:
        if request.member_epoch != JOIN:
            return Error.UNKNOWN_MEMBER_ID
        known = ConsumerMember(member_id=request.member_id)
    error = check_epoch(known, request)
    if error is not Error.NONE:
        return error
    step = Step(broker, group, known, _apply_request(known, request, client_id))
    regex = step.after.subscribed_topic_regex
    if regex not in ("", known.subscribed_topic_regex) and compile_pattern(regex) is None:
        return Error.INVALID_REGULAR_EXPRESSION
    if replaced is not None:
        _replace(step, replaced)
    return step


def _apply_request(member: ConsumerMember, request: ConsumerGroupHeartbeat, client_id: str) -> ConsumerMember:
    """Return the member with what the request says; what it leaves out stays."""
    topics, regex, timeout_ms = (
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.rebalance_timeout_ms,
    )
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        client_id=client_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=request.server_assignor or member.server_assignor,
        subscribed_topic_names=member.subscribed_topic_names if topics is None else tuple(sorted(set(topics))),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
    )


def _replace(step: Step, old: ConsumerMember) -> None:
    """A static member comes back: its new member id takes the old one's place, target and partitions."""
    name, new = step.group.group, step.before
    step.replaces = old.member_id
    step.changes += records.removal(name, old.member_id)
    step.changes.append(records.subscription(name, new))
    step.changes.append(records.target(name, new.member_id, step.group.targets.get(old.member_id, ())))
    step.changes.append(records.current(name, new))


def advance(step: Step, request: ConsumerGroupHeartbeat) -> None:
    """Bring the group into its next epoch if the member wants something else, and the member closer to its target."""
    name, before, after = step.group.group, step.before, step.after
    if after != before:
        step.changes.append(records.subscription(name, after))
    wants_others = _subscription_of(after) != _subscription_of(before)
    epoch = _next_epoch(step, wants_others)
    target_epoch, partitions = _next_target(step, epoch)
    if not wants_others and after.is_reconciled_to(target_epoch):
        return
    target = Target(target_epoch, partitions, existing_topics(step.broker, after), step.group.partition_epoch)
    step.after = reconcile(after, target, request.topic_partitions, wants_others)
    step.moved = step.after != after
    if step.moved:
        step.changes.append(records.current(name, step.after))


def _subscription_of(member: ConsumerMember) -> tuple[tuple[str, ...], str]:
    return member.subscribed_topic_names, member.subscribed_topic_regex


def _next_epoch(step: Step, wants_others: bool) -> int:
    group, members = step.group, step.members
    hashed = metadata_hash(step.broker, members.values())
    same_assignor = _next_assignor(step) == preferred_assignor(group.members)
    if not wants_others and hashed == group.metadata_hash and same_assignor:
        return group.epoch
    step.changes.append(records.group_epoch(group.group, group.epoch + 1, hashed))
    return group.epoch + 1


def preferred_assignor(members: dict[str, ConsumerMember]) -> str:
    """Return the assignor that most members name, the default if none names one or both have as many."""
    return _most_named(_count_assignors(members))


def _count_assignors(members: dict[str, ConsumerMember]) -> dict[str, int]:
    named = [member.server_assignor for member in members.values()]
    return {name: named.count(name) for name in ASSIGNORS if name in named}


def _most_named(counts: dict[str, int]) -> str:
    return max(counts, key=counts.__getitem__, default=ASSIGNORS[0])


def _next_assignor(step: Step) -> str:
    """Return the assignor that most members will name.

    Of two with as many Kafka takes the first in a hash map, where a name that is counted anew comes first: so each
    heartbeat of the only member that names "range" changes the preference, and the group's epoch
    (`ConsumerGroup.computePreferredServerAssignor`).
    """
    counts = _count_assignors(step.group.members)
    old, new = step.before.server_assignor, step.after.server_assignor
    if old in counts:
        counts[old] -= 1
        counts = {name: count for name, count in counts.items() if count}
    if new is not None:
        counts = counts if new in counts else {new: 0, **counts}
        counts[new] += 1
    return _most_named(counts)


def _next_target(step: Step, epoch: int) -> tuple[int, tuple[str, ...]]:
    """Return the epoch of the target, and what the member is to have: the present one if it is for this epoch, or was
    computed less than group.consumer.assignment.interval.ms ago (KIP-1263)."""
    group, broker, member_id = step.group, step.broker, step.after.member_id
    targets = step.targets
    due_ms = group.assignment_timestamp_ms + broker.config.group_consumer_assignment_interval_ms
    is_too_early = group.assignment_timestamp_ms != 0 and broker.now < due_ms
    if group.assignment_epoch >= epoch or is_too_early:
        return group.assignment_epoch, targets.get(member_id, ())
    members = step.members
    assign = BY_NAME[_next_assignor(step)]
    assigned = assign(assignor_input(broker, members, targets))
    for other in members:
        if other not in targets or assigned.get(other, ()) != targets[other]:
            step.changes.append(records.target(group.group, other, assigned.get(other, ())))
    step.changes.append(records.target_epoch(group.group, epoch, broker.now))
    return epoch, assigned.get(member_id, ())
