"""All APIs by the type of their request; reference pages, pictures and the dispatch are made from it."""

from __future__ import annotations

from kafkalab.api import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    controller_requests,
    delete_groups,
    delete_records,
    describe_groups,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
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
    delete_records.API,
    offsets.COMMIT_API,
    offsets.FETCH_API,
    join_group.API,
    sync_group.API,
    heartbeat.API,
    leave_group.API,
    describe_groups.API,
    delete_groups.GROUPS_API,
    delete_groups.OFFSETS_API,
    replica_fetch.API,
    api_versions.API,
    metadata.API,
    *controller_requests.APIS,
)
BY_REQUEST: dict[type, Api] = {api.request: api for api in ALL}
BY_NAME: dict[str, Api] = {api.name: api for api in ALL}
