"""Names for what bytes give as numbers and ids: brokers, their addresses, and topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, UUID, uuid5

from kafkalab.protocol.api import USUAL
from kafkalab.protocol.cluster_metadata import CLUSTER_ID, ClusterMetadata
from kafkalab.protocol.partitions import topic_of

UNKNOWN_ID = "unknown topic id "
"""Begins the name that stands for a topic id nobody gave out; no topic can have it, as names have no spaces."""

UNKNOWN_TOPIC_ID = 100
"""The code of the error that says so; no handler of the lab uses it, because they know topics by their names."""


@dataclass(slots=True)
class Names:
    """`addresses` maps a broker's name to host and port. Node ids count from 1 in the order of the brokers."""

    addresses: dict[str, tuple[str, int]]
    cluster_id: str = CLUSTER_ID
    kafka: str = USUAL
    """The release of Kafka whose versions a server offers."""
    _node_ids: dict[str, int] = field(init=False)
    _nodes: dict[int, str] = field(init=False)
    _topic_ids: dict[str, UUID] = field(default_factory=dict)
    _topics: dict[UUID, str] = field(default_factory=dict)
    learned: int = -1
    """The version of the newest image whose topics are known."""

    def __post_init__(self) -> None:
        self._node_ids = {name: number for number, name in enumerate(self.addresses, 1)}
        self._nodes = {number: name for name, number in self._node_ids.items()}

    def node_id(self, node: str) -> int:
        """Return the broker's number, -1 for any other node."""
        return self._node_ids.get(node, -1)

    def node(self, node_id: int) -> str:
        """Return the name of the broker with this number, "" for none."""
        return self._nodes.get(node_id, "")

    def address(self, node: str) -> tuple[str, int]:
        """Return host and port of a broker; ("", -1) for any other node, as Kafka's `Node.noNode`."""
        return self.addresses.get(node, ("", -1))

    def learn(self, metadata: ClusterMetadata) -> None:
        """Give every topic of the image its id."""
        if metadata.version != self.learned:
            self.learned = metadata.version
            for partition in metadata.partitions:
                self.topic_id(topic_of(partition))

    def topic_id(self, topic: str) -> UUID:
        """Return the id of a topic, which follows from its name and the cluster's: the same after every restart."""
        found = self._topic_ids.get(topic)
        if found is None:
            if topic.startswith(UNKNOWN_ID):
                return UUID(topic.removeprefix(UNKNOWN_ID))
            found = self._topic_ids[topic] = uuid5(NAMESPACE_URL, f"{self.cluster_id}/{topic}")
            self._topics[found] = topic
        return found

    def topic(self, topic_id: UUID) -> str:
        """Return the topic that has this id, or a name that no topic can have."""
        return self._topics.get(topic_id) or f"{UNKNOWN_ID}{topic_id}"
