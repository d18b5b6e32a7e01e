"""The uniform assignor where members want different topics (`UniformHeterogeneousAssignmentBuilder`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.broker.group_coordinator.assignors.assignment import AssignorInput, Targets, in_java_order
from kafkalab.broker.group_coordinator.assignors.levels import Levels
from kafkalab.protocol.partitions import topic_of

ROUNDS = 16
"""The most times that every topic is balanced: moving one topic's partitions can unbalance another topic."""


def balance_different_topics(given: AssignorInput) -> Targets:
    """Return each member's partitions: it keeps what it still wants, the least loaded get the rest, then the topics
    are balanced one by one."""
    owners = _Owners(given)
    for topic in owners.by_load([t for t in given.partitions if None in owners.of_topic(t)]):
        levels = Levels(owners.subscribers[topic], owners.sizes)
        for partition in [p for p in given.partitions[topic] if owners.owner[p] is None]:
            owners.give(partition, levels.next_least_loaded())
    owners.balance()
    held: dict[str, list[str]] = {member_id: [] for member_id in given.members}
    for partition, owner in owners.owner.items():
        if owner is not None:
            held[owners.ids[owner]].append(partition)
    return {member_id: given.sort(partitions) for member_id, partitions in held.items()}


@dataclass(slots=True)
class _Owners:
    """The owner of each partition during the computation; members are places in `ids`."""

    given: AssignorInput
    ids: list[str] = field(default_factory=list)
    owner: dict[str, int | None] = field(default_factory=dict)
    subscribers: dict[str, list[int]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = in_java_order(self.given.members)
        self.sizes = [0] * len(self.ids)
        self.owner = {p: None for partitions in self.given.partitions.values() for p in partitions}
        for place, member_id in enumerate(self.ids):
            member = self.given.members[member_id]
            for topic in member.topics:
                self.subscribers.setdefault(topic, []).append(place)
            for partition in member.target:
                if topic_of(partition) in member.topics:
                    self.give(partition, place)

    def of_topic(self, topic: str) -> list[int | None]:
        return [self.owner[p] for p in self.given.partitions[topic]]

    def by_load(self, topics: list[str]) -> list[str]:
        """Return topics, the one with the most partitions for each subscriber first."""

        def key(topic: str) -> tuple[float, int, str]:
            subscribers = len(self.subscribers[topic])
            return -len(self.given.partitions[topic]) / subscribers, subscribers, topic

        return sorted(topics, key=key)

    def give(self, partition: str, place: int) -> None:
        before = self.owner[partition]
        if before is not None:
            self.sizes[before] -= 1
        self.owner[partition] = place
        self.sizes[place] += 1

    def balance(self) -> None:
        """Balance the topics with several subscribers in turn, until none moves a partition any more."""
        topics = self.by_load([topic for topic, places in self.subscribers.items() if len(places) > 1])
        last_moved = ""
        for _ in range(ROUNDS):
            for topic in topics:
                if topic == last_moved:
                    return
                if self._balance_topic(topic) or last_moved == "":
                    last_moved = topic

    def _balance_topic(self, topic: str) -> int:
        """Move partitions from the most loaded subscribers to the least loaded; return how many were moved.

        The partition with the highest number of an owner goes first.
        """
        levels = Levels(self.subscribers[topic], self.sizes)
        if levels.imbalance <= 1:
            return 0
        movable: dict[int, list[str]] = {}
        for partition in self.given.partitions[topic]:
            owner = self.owner[partition]
            if owner is not None:
                movable.setdefault(owner, []).append(partition)
        moved = 0
        while not levels.is_balanced:
            while (giver := levels.next_most_loaded()) is not None and not movable.get(giver):
                levels.exclude_most_loaded()
            if giver is None:
                break
            partition, taker = movable[giver].pop(), levels.next_least_loaded()
            if levels.is_balanced:
                break
            self.give(partition, taker)
            moved += 1
        return moved
