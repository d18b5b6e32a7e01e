"""The names of a running Kafka's nodes and topics, learned from its answers."""

from __future__ import annotations

from uuid import UUID

from kafkalab.protocol.api import NEWEST
from kafkalab.wire.names import Names


class LearnedNames(Names):
    """Broker 7 is called b7, whatever its number; topics have the ids that Metadata gave them."""

    def __init__(self, cluster_id: str = "") -> None:
        super().__init__({}, cluster_id, NEWEST)

    def node_id(self, node: str) -> int:
        """Return the broker's number, -1 for any other node."""
        return int(node[1:]) if node.startswith("b") and node[1:].isdecimal() else -1

    def node(self, node_id: int) -> str:
        """Return the name of the broker with this number, "" for none."""
        return f"b{node_id}" if node_id >= 0 else ""

    def learn_topic(self, topic: str, topic_id: UUID) -> None:
        """Remember the id of a topic; that of zeros is none."""
        if topic_id.int:
            self._topic_ids[topic] = topic_id
            self._topics[topic_id] = topic
