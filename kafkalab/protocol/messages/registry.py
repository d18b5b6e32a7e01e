"""All APIs by the type and the name of their request; frames, reference pages and pictures are made from it."""

from __future__ import annotations

from importlib import import_module

from kafkalab.protocol.api import Api

MODULES = (
    "find_coordinator", "init_producer_id", "add_partitions_to_txn", "produce", "add_offsets_to_txn",
    "txn_offset_commit", "end_txn", "write_txn_markers", "fetch", "list_offsets", "delete_records", "offset_commit",
    "offset_fetch", "join_group", "sync_group", "heartbeat", "leave_group", "consumer_group_heartbeat",
    "consumer_group_describe", "describe_groups", "delete_groups", "offset_delete", "replica_fetch", "api_versions",
    "metadata", "describe_cluster", "describe_topic_partitions", "describe_configs", "list_groups", "create_topics",
    "describe_transactions", "list_transactions", "describe_producers", "update_metadata", "alter_partition",
    "allocate_producer_ids", "broker_registration",
)  # fmt: skip
"""The modules of this folder, in the order in which the APIs are shown. `broker/handlers` has the same names."""

ALL: tuple[Api, ...] = tuple(import_module(f"kafkalab.protocol.messages.{name}").API for name in MODULES)
BY_REQUEST: dict[type, Api] = {api.request: api for api in ALL}
BY_NAME: dict[str, Api] = {api.name: api for api in ALL}
