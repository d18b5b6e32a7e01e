"""What Kafka's own tools ask first, as bytes: configs, groups, partitions page by page; and topics that are created."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.serve import _setting
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.describe_configs import ConfigResource, DescribeConfigs
from kafkalab.protocol.messages.describe_topic_partitions import DescribeTopicPartitions, TopicRequest
from kafkalab.protocol.messages.list_groups import ListGroups
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.partitions import offsets_partition
from tests.wire.connection import Connection
from tests.wire.serving import serving


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Three brokers whose new topics get four partitions."""
    settings = ("num.partitions=4", "log.cleaner.delete.retention.ms=77")
    options = [word for setting in settings for word in ("--config", setting)]
    with serving(tmp_path_factory.mktemp("tools"), "--topics", "t:3", *options) as found:
        yield found


@pytest.mark.subjects("Metadata", "CreateTopics")
def test_topics_get_num_partitions_unless_they_say_more(servers: str) -> None:
    with Connection(servers) as connection:
        connection.ask(Metadata(topics=("named",)), 12)
        asked = CreateTopics(topics=(NewTopic(name="made"), NewTopic(name="two", num_partitions=2)))
        assert set(connection.ask(asked, 7).errors.values()) == {Error.NONE}
        found = connection.ask(Metadata(), 12).metadata
        assert [len(found.partitions_of(name)) for name in ("named", "made", "two")] == [4, 4, 2]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_settings_travel_in_every_version(servers: str, version: int) -> None:
    wanted = tuple(
        ConfigResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for kind, name, keys in ((2, "t", ("delete.retention.ms",)), (4, "2", ("num.partitions",)), (2, "nope", None))
    )
    with Connection(servers, broker=2) as connection:
        topic, broker, unknown = connection.ask(
            DescribeConfigs(resources=wanted, include_synonyms=True), version
        ).results
    (retention,), (count,) = topic.configs, broker.configs
    kind = {"config_type": 5} if version >= 3 else {"config_type": 0}
    assert {"config_type": retention.config_type} == kind
    assert (retention.value, retention.config_source, len(retention.synonyms)) == ("77", 4, 2)
    assert (count.name, count.value, count.read_only) == ("num.partitions", "4", True)
    assert (unknown.error, unknown.configs) == (Error.UNKNOWN_TOPIC_OR_PARTITION, ())


def test_groups_are_listed_by_their_coordinators(servers: str) -> None:
    groups = ("g", "h", "i")
    for group in groups:
        for broker in (1, 2, 3):
            with Connection(servers, broker) as connection:
                connection.ask(OffsetCommit(group_id=group, offsets={"t-0": 1}), 8)
    found: dict[str, int] = {}
    for broker in (1, 2, 3):
        with Connection(servers, broker) as connection:
            for version in range(6):
                answer = connection.ask(ListGroups(), version)
                assert answer.error is Error.NONE
                found |= {group.group_id: broker for group in answer.groups}
            assert {(g.group_state, g.group_type) for g in answer.groups} <= {("Empty", "classic")}
            assert connection.ask(ListGroups(states_filter=("Stable",)), 5).groups == ()
            leaders = connection.ask(Metadata(topics=("__consumer_offsets",)), 12).metadata
    assert {group: f"b{broker}" for group, broker in found.items()} == {
        group: leaders.leader(offsets_partition(group)) for group in groups
    }


def test_partitions_come_page_by_page(servers: str) -> None:
    seen: list[tuple[str, int]] = []
    asked: Any = DescribeTopicPartitions(topics=(TopicRequest(name="t"),), response_partition_limit=2)
    with Connection(servers) as connection:
        known = connection.ask(Metadata(topics=("t",)), 12).metadata
        while True:
            page = connection.ask(asked, 0)
            for topic in page.topics:
                assert (topic.error, topic.topic_authorized_operations) == (Error.NONE, 3576)
                for row in topic.partitions:
                    info = known.partitions[f"t-{row.partition_index}"]
                    assert (row.leader_id, row.isr_nodes, row.replica_nodes) == (info.leader, info.isr, info.replicas)
                    seen.append((topic.name, row.partition_index))
            if page.next_cursor is None:
                break
            asked = DescribeTopicPartitions(topics=asked.topics, response_partition_limit=2, cursor=page.next_cursor)
        every = connection.ask(DescribeTopicPartitions(), 0)
    assert seen == [("t", 0), ("t", 1), ("t", 2)]
    assert {"t", "__consumer_offsets", "__transaction_state"} <= {topic.name for topic in every.topics}


def test_a_setting_is_known_by_kafkas_name_and_by_the_labs(tmp_path: Path) -> None:
    assert (
        _setting("log.cleaner.delete.retention.ms=5") == _setting("delete.retention.ms=5") == ("delete_retention_ms", 5)
    )
    assert _setting("min.insync.replicas=2") == ("min_insync_replicas", 2)
    assert _setting("coordinator.load.ms=7") == ("coordinator_load_ms", 7)
