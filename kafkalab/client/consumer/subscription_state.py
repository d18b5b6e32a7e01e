"""A consumer's subscription: topics or partitions, positions, pauses, the listener (Kafka: `SubscriptionState`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.exceptions import IllegalStateError

EXCLUSIVE = "Subscription to topics, partitions and pattern are mutually exclusive"


class SubscriptionState:
    """Either topics, whose partitions the group assigns, or partitions assigned by hand; never both.

    `version` changes when fetched records no longer fit the positions. `moved` says why a position did not come from
    reading since the last poll: "assign" or "seek". `assignments` counts those of the group.
    """

    def __init__(self) -> None:
        self.topics: tuple[str, ...] = ()
        self.by_hand = False
        self.assigned: list[str] = []
        self.positions: dict[str, int] = {}
        self.paused: dict[str, None] = {}
        self.moved: dict[str, str] = {}
        self.version = 0
        self.assignments = 0
        self.listener = RebalanceListener()

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener | None = None) -> None:
        """Read these topics as a member of the group; the next poll assigns partitions. None keeps the listener."""
        if isinstance(topics, str) or any(not isinstance(t, str) or not t.strip() for t in topics):
            raise ValueError("Topic collection to subscribe to cannot contain null or empty topic")
        if self.by_hand:
            raise IllegalStateError(EXCLUSIVE)
        self.topics = tuple(sorted(set(topics)))
        self.listener = self.listener if listener is None else listener

    def assign(self, partitions: Sequence[str]) -> None:
        """Read these partitions; positions of those that stay are kept."""
        if self.topics:
            raise IllegalStateError(EXCLUSIVE)
        self.by_hand = True
        self.assigned = list(partitions)
        self.positions = {p: o for p, o in self.positions.items() if p in self.assigned}
        self.paused = {p: None for p in self.paused if p in self.assigned}
        self.version += 1

    def assign_from_group(self, partitions: Sequence[str]) -> None:
        """Read what the group assigned, without positions; nothing is paused."""
        self.assigned, self.positions, self.paused = list(partitions), {}, {}
        self.version += 1
        self.assignments += 1

    def unsubscribe(self) -> None:
        """Read nothing."""
        self.topics, self.by_hand = (), False
        self.assign_from_group(())

    @property
    def empty(self) -> bool:
        """True if neither topics nor partitions were named."""
        return not self.topics and not (self.by_hand and self.assigned)

    def check(self, partition: str) -> None:
        """Raise IllegalStateError unless the partition is assigned."""
        if partition not in self.assigned:
            raise IllegalStateError(f"No current assignment for partition {partition}")

    def seek(self, partition: str, offset: int) -> None:
        """Read `partition` from `offset` on; what is under way is dropped."""
        self.check(partition)
        self.reset(partition, offset)
        self.version += 1

    def reset(self, partition: str, offset: int) -> None:
        """Replace a position that does not exist."""
        self.positions[partition], self.moved[partition] = offset, "seek"

    def initialise(self, partition: str, offset: int) -> None:
        """Begin at `offset` unless the partition has a position."""
        if self.positions.setdefault(partition, offset) == offset:
            self.moved.setdefault(partition, "assign")

    def advance(self, partition: str, offset: int) -> None:
        """Set the position after records were read."""
        self.positions[partition] = offset

    def take_moved(self, partitions: Iterable[str]) -> dict[str, str]:
        """Take what `moved` says of these partitions out of it."""
        return {partition: self.moved.pop(partition) for partition in partitions if partition in self.moved}

    def pause(self, partitions: Sequence[str]) -> None:
        """Fetch nothing of these partitions until they are resumed; they stay assigned."""
        for partition in partitions:
            self.check(partition)
        self.paused.update(dict.fromkeys(partitions))
        self.version += 1

    def resume(self, partitions: Sequence[str]) -> None:
        """Fetch them again."""
        for partition in partitions:
            self.check(partition)
            self.paused.pop(partition, None)

    @property
    def fetchable(self) -> list[str]:
        """The partitions to fetch, in the order of their assignment."""
        return [p for p in self.assigned if p not in self.paused and p in self.positions]

    @property
    def missing(self) -> list[str]:
        """The assigned partitions without a position."""
        return [p for p in self.assigned if p not in self.positions]
