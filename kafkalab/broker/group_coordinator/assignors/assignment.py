"""The members and partitions that an assignor is given, and the order in which Kafka's look at members.

Kafka's uniform assignor walks over Java hash maps: of members by their ids, in an order that follows from the ids, and
of topics by their random topic ids. Here topics come in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

Targets = dict[str, tuple[str, ...]]
"""Each member's partitions, by topic and number."""


class Subscriber(NamedTuple):
    """A member as assignors see it: the topics that it wants and that exist, and its present target."""

    topics: tuple[str, ...]
    target: tuple[str, ...]
    instance_id: str | None = None


class AssignorInput(NamedTuple):
    """The members of a group by id, and the partitions of every topic that one of them wants.

    `is_homogeneous` says that all members named the same topics, those that do not exist included.
    """

    members: dict[str, Subscriber]
    partitions: dict[str, tuple[str, ...]]
    is_homogeneous: bool = True

    def sort(self, owned: Iterable[str]) -> tuple[str, ...]:
        """Return partitions by topic, in the order of the topics' names, and by number."""
        places = {p: (topic, index) for topic, all_of in self.partitions.items() for index, p in enumerate(all_of)}
        return tuple(sorted(owned, key=lambda p: places.get(p, (p, -1))))


def java_hash(text: str) -> int:
    """Return what Java's `String.hashCode` returns, as an unsigned number of 32 bits."""
    found, units = 0, text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    return found


def in_java_order(keys: Iterable[str]) -> list[str]:
    """Return keys in the order in which a Java `HashMap` that they were put into, one by one, yields them."""
    listed = list(keys)
    size = 16
    while len(listed) > size * 3 // 4:
        size *= 2
    return sorted(listed, key=lambda key: (java_hash(key) ^ java_hash(key) >> 16) & size - 1)
