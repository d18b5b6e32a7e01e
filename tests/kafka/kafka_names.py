"""The names of one script on a real cluster: they get a prefix, so that scripts do not meet, and lose it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

INTERNAL = "__"
PARTITIONS = 50


def topic_of(partition: str) -> str:
    """Return the topic of "t-0"."""
    return partition.rpartition("-")[0]


def index_of(partition: str) -> int:
    """Return the number of "t-0"."""
    return int(partition.rpartition("-")[2])


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`."""
    value = 0
    for char in text:
        value = (value * 31 + ord(char)) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def internal_partition(key: str) -> int:
    """Return the number of the internal partition that owns a group or a transactional id."""
    return abs(java_hash(key)) % PARTITIONS


class Names:
    """`base_ms` is the script's time 0, `coordinator_epoch` that of the coordinator when the script begins."""

    def __init__(self, prefix: str, base_ms: int) -> None:
        self.prefix, self.base_ms = prefix, base_ms
        self.coordinator_epoch = 0
        self.groups: set[str] = set()
        self.topic_ids: dict[str, bytes] = {}

    def out(self, name: str | None) -> str | None:
        """Return the name as Kafka sees it; an empty one stays empty."""
        return name if not name else self.prefix + name

    def back(self, name: str) -> str:
        """Return the script's name."""
        return name.removeprefix(self.prefix)

    def partition(self, row: dict[str, Any], index: int) -> str:
        """Return the script's name of a partition; `row` has its topic's name or id."""
        topic = row.get("Name") or row.get("Topic")
        if topic is None:
            ids = {v: k for k, v in self.topic_ids.items()}
            topic = ids.get(row["TopicId"], "unknown")
        if topic == "__consumer_offsets":
            for group in sorted(self.groups):
                if internal_partition(self.prefix + group) == index:
                    return f"offsets of {group}"
        return f"{self.back(topic)}-{index}"

    def by_topic(
        self, partitions: Iterable[str], rows: str, row: Callable[[str], Any], name: str = "Name"
    ) -> list[dict[str, Any]]:
        """Return Kafka's list of topics; `rows` is the field that holds what `row` makes of each partition."""
        topics: dict[str, list[Any]] = {}
        for partition in partitions:
            placed = self._place(partition)
            topics.setdefault(topic_of(placed), []).append((partition, index_of(placed)))
        return [
            {
                name: t if t.startswith(INTERNAL) else self.out(t),
                "TopicId": self.topic_ids.get(self.out(t) or "", bytes(16)),
                rows: [_with_index(row(p), i) for p, i in found],
            }
            for t, found in topics.items()
        ]

    def _place(self, partition: str) -> str:
        group = partition.removeprefix("offsets of ")
        if group == partition:
            return partition
        self.groups.add(group)
        return f"__consumer_offsets-{internal_partition(self.prefix + group)}"


def _with_index(row: Any, index: int) -> Any:
    """Put the partition's number into a row, or return it alone where Kafka has a list of numbers."""
    if not isinstance(row, dict):
        return index
    return {row["index"]: index} | {k: v for k, v in row.items() if k != "index"}
