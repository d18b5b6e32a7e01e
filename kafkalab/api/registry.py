"""All APIs by the type of their request; reference pages, pictures and the dispatch are made from it."""

from __future__ import annotations

from kafkalab.api import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    controller_requests,
    create_topics,
    describe_cluster,
    describe_groups,
    describe_producers,
    describe_transactions,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
    list_transactions,
    metadata,
    offsets,
    produce,
    replica_fetch,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from kafkalab.api.api import Api

ALL: tuple[Api, ...] = (
    find_coordinator.API,
    init_producer_id.API,
    add_partitions_to_txn.API,
    produce.API,
    add_offsets_to_txn.API,
    txn_offset_commit.API,
    end_txn.API,
    write_txn_markers.API,
    fetch.API,
    list_offsets.API,
    offsets.COMMIT_API,
    offsets.FETCH_API,
    join_group.API,
    sync_group.API,
    heartbeat.API,
    leave_group.API,
    describe_groups.API,
    replica_fetch.API,
    api_versions.API,
    metadata.API,
    describe_cluster.API,
    create_topics.API,
    describe_transactions.API,
    list_transactions.API,
    describe_producers.API,
    *controller_requests.APIS,
)
BY_REQUEST: dict[type, Api] = {api.request: api for api in ALL}
BY_NAME: dict[str, Api] = {api.name: api for api in ALL}
