"""The field mappings of every API: what does not follow from the fields' names."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import Error
from kafkalab.protocol.group_record import MemberEntry
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.create_topics import CreateTopics, CreateTopicsResponse, NewTopic
from kafkalab.protocol.messages.delete_groups import DeleteGroups, DeleteGroupsResponse
from kafkalab.protocol.messages.delete_records import DeleteRecords, DeleteRecordsResponse
from kafkalab.protocol.messages.describe_cluster import DescribeClusterResponse
from kafkalab.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kafkalab.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    PartitionProducers,
)
from kafkalab.protocol.messages.describe_transactions import DescribedTransaction, DescribeTransactionsResponse
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.messages.find_coordinator import FindCoordinator, FindCoordinatorResponse
from kafkalab.protocol.messages.join_group import JoinedMember, JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeaveGroupResponse, LeavingMember
from kafkalab.protocol.messages.list_offsets import ListOffsets, ListOffsetsResponse
from kafkalab.protocol.messages.list_transactions import ListedTransaction, ListTransactionsResponse
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.protocol.messages.offset_commit import OffsetCommit, OffsetCommitResponse
from kafkalab.protocol.messages.offset_delete import OffsetDelete, OffsetDeleteResponse
from kafkalab.protocol.messages.offset_fetch import OffsetFetch, OffsetFetchResponse
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.messages.sync_group import SyncGroup, SyncGroupResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.wire.rules import Custom, Is, Keyed, Only, Partitions, Rows
from kafkalab.wire.special import (
    alive,
    api_keys,
    brokers,
    finalized,
    ignored,
    leaving,
    left,
    level,
    names_of_brokers,
    read_image,
    some_broker,
    supported,
    topic_rows,
    topics_asked,
    topics_of,
)
from kafkalab.wire.values import (
    ASSIGNMENT,
    BATCH,
    BATCHES,
    ERROR,
    HOST,
    ISOLATION,
    MESSAGE,
    NODE,
    ONE_MEMBER,
    OR_NULL,
    PORT,
    SUBSCRIPTION,
    TOPIC_ID,
    written,
)

MAX_BYTES, PARTITION_MAX_BYTES = 52_428_800, 1_048_576
"""The values of `fetch.max.bytes` and `max.partition.fetch.bytes` of a consumer of ours."""

ERRORS_OF = (Is("error_code", "errors", ERROR, default=Error.NONE),)
COMMITTED = (
    Is("committed_offset", "offsets", default=-1),
    Is("committed_leader_epoch", "leader_epochs", absent=-1, default=-1),
)
KNOWN_EPOCH = Is("current_leader_epoch", "current_leader_epochs", absent=-1, default=-1)
OFFSETS = Partitions("topics", "partitions", columns=(*COMMITTED, Is("committed_metadata", "metadata", absent=None)))
FETCHED = Partitions(
    "topics", "partitions", columns=(*COMMITTED, Is("metadata", "metadata", absent="", default=""), *ERRORS_OF)
)
ASKED_OFFSETS = Partitions("topics", "partition_indexes", names="partitions")
PARTITION_ERRORS = Partitions("topics", "partitions", columns=ERRORS_OF)
NAMED = Partitions("topics", "partitions", names="partitions")
OF_GENERATION = Is("generation_id_or_member_epoch", "generation_id")
GROUP_ID = Is("group_id", "error", written(lambda error, sink: sink.asked.group_id if sink.asked else ""))
KEY = Is("key", "error", written(lambda error, sink: sink.asked.key if sink.asked else ""))
COORDINATOR = (
    Is("node_id", "node_id", NODE),
    Is("host", "node_id", HOST),
    Is("port", "node_id", PORT),
    Is("error_message", "error", MESSAGE),
)
PROTOCOL = (Is("protocol_type", "protocol_type", OR_NULL), Is("protocol_name", "protocol_name", OR_NULL))

TABLE: dict[type, tuple[Any, ...]] = {
    ApiVersionsResponse: (
        Custom("api_keys", ignored, api_keys),
        Custom("supported_features", ignored, supported),
        Custom("finalized_features", level, finalized),
        Is("finalized_features_epoch", "error", written(lambda *_: 1)),
    ),
    Metadata: (
        Custom("topics", topics_of, topics_asked),
        Is("allow_auto_topic_creation", "allow_auto_topic_creation", default=True),
    ),
    MetadataResponse: (
        Custom("brokers", alive, brokers),
        Custom("controller_id", ignored, some_broker),
        Custom("topics", read_image, topic_rows),
        Is("cluster_id", "error", written(lambda error, sink: sink.names.cluster_id)),
    ),
    DescribeClusterResponse: (
        Custom("brokers", names_of_brokers, brokers),
        Custom("controller_id", ignored, some_broker),
        Is("cluster_id", "error", written(lambda error, sink: sink.names.cluster_id)),
        Is("endpoint_type", "error", written(lambda *_: 1)),
    ),
    FindCoordinator: (Only("coordinator_keys", value="key"),),
    FindCoordinatorResponse: (*COORDINATOR, Only("coordinators", (KEY, *COORDINATOR))),
    AddPartitionsToTxn: (
        Is("v3_and_below_transactional_id", "transactional_id"),
        Is("v3_and_below_producer_id", "producer_id"),
        Is("v3_and_below_producer_epoch", "producer_epoch"),
        Partitions("v3_and_below_topics", "partitions", names="partitions"),
    ),
    AddPartitionsToTxnResponse: (
        Partitions(
            "results_by_topic_v3_and_below", "results_by_partition",
            columns=(Is("partition_error_code", "errors", ERROR),),
        ),
    ),
    Produce: (Partitions("topic_data", "partition_data", "index", columns=(Is("records", "batches", BATCH),)),),
    ProduceResponse: (
        Partitions("responses", "partition_responses", "index", ours="partitions", type=PartitionProduced),
    ),
    PartitionProduced: (
        Is("error_message", "error", MESSAGE),
    ),
    Fetch: (
        Is("isolation_level", "isolation_level", ISOLATION),
        Is("max_bytes", "max_bytes", default=MAX_BYTES),
        Partitions(
            "topics", "partitions", "partition",
            columns=(
                Is("fetch_offset", "positions"),
                Is("partition_max_bytes", "partition_max_bytes", default=PARTITION_MAX_BYTES),
                KNOWN_EPOCH,
            ),
        ),
    ),
    FetchResponse: (Partitions("responses", "partitions", ours="partitions", type=PartitionFetched),),
    PartitionFetched: (
        Rows("aborted_transactions", "aborted_transactions", AbortedTxn),
        Is("records", "batches", BATCHES),
    ),
    ListOffsets: (
        Is("isolation_level", "isolation_level", ISOLATION),
        Partitions(
            "topics", "partitions", names="partitions", columns=(KNOWN_EPOCH,), each="timestamp"
        ),
    ),
    ListOffsetsResponse: (
        Partitions(
            "topics", "partitions",
            columns=(Is("offset", "offsets", default=-1), *ERRORS_OF, Is("timestamp", "timestamps", default=-1)),
        ),
    ),
    DeleteRecords: (Partitions("topics", "partitions", columns=(Is("offset", "offsets"),)),),
    DeleteRecordsResponse: (
        Partitions("topics", "partitions", columns=(Is("low_watermark", "low_watermarks", default=-1), *ERRORS_OF)),
    ),
    OffsetCommit: (OF_GENERATION, OFFSETS),
    OffsetCommitResponse: (PARTITION_ERRORS,),
    TxnOffsetCommit: (OF_GENERATION, OFFSETS),
    TxnOffsetCommitResponse: (PARTITION_ERRORS,),
    OffsetFetch: (ASKED_OFFSETS, Only("groups", (ASKED_OFFSETS,))),
    OffsetFetchResponse: (FETCHED, Only("groups", (GROUP_ID, FETCHED))),
    OffsetDelete: (NAMED,),
    OffsetDeleteResponse: (PARTITION_ERRORS,),
    JoinGroup: (Keyed("protocols", "protocols", "name", value=Is("metadata", "value", SUBSCRIPTION)),),
    JoinGroupResponse: (*PROTOCOL, Rows("members", "members", JoinedMember)),
    JoinedMember: (Is("metadata", "topics", SUBSCRIPTION),),
    SyncGroup: (Keyed("assignments", "assignments", "member_id", value=Is("assignment", "value", ASSIGNMENT)),),
    SyncGroupResponse: (*PROTOCOL, Is("assignment", "assignment", ASSIGNMENT)),
    LeaveGroup: (Is("member_id", "members", ONE_MEMBER), Rows("members", "members", LeavingMember)),
    LeaveGroupResponse: (Custom("members", leaving, left),),
    DescribeGroupsResponse: (Keyed("groups", "groups", "group_id", type=DescribedGroup),),
    DescribedGroup: (
        Is("group_state", "state"), Is("protocol_data", "protocol"), Rows("members", "members", MemberEntry)
    ),
    MemberEntry: (
        Is("member_metadata", "subscription", SUBSCRIPTION), Is("member_assignment", "assignment", ASSIGNMENT)
    ),
    DeleteGroups: (Is("groups_names", "groups"),),
    DeleteGroupsResponse: (Keyed("results", "errors", "group_id", value=Is("error_code", "value", ERROR)),),
    CreateTopics: (Rows("topics", "topics", NewTopic),),
    CreateTopicsResponse: (
        Keyed(
            "topics", "errors", "name", value=Is("error_code", "value", ERROR),
            also=(Is("topic_id", "key", TOPIC_ID), Is("error_message", "value", MESSAGE)),
        ),
    ),
    WriteTxnMarkers: (Rows("markers", "markers", TxnMarkers),),
    TxnMarkers: (
        Is("transaction_result", "committed"), Partitions("topics", "partition_indexes", names="partitions")
    ),
    WriteTxnMarkersResponse: (
        Keyed(
            "markers", "markers", "producer_id",
            value=Partitions("topics", "partitions", columns=(Is("error_code", "value", ERROR),)),
        ),
    ),
    DescribeTransactionsResponse: (Rows("transaction_states", "transactions", DescribedTransaction),),
    DescribedTransaction: (
        Is("transaction_state", "state"),
        Is("transaction_timeout_ms", "timeout_ms"),
        Is("transaction_start_time_ms", "start_ms"),
        Partitions("topics", "partitions", names="partitions"),
    ),
    ListTransactionsResponse: (Rows("transaction_states", "transactions", ListedTransaction),),
    ListedTransaction: (Is("transaction_state", "state"),),
    DescribeProducers: (Partitions("topics", "partition_indexes", names="partitions"),),
    DescribeProducersResponse: (Partitions("topics", "partitions", ours="partitions", type=PartitionProducers),),
    PartitionProducers: (Rows("active_producers", "active_producers", ActiveProducer),),
}  # fmt: skip
""" (`shapes`). What is missing follows from the names."""
