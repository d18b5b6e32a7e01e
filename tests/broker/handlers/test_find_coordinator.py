"""FindCoordinator makes the internal topic when it is first needed, with the copies that the broker is set to."""

from __future__ import annotations

import pytest

from kafkalab import lab02
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.messages.create_topics import CreateTopics
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION, FindCoordinator
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC
from kafkalab.sim.cluster import Cluster
from tests.conformance.one_broker import OneBroker


@pytest.mark.parametrize(
    ("key_type", "copies", "topic", "asked"),
    [
        (TRANSACTION, 3, TRANSACTION_TOPIC, 3),
        (TRANSACTION, 0, TRANSACTION_TOPIC, -1),
        (GROUP, 3, OFFSETS_TOPIC, -1),
    ],
)
def test_only_the_transaction_topic_has_the_replication_factor_of_its_own(
    key_type: int, copies: int, topic: str, asked: int
) -> None:
    one = OneBroker(transaction_state_log_replication_factor=copies)
    one.state.metadata = ClusterMetadata(1, ("b1",), {})
    one.ask(FindCoordinator(key="a", key_type=key_type))
    (create,) = one.take(CreateTopics)
    assert [(t.name, t.replication_factor) for t in create.body.topics] == [(topic, asked)]


@pytest.mark.parametrize(("copies", "min_isr", "works"), [(3, 1, False), (1, 2, True), (1, 1, True), (0, 2, True)])
def test_one_broker_coordinates_if_one_copy_is_enough_to_make_the_topic(copies: int, min_isr: int, works: bool) -> None:
    """min.insync.replicas above the number of copies counts as that number (KAFKA-15583)."""
    config = {"transaction_state_log_replication_factor": copies, "transaction_state_log_min_isr": min_isr}
    cluster = Cluster(lab02(records=0, brokers=1, fresh=True, config=config))
    cluster.run()
    assert (cluster.results["app"] == "initialised") is works


def test_before_3_7_one_broker_could_not_satisfy_two_in_sync_replicas() -> None:
    cluster = Cluster(lab02(records=0, brokers=1, fresh=True, profile="1.0"))
    cluster.run()
    assert cluster.results["app"] != "initialised"
