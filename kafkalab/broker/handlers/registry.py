"""The handlers of a broker by the type of the request that they serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    create_topics,
    delete_groups,
    delete_records,
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
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.messages.registry import BY_NAME

Handler = Callable[[BrokerState, Any, Header], Any]
"""`handle(broker, request, header)` returns the response, or a generator of effects that returns it (`effects`)."""

HANDLERS: dict[type, Handler] = {
    BY_NAME["FindCoordinator"].request: find_coordinator.handle,
    BY_NAME["InitProducerId"].request: init_producer_id.handle,
    BY_NAME["AddPartitionsToTxn"].request: add_partitions_to_txn.handle,
    BY_NAME["Produce"].request: produce.handle,
    BY_NAME["AddOffsetsToTxn"].request: add_offsets_to_txn.handle,
    BY_NAME["TxnOffsetCommit"].request: txn_offset_commit.handle,
    BY_NAME["EndTxn"].request: end_txn.handle,
    BY_NAME["WriteTxnMarkers"].request: write_txn_markers.handle,
    BY_NAME["Fetch"].request: fetch.handle,
    BY_NAME["ListOffsets"].request: list_offsets.handle,
    BY_NAME["DeleteRecords"].request: delete_records.handle,
    BY_NAME["OffsetCommit"].request: offset_commit.handle,
    BY_NAME["OffsetFetch"].request: offset_fetch.handle,
    BY_NAME["JoinGroup"].request: join_group.handle,
    BY_NAME["SyncGroup"].request: sync_group.handle,
    BY_NAME["Heartbeat"].request: heartbeat.handle,
    BY_NAME["LeaveGroup"].request: leave_group.handle,
    BY_NAME["DescribeGroups"].request: describe_groups.handle,
    BY_NAME["DeleteGroups"].request: delete_groups.handle,
    BY_NAME["OffsetDelete"].request: offset_delete.handle,
    BY_NAME["ApiVersions"].request: api_versions.handle,
    BY_NAME["Metadata"].request: metadata.handle,
    BY_NAME["DescribeCluster"].request: describe_cluster.handle,
    BY_NAME["CreateTopics"].request: create_topics.handle,
    BY_NAME["DescribeTransactions"].request: describe_transactions.handle,
    BY_NAME["ListTransactions"].request: list_transactions.handle,
    BY_NAME["DescribeProducers"].request: describe_producers.handle,
}
