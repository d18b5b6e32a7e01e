"""The assignors of a group's leader: range and round robin (`RangeAssignor`, `RoundRobinAssignor`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TypeAlias

from kafkalab.protocol.messages.join_group import JoinedMember

Partitions: TypeAlias = dict[str, list[str]]
Assignment: TypeAlias = dict[str, tuple[str, ...]]


def in_order(members: Sequence[JoinedMember]) -> list[JoinedMember]:
    """Sort static members by instance id, then the others by member id: a static member keeps its place."""
    return sorted(members, key=lambda m: (m.group_instance_id is None, m.group_instance_id or "", m.member_id))


def range_assignment(members: Sequence[JoinedMember], partitions: Partitions) -> Assignment:
    """Give each member a run of each topic's partitions; the first members get one more if there is a rest."""
    given: dict[str, list[str]] = {m.member_id: [] for m in members}
    for topic in sorted(partitions):
        readers = [m.member_id for m in in_order(members) if topic in m.topics]
        if not readers:
            continue
        each, more = divmod(len(partitions[topic]), len(readers))
        start = 0
        for i, member_id in enumerate(readers):
            end = start + each + (1 if i < more else 0)
            given[member_id] += partitions[topic][start:end]
            start = end
    return {member_id: tuple(found) for member_id, found in given.items()}


def round_robin_assignment(members: Sequence[JoinedMember], partitions: Partitions) -> Assignment:
    """Deal the partitions of all topics one by one to the members that subscribe to their topic."""
    given: dict[str, list[str]] = {m.member_id: [] for m in members}
    wanted = {topic for m in members for topic in m.topics}
    turn = cycle(in_order(members))
    for topic in sorted(wanted & set(partitions)):
        for partition in partitions[topic]:
            member = next(m for m in turn if topic in m.topics)
            given[member.member_id].append(partition)
    return {member_id: tuple(found) for member_id, found in given.items()}


ASSIGNORS: dict[str, Callable[[Sequence[JoinedMember], Partitions], Assignment]] = {
    "range": range_assignment,
    "roundrobin": round_robin_assignment,
}
"""Assignors by their names in JoinGroup."""
