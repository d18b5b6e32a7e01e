"""The leaders of a cluster: the image that the controller publishes and every broker and client keeps a copy of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kafkalab.protocol.partitions import topic_of

CLUSTER_ID = "kafkalab"
"""The id of every cluster that the lab runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    """Leader ("" if none), its epoch, the replicas in order of preference, and those in sync."""

    leader: str
    leader_epoch: int
    replicas: tuple[str, ...]
    isr: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """One version of the image; a newer one has a higher `version`. Immutable: share it, never change it."""

    version: int = 0
    alive: tuple[str, ...] = ()
    partitions: dict[str, PartitionInfo] = field(default_factory=dict)
    _of_topic: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _leaders: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def leader(self, partition: str) -> str:
        """The leader's node id, "" where there is none or no such partition."""
        info = self.partitions.get(partition)
        return info.leader if info else ""

    @property
    def leaders(self) -> list[str]:
        """Every node that leads a partition, by name. Found once: all brokers share an image."""
        if not self._leaders:
            self._leaders.extend(sorted({info.leader for info in self.partitions.values()} - {""}))
        return self._leaders

    def has_topic(self, topic: str) -> bool:
        """Return True if the topic exists: its partition 0 does."""
        return f"{topic}-0" in self.partitions

    def partitions_of(self, topic: str) -> list[str]:
        """Return the topic's partitions, in order; empty for an unknown topic. The image is grouped by topic once."""
        if not self._of_topic:
            for partition in self.partitions:
                self._of_topic.setdefault(topic_of(partition), []).append(partition)
        return self._of_topic.get(topic, [])

    def with_partitions(self, changed: dict[str, PartitionInfo], alive: tuple[str, ...]) -> ClusterMetadata:
        """The next version of the image."""
        return ClusterMetadata(self.version + 1, alive, {**self.partitions, **changed})

    def with_live_in_sync(self, partitions: tuple[str, ...]) -> ClusterMetadata:
        """Return the same version with every live replica of the partitions in sync."""
        changed = {}
        for partition in partitions:
            info = self.partitions[partition]
            isr = tuple(r for r in info.replicas if r in info.isr or r in self.alive)
            changed[partition] = replace(info, isr=isr)
        return ClusterMetadata(self.version, self.alive, {**self.partitions, **changed}) if changed else self
