"""The range assignor: of each topic every subscriber gets a run of partitions (`RangeAssignor`)."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.assignors.assignment import AssignorInput, Subscriber, Targets


def assign_ranges(given: AssignorInput) -> Targets:
    """Return each member's partitions: static members first, by instance id, then the others by member id.

    Where the partitions of a topic cannot be divided by its subscribers, the first ones get one more. Partitions with
    the same number of topics with as many go to the same member.
    """
    order = sorted(given.members.items(), key=lambda item: _place(*item))
    targets: dict[str, list[str]] = {member_id: [] for member_id, _ in order}
    for topic in sorted(given.partitions):
        subscribers = [member_id for member_id, member in order if topic in member.topics]
        partitions, start = given.partitions[topic], 0
        each, extra = divmod(len(partitions), len(subscribers))
        for place, member_id in enumerate(subscribers):
            end = start + each + (place < extra)
            targets[member_id] += partitions[start:end]
            start = end
    return {member_id: tuple(partitions) for member_id, partitions in targets.items()}


def _place(member_id: str, member: Subscriber) -> tuple[bool, str]:
    return (member.instance_id is None, member.instance_id or member_id)
