"""The uniform assignor, which is the default: as many partitions for each, and as few moves as possible
(`UniformAssignor`)."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.assignors.assignment import AssignorInput, Targets, in_java_order
from kafkalab.broker.group_coordinator.assignors.balance import balance_different_topics
from kafkalab.protocol.partitions import topic_of


def assign_uniformly(given: AssignorInput) -> Targets:
    """Return each member's partitions, none if no member wants a topic that exists."""
    if not given.partitions:
        return {}
    return _balance_same_topics(given) if given.is_homogeneous else balance_different_topics(given)


def _balance_same_topics(given: AssignorInput) -> Targets:
    """Members keep what they have up to their quota; what is left goes to those below theirs
    (`UniformHomogeneousAssignmentBuilder`)."""
    every = [p for topic in sorted(given.partitions) for p in given.partitions[topic]]
    taken = {p for member in given.members.values() for p in member.target}
    unassigned = [p for p in every if p not in taken]
    quota, extra = divmod(len(every), len(given.members))
    kept: dict[str, list[str]] = {}
    wanting: list[tuple[str, int]] = []
    order = in_java_order(given.members)
    for place, member_id in enumerate(order):
        left, has_extra = quota + (extra > 0), extra > 0
        kept[member_id], dropped, left = _keep(given.members[member_id].target, given, left)
        unassigned += dropped
        if left > 0 and has_extra and len(order) - place > extra:
            left, has_extra = left - 1, False
        if left > 0:
            wanting.append((member_id, left))
        extra -= has_extra
    rest = iter(unassigned)
    for member_id, left in wanting:
        kept[member_id] += [p for _, p in zip(range(left), rest, strict=False)]
    return {member_id: given.sort(partitions) for member_id, partitions in kept.items()}


def _keep(target: tuple[str, ...], given: AssignorInput, quota: int) -> tuple[list[str], list[str], int]:
    """Return what stays of a member's target, what it must give up, and what is left of its quota."""
    wanted = [p for p in given.sort(target) if topic_of(p) in given.partitions]
    return wanted[:quota], wanted[quota:], quota - len(wanted[:quota])
