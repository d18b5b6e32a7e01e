"""Kafka's names and types of the broker's settings, and the topic settings that fall back to them."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from kafkalab.broker.state import BrokerConfig
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC

BOOLEAN, STRING, INT, SHORT, LONG, LIST = 1, 2, 3, 4, 5, 7
"""Kafka's numbers of types (`DescribeConfigsResponse.ConfigType`)."""
KAFKA_NAMES = {
    "transaction_abort_cleanup_interval_ms": "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction_remove_expired_cleanup_interval_ms": "transaction.remove.expired.transaction.cleanup.interval.ms",
    "add_partitions_retry_backoff_ms": "add.partitions.to.txn.retry.backoff.ms",
    "add_partitions_retry_backoff_max_ms": "add.partitions.to.txn.retry.backoff.max.ms",
    "message_timestamp_after_max_ms": "log.message.timestamp.after.max.ms",
    "delete_retention_ms": "log.cleaner.delete.retention.ms",
}
"""Kafka's names of broker settings that have shorter ones here (`TransactionStateManagerConfig`,
`AddPartitionsToTxnConfig`, `ServerLogConfigs`, `CleanerConfig`)."""
NOT_DESCRIBED = {
    "transaction_state_log_max_message_bytes", "group_new_member_join_timeout_ms", "coordinator_load_ms",
    "producer_id_block_size", "transaction_version",
    "producer_id_expiration_check_interval_ms", "unstable_api_versions_enable",
}  # fmt: skip
"""Fields that are no settings of Kafka's, or internal ones, which it does not tell of."""
TYPES = {
    **dict.fromkeys(("offsets_retention_check_interval_ms", "replica_lag_time_max_ms", "log_retention_ms"), LONG),
    **dict.fromkeys(("log_retention_bytes", "log_retention_check_interval_ms", "delete_retention_ms"), LONG),
    "message_timestamp_after_max_ms": LONG,
    "transaction_state_log_replication_factor": SHORT,
    "transaction_two_phase_commit_enable": BOOLEAN,
}
"""The types that are not INT."""
DYNAMIC = {
    "min_insync_replicas", "message_max_bytes", "message_timestamp_after_max_ms", "delete_retention_ms",
    "producer_id_expiration_ms", "log_retention_ms", "log_retention_bytes",
}  # fmt: skip
"""The settings that Kafka changes without a restart (`DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS`)."""


def name_of(field: str) -> str:
    """Return Kafka's name of a field of `BrokerConfig`."""
    return KAFKA_NAMES.get(field, field.replace("_", "."))


DESCRIBED = {name_of(f.name): f.name for f in fields(BrokerConfig) if f.name not in NOT_DESCRIBED}
"""The settings that a broker describes: Kafka's name, and the field."""


class TopicSetting(NamedTuple):
    """A topic's setting: its type, and the broker's `field`, or a `value` that the lab has for all topics, under the
    broker's name `synonym`."""

    kind: int
    field: str = ""
    value: str = ""
    synonym: str = ""


TOPIC_SETTINGS = {
    "cleanup.policy": TopicSetting(LIST, value="delete", synonym="log.cleanup.policy"),
    "compression.type": TopicSetting(STRING, value="producer", synonym="compression.type"),
    "delete.retention.ms": TopicSetting(LONG, "delete_retention_ms"),
    "max.message.bytes": TopicSetting(INT, "message_max_bytes"),
    "message.timestamp.after.max.ms": TopicSetting(LONG, "message_timestamp_after_max_ms"),
    "message.timestamp.type": TopicSetting(STRING, value="CreateTime", synonym="log.message.timestamp.type"),
    "min.insync.replicas": TopicSetting(INT, "min_insync_replicas"),
    "retention.bytes": TopicSetting(LONG, "log_retention_bytes"),
    "retention.ms": TopicSetting(LONG, "log_retention_ms"),
    "unclean.leader.election.enable": TopicSetting(BOOLEAN, value="false", synonym="unclean.leader.election.enable"),
}
OWN_SETTINGS = {
    OFFSETS_TOPIC: {"cleanup.policy": "compact", "compression.type": "producer"},
    TRANSACTION_TOPIC: {
        "cleanup.policy": "compact", "compression.type": "uncompressed", "unclean.leader.election.enable": "false",
    },
}  # fmt: skip
"""The settings that internal topics are created with (`GroupCoordinatorService.groupMetadataTopicConfigs`,
`TransactionLog`); the transaction log's min.insync.replicas is the broker's transaction.state.log.min.isr."""
