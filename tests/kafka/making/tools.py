"""Family tools: what Kafka's own tools ask first, about configs, groups and the partitions of topics."""

from __future__ import annotations

from typing import Any

from tests.kafka.making.groups import GROUP, JOINED, join, sync
from tests.kafka.making.steps import Script, Step, ask, commit_plain, script

TOPIC, BROKER, UNKNOWN = 2, 4, 3
OF_TOPICS = [
    "cleanup.policy", "compression.type", "delete.retention.ms", "max.message.bytes", "message.timestamp.after.max.ms",
    "message.timestamp.type", "min.insync.replicas", "retention.bytes", "unclean.leader.election.enable",
]  # fmt: skip
OF_BROKERS = [
    "add.partitions.to.txn.retry.backoff.max.ms", "add.partitions.to.txn.retry.backoff.ms", "broker.id",
    "group.max.session.timeout.ms", "group.max.size", "group.min.session.timeout.ms",
    "log.cleaner.delete.retention.ms", "log.message.timestamp.after.max.ms", "log.retention.bytes",
    "log.retention.check.interval.ms", "log.retention.hours", "message.max.bytes", "min.insync.replicas", "node.id",
    "num.partitions", "offset.metadata.max.bytes", "offsets.commit.timeout.ms",
    "offsets.retention.check.interval.ms", "offsets.retention.minutes", "producer.id.expiration.ms",
    "replica.fetch.backoff.ms", "replica.lag.time.max.ms", "request.timeout.ms", "transaction.max.timeout.ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms", "transaction.state.log.replication.factor",
    "transaction.two.phase.commit.enable", "transactional.id.expiration.ms",
]  # fmt: skip
"""Those that the recorded broker leaves at their defaults, as the lab's does."""


def describe_configs(*resources: tuple[int, str, list[str] | None], version: int = 4, **fields: Any) -> Step:
    """DescribeConfigs of resources: type, name, and settings, None for all."""
    names = ("resource_type", "resource_name", "configuration_keys")
    rows = [dict(zip(names, resource, strict=True)) for resource in resources]
    return ask("DescribeConfigs", "b1", version, {"resources": rows, **fields})


def configs() -> list[Script]:
    """Return what is asked about configs."""
    topic, broker = (TOPIC, "t", OF_TOPICS), (BROKER, "1", OF_BROKERS)
    internal = [(TOPIC, name, OF_TOPICS) for name in ("__consumer_offsets", "__transaction_state")]
    rows = {
        "topic": [describe_configs(topic, include_synonyms=True), describe_configs(topic)],
        "broker": [describe_configs(broker, include_synonyms=True), describe_configs(broker)],
        "versions": [describe_configs(topic, broker, version=v, include_synonyms=True) for v in (1, 2, 3)],
        "some_keys": [describe_configs((TOPIC, "t", ["cleanup.policy", "odd"]), (BROKER, "1", ["odd"]))],
        "internal_topics": [describe_configs(*internal, include_synonyms=True)],
        "default_of_brokers": [describe_configs((BROKER, "", None), include_synonyms=True)],
        "another_broker": [describe_configs((BROKER, "2", None), (BROKER, "b1", None), (BROKER, "-1", None))],
        "unknown_topic": [describe_configs((TOPIC, "nope", None), (TOPIC, "a/b", None), (TOPIC, "", None))],
        "twice": [describe_configs((TOPIC, "t", ["cleanup.policy"]), (TOPIC, "t", ["compression.type"]))],
        "unknown_type": [describe_configs((TOPIC, "t", ["cleanup.policy"]), (UNKNOWN, "t", None))],
        "empty_names": [describe_configs((8, "", None), (16, "", None), (32, "", None), (8, "2", None))],
    }
    return [script(f"tools.configs_{name}", *steps) for name, steps in rows.items()]


def list_groups(version: int = 5, **fields: Any) -> Step:
    """ListGroups at the coordinator of g."""
    return ask("ListGroups", GROUP, version, fields)


def groups() -> list[Script]:
    """Return what is asked about groups."""
    stable = [*JOINED, sync()]
    by_state = [list_groups(states_filter=[name]) for name in ("Stable", "sTABLE", " stable ", "Empty", "Odd", "")]
    other = {"protocol_type": "other"}
    rows = {
        "none": [list_groups()],
        "stable": [*stable, list_groups()],
        "completing": [*JOINED, list_groups()],
        "only_offsets": [commit_plain("g", {"t-0": 3}), list_groups()],
        "other_type": [join("", "j", **other), join("$j.member_id", "m", **other), list_groups()],
        "versions": [*stable, *(list_groups(version) for version in range(5))],
        "by_state": [*stable, *by_state, list_groups(states_filter=["Empty", "Stable"])],
        "by_type": [*stable, *(list_groups(types_filter=[t]) for t in ("classic", "Classic", "consumer", "odd"))],
    }
    return [script(f"tools.groups_{name}", *steps) for name, steps in rows.items()]


def describe_topics(*names: str, **fields: Any) -> Step:
    """DescribeTopicPartitions."""
    return ask("DescribeTopicPartitions", "b1", 0, {"topics": [{"name": name} for name in names], **fields})


def topics() -> list[Script]:
    """Return what is asked about the partitions of topics."""

    def at(name: str, index: int) -> dict[str, Any]:
        return {"cursor": {"topic_name": name, "partition_index": index}}

    two = {"topics": {"t": 2, "u": 3}}
    rows: dict[str, list[Step]] = {
        "some": [describe_topics("u", "t")],
        "unknown": [describe_topics("t", "nope", "a/b"), describe_topics("t", "t")],
        "pages": [
            describe_topics("t", "u", response_partition_limit=1),
            describe_topics("t", "u", response_partition_limit=2),
            describe_topics("t", "u", response_partition_limit=3, **at("t", 1)),
            describe_topics("t", "u", response_partition_limit=5),
            describe_topics("u", response_partition_limit=1, **at("u", 2)),
        ],
        "limit_of_nothing": [describe_topics("t", "u", response_partition_limit=limit) for limit in (0, -1)],
        "cursor_behind": [describe_topics("t", "u", **at("u", 9)), describe_topics("t", "u", **at("u", 0))],
        "cursor_not_asked": [describe_topics("t", **at("u", 0)), describe_topics("t", **at("nope", 0))],
        "cursor_below_zero": [describe_topics("t", **at("t", -1))],
        "unknown_pages": [describe_topics("nope", "t", "zzz", response_partition_limit=1)],
    }
    return [script(f"tools.topics_{name}", *steps, **two) for name, steps in rows.items()]


def denials() -> list[Script]:
    """Return the same of a client that may not."""
    joined = [*JOINED, sync(), list_groups()]
    rows: dict[str, tuple[list[list[str]], list[Step]]] = {
        "topics_without_describe": ([["DESCRIBE", "Topic:t"]], [describe_topics("t", "u", "nope")]),
        "operations_denied": (
            [["WRITE", "Topic:t"], ["ALTER_CONFIGS", "Topic:t"], ["DELETE", "Topic:t"]], [describe_topics("t")]
        ),
        "configs_of_topic_denied": (
            [["DESCRIBE_CONFIGS", "Topic:t"]],
            [describe_configs((TOPIC, "t", None), (TOPIC, "u", ["cleanup.policy"]), (BROKER, "1", ["node.id"]))],
        ),
        "configs_of_cluster_denied": (
            [["DESCRIBE_CONFIGS", "Cluster"]], [describe_configs((BROKER, "1", None), (TOPIC, "t", ["cleanup.policy"]))]
        ),
        "groups_without_cluster_describe": ([["DESCRIBE", "Cluster"]], joined),
        "groups_without_group_describe": ([["DESCRIBE", "Group:g"]], joined),
        "groups_without_either": ([["DESCRIBE", "Cluster"], ["DESCRIBE", "Group:g"]], joined),
    }  # fmt: skip
    return [script(f"tools.{name}", *steps, topics={"t": 2, "u": 1}, acls=acls) for name, (acls, steps) in rows.items()]


FAMILIES = {"tools": [*configs(), *groups(), *topics(), *denials()]}
