"""DescribeConfigs, ListGroups and DescribeTopicPartitions, beyond what the recordings of Kafka hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.broker.handlers.describe_topic_partitions import handle
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.describe_configs import ConfigResource, DescribeConfigs
from kafkalab.protocol.messages.describe_topic_partitions import DescribeTopicPartitions, TopicRequest
from kafkalab.protocol.messages.list_groups import ListGroups
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from tests.conformance.one_broker import OneBroker, ask, broker

OFFSET = Batch(records=(Record("g/out-0", OffsetCommit(group="g", partition="out-0", offset=3)),))


def configs_of(one: OneBroker, kind: int, name: str, synonyms: bool = False) -> dict[str, Any]:
    """Return the settings of a resource by name."""
    asked = DescribeConfigs(
        resources=(ConfigResource(resource_type=kind, resource_name=name),), include_synonyms=synonyms
    )
    (found,) = ask(one, asked).results
    assert found.error is Error.NONE
    return {entry.name: entry for entry in found.configs}


def test_a_setting_of_the_scenario_comes_from_the_brokers_file() -> None:
    one = broker()
    one.state.config = replace(one.state.config, message_max_bytes=5_000, log_retention_ms=60_000)
    of_broker, of_topic = configs_of(one, 4, "1", synonyms=True), configs_of(one, 2, "out", synonyms=True)
    changed = of_broker["message.max.bytes"]
    assert (changed.value, changed.config_source, changed.read_only) == ("5000", 4, False)
    assert [(s.name, s.value, s.source) for s in of_topic["max.message.bytes"].synonyms] == [
        ("message.max.bytes", "5000", 4), ("message.max.bytes", "1048588", 5)
    ]  # fmt: skip
    retention = of_topic["retention.ms"]
    assert [(s.name, s.value, s.source) for s in retention.synonyms] == [
        ("log.retention.ms", "60000", 4), ("log.retention.hours", "168", 5)
    ]  # fmt: skip
    assert (retention.value, retention.config_source) == ("60000", 4)


def test_retention_is_in_hours_by_default() -> None:
    of_broker, of_topic = configs_of(broker(), 4, "1", synonyms=True), configs_of(broker(), 2, "out", synonyms=True)
    assert (of_broker["log.retention.ms"].value, of_broker["log.retention.ms"].synonyms) == (None, ())
    assert of_broker["log.retention.hours"].value == "168"
    assert (of_topic["retention.ms"].value, of_topic["retention.ms"].synonyms) == ("604800000", ())


def test_what_is_no_setting_of_kafka_is_not_described() -> None:
    found = configs_of(broker(), 4, "1")
    assert "num.partitions" in found
    assert not [name for name in found if "load" in name or "block" in name or "unstable" in name or "join" in name]
    assert all(entry.value is None or entry.value == entry.value.lower() for entry in found.values())


@pytest.mark.parametrize(
    ("kind", "operation", "resource", "error"),
    [
        (2, "DESCRIBE_CONFIGS", "Topic:out", Error.TOPIC_AUTHORIZATION_FAILED),
        (4, "DESCRIBE_CONFIGS", "Cluster", Error.CLUSTER_AUTHORIZATION_FAILED),
        (32, "DESCRIBE_CONFIGS", "Group:out", Error.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_configs_are_denied(kind: int, operation: str, resource: str, error: Error) -> None:
    one = broker(Deny("app", operation, resource))
    name = "1" if kind == 4 else "out"
    (found,) = ask(one, DescribeConfigs(resources=(ConfigResource(resource_type=kind, resource_name=name),))).results
    assert (found.error, found.configs) == (error, ())


def test_groups_are_not_listed_while_a_coordinator_loads() -> None:
    one = broker()
    one.state.offsets_loading.append(offsets_partition("g"))
    assert ask(one, ListGroups()).error is Error.COORDINATOR_LOAD_IN_PROGRESS


def test_a_group_is_listed_by_its_coordinator_only() -> None:
    one = broker()
    for leader, names in (("b1", ["g"]), ("b2", [])):
        one.image({offsets_partition("g"): leader})
        one.state.apply_offsets(one.state.newest_offsets, offsets_partition("g"), [OFFSET])
        assert [group.group_id for group in ask(one, ListGroups()).groups] == names


def test_a_client_that_asks_for_every_topic_is_not_told_of_hidden_ones() -> None:
    one = broker(Deny("app", "DESCRIBE", "Topic:out"))
    found = {topic.name: topic.error for topic in ask(one, DescribeTopicPartitions()).topics}
    assert found
    assert "out" not in found
    named = ask(one, DescribeTopicPartitions(topics=(TopicRequest(name="out"),))).topics
    assert [(topic.name, topic.error) for topic in named] == [("out", Error.TOPIC_AUTHORIZATION_FAILED)]


def test_a_partition_without_a_leader_says_so() -> None:
    one = broker()
    leader = one.metadata.leader("out-0")
    one.metadata = replace(one.metadata, alive=tuple(name for name in one.metadata.alive if name != leader))
    one.state.metadata = one.metadata
    (topic,) = ask(one, DescribeTopicPartitions(topics=(TopicRequest(name="out"),))).topics
    assert (topic.partitions[0].error, topic.partitions[0].leader_id) == (Error.LEADER_NOT_AVAILABLE, "")


def test_a_replica_that_is_down_is_offline() -> None:
    cluster = Cluster(Scenario(title="t", brokers=3, topics={"out": 1}))
    info = cluster.controller.metadata.partitions["out-0"]
    cluster.controller.fence_broker(info.leader, -1)
    answering = next(name for name in cluster.brokers if name != info.leader)
    cluster.brokers[answering].state.metadata = cluster.controller.metadata
    asked = DescribeTopicPartitions(topics=(TopicRequest(name="out"),))
    (topic,) = handle(cluster.brokers[answering].state, asked, Header(0, "app")).topics
    (partition,) = topic.partitions
    assert (partition.error, partition.offline_replicas) == (Error.NONE, (info.leader,))
    assert partition.leader_id != info.leader


@pytest.mark.parametrize("count", [1, 4])
def test_a_topic_without_a_number_of_partitions_gets_num_partitions(count: int) -> None:
    cluster = Cluster(Scenario(title="t", brokers=1, config={"num_partitions": count}))
    asked = CreateTopics(topics=(NewTopic(name="new"), NewTopic(name="two", num_partitions=2)))
    cluster.network.request("b1", "controller", asked, lambda response, step: None, -1)
    cluster.run()
    known = cluster.controller.metadata
    assert (len(known.partitions_of("new")), len(known.partitions_of("two"))) == (count, 2)
