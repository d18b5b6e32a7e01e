"""The field mappings of every API: what does not follow from the fields' names."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.errors import Error
from kafkalab.wire import special
from kafkalab.wire.rules import Custom, Is, Keyed, Only, Partitions, Rows
from kafkalab.wire.values import (
    ASSIGNED,
    ASSIGNMENT,
    BATCH,
    BATCHES,
    CLIENT_HOST,
    EPOCH_END,
    ERROR,
    EXPECTED_NODE,
    HOST,
    ISOLATION,
    LIMIT,
    MESSAGE,
    NODE,
    NODES,
    ONE_MEMBER,
    OR_NO_EPOCH,
    OR_NULL,
    PARTITION_MAX_BYTES,
    PORT,
    SUBSCRIPTION,
    TOPIC_ID,
    Kind,
    write_only,
)


def as_asked(name: str) -> Is:
    """Return the rule of a field that an answer has from its request."""
    return Is(name, "error", write_only(lambda error, sink: getattr(sink.asked, name, "")))


ERRORS_OF = (Is("error_code", "errors", ERROR, default=Error.NONE),)
COMMITTED = (
    Is("committed_offset", "offsets", default=-1),
    Is("committed_leader_epoch", "leader_epochs", absent=-1, default=-1),
)
KNOWN_EPOCH = Is("current_leader_epoch", "current_leader_epochs", absent=-1, default=-1)
PARTITION_LIMIT = Is(
    "partition_max_bytes", "partition_max_bytes", absent=PARTITION_MAX_BYTES, default=PARTITION_MAX_BYTES
)
OFFSETS = Partitions("topics", columns=(*COMMITTED, Is("committed_metadata", "metadata", absent=None)))
FETCHED = Partitions("topics", columns=(*COMMITTED, Is("metadata", "metadata", absent="", default=""), *ERRORS_OF))
NAMED = Partitions("topics", "partitions")
PARTITION_ERRORS = Partitions("topics", columns=ERRORS_OF)
OF_GENERATION = Is("generation_id_or_member_epoch", "generation_id")
RESULTS, OLD_RESULTS = (
    Partitions(name, columns=(Is("partition_error_code", "errors", ERROR),))
    for name in ("topic_results", "results_by_topic_v3_and_below")
)
COORDINATOR = (
    Is("node_id", "node_id", NODE),
    Is("host", "node_id", HOST),
    Is("port", "node_id", PORT),
    Is("error_message", "error", MESSAGE),
)
PROTOCOL = (Is("protocol_type", "protocol_type", OR_NULL), Is("protocol_name", "protocol_name", OR_NULL))

TABLE: dict[str, tuple[Any, ...]] = {
    "ApiVersions": (Is("node_id", "node_id", EXPECTED_NODE),),
    "ApiVersionsResponse": (
        Is("api_keys", "error", write_only(special.api_keys)),
        Is("supported_features", "error", write_only(special.list_supported)),
        Custom("finalized_features", special.level, special.list_finalized),
        Is("finalized_features_epoch", "error", write_only(lambda error, _: 1 if error is Error.NONE else -1)),
    ),
    "Metadata": (
        Custom("topics", special.topics_of, special.topics_asked),
        Is("allow_auto_topic_creation", "allow_auto_topic_creation", default=True),
    ),
    "MetadataResponse": (
        Custom("brokers", special.alive, lambda message, sink: special.brokers(message.metadata.alive, sink)),
        Is("controller_id", "metadata", write_only(lambda image, sink: special.some_broker(image.alive, sink))),
        Custom("topics", special.read_image, special.topic_rows),
        Is("cluster_id", "error", write_only(lambda error, sink: sink.names.cluster_id)),
    ),
    "DescribeClusterResponse": (
        Is("brokers", "brokers", Kind(special.names_of_brokers, special.brokers)),
        Is("controller_id", "brokers", write_only(special.some_broker)),
        Is("cluster_id", "error", write_only(lambda error, sink: sink.names.cluster_id)),
        Is("endpoint_type", "error", write_only(lambda *_: 1)),
    ),
    "DescribedTopic": (Custom("topic_id", lambda *_: None, special.id_of_described),),
    "DescribedPartition": (
        Is("leader_id", "leader_id", NODE),
        *(Is(name, name, NODES) for name in ("replica_nodes", "isr_nodes", "offline_replicas")),
        *(Is(name, "error", write_only(lambda *_: ())) for name in ("eligible_leader_replicas", "last_known_elr")),
    ),
    "DescribedConfig": (Is("error_message", "error", MESSAGE),),
    "FindCoordinator": (Only("coordinator_keys", value="key"),),
    "FindCoordinatorResponse": (*COORDINATOR, Only("coordinators", (as_asked("key"), *COORDINATOR))),
    "AddPartitionsToTxn": (
        Is("v3_and_below_transactional_id", "transactional_id"),
        Is("v3_and_below_producer_id", "producer_id"),
        Is("v3_and_below_producer_epoch", "producer_epoch"),
        Partitions("v3_and_below_topics", "partitions"),
        Only("transactions", (NAMED,)),
    ),
    "AddPartitionsToTxnResponse": (
        OLD_RESULTS, Only("results_by_transaction", (as_asked("transactional_id"), RESULTS)),
    ),
    "Produce": (Partitions("topic_data", columns=(Is("records", "batches", BATCH),)),),
    "ProduceResponse": (Partitions("responses", "partitions"),),
    "PartitionProduced": (Is("error_message", "error", MESSAGE),),
    "Fetch": (
        Is("isolation_level", "isolation_level", ISOLATION),
        Is("max_bytes", "max_bytes", LIMIT),
        Partitions(
            "topics",
            columns=(
                Is("fetch_offset", "positions"),
                PARTITION_LIMIT,
                KNOWN_EPOCH,
                Is("last_fetched_epoch", "last_fetched_epochs", absent=-1, default=-1),
            ),
        ),
    ),
    "FetchResponse": (Partitions("responses", "partitions"),),
    "PartitionFetched": (Is("records", "batches", BATCHES), Is("diverging_epoch", "diverging", EPOCH_END)),
    "ListOffsets": (
        Is("isolation_level", "isolation_level", ISOLATION),
        Partitions("topics", "partitions", (KNOWN_EPOCH,), each="timestamp"),
    ),
    "ListOffsetsResponse": (
        Partitions(
            "topics",
            columns=(Is("offset", "offsets", default=-1), *ERRORS_OF, Is("timestamp", "timestamps", default=-1)),
        ),
    ),
    "DeleteRecords": (Partitions("topics", columns=(Is("offset", "offsets"),)),),
    "DeleteRecordsResponse": (
        Partitions("topics", columns=(Is("low_watermark", "low_watermarks", default=-1), *ERRORS_OF)),
    ),
    "OffsetCommit": (OF_GENERATION, OFFSETS),
    "OffsetCommitResponse": (PARTITION_ERRORS,),
    "TxnOffsetCommit": (OF_GENERATION, OFFSETS),
    "TxnOffsetCommitResponse": (PARTITION_ERRORS,),
    "OffsetFetch": (NAMED, Only("groups", (NAMED, Is("member_epoch", "member_epoch", OR_NO_EPOCH)))),
    "OffsetFetchResponse": (FETCHED, Only("groups", (as_asked("group_id"), FETCHED))),
    "OffsetDelete": (NAMED,),
    "OffsetDeleteResponse": (PARTITION_ERRORS,),
    "JoinGroup": (Keyed("protocols", "protocols", "name", value=Is("metadata", "value", SUBSCRIPTION)),),
    "JoinGroupResponse": PROTOCOL,
    "JoinedMember": (Is("metadata", "topics", SUBSCRIPTION),),
    "SyncGroup": (Keyed("assignments", "assignments", "member_id", value=Is("assignment", "value", ASSIGNMENT)),),
    "SyncGroupResponse": (*PROTOCOL, Is("assignment", "assignment", ASSIGNMENT)),
    "LeaveGroup": (Is("member_id", "members", ONE_MEMBER), Rows("members", "members")),
    "LeaveGroupResponse": (Custom("members", special.leaving, special.list_left_members),),
    "ConsumerGroupHeartbeat": (Partitions("topic_partitions", "topic_partitions"),),
    "ConsumerGroupHeartbeatResponse": (
        Is("error_message", "error", MESSAGE),
        Is("assignment", "assignment", ASSIGNED),
    ),
    "DescribedConsumerGroup": (Is("error_message", "error", MESSAGE),),
    "DescribedConsumer": (
        Is("client_host", "client_id", write_only(lambda *_: CLIENT_HOST)),
        *(Is(name, name, ASSIGNED) for name in ("assignment", "target_assignment")),
    ),
    "DescribeGroupsResponse": (Keyed("groups", "groups", "group_id"),),
    "DescribedGroup": (Is("group_state", "state"), Is("protocol_data", "protocol")),
    "MemberEntry": (
        Is("member_metadata", "subscription", SUBSCRIPTION), Is("member_assignment", "assignment", ASSIGNMENT)
    ),
    "DeleteGroups": (Is("groups_names", "groups"),),
    "DeleteGroupsResponse": (Keyed("results", "errors", "group_id", value=Is("error_code", "value", ERROR)),),
    "CreateTopicsResponse": (
        Keyed(
            "topics", "errors", "name", value=Is("error_code", "value", ERROR),
            also=(Is("topic_id", "key", TOPIC_ID), Is("error_message", "value", MESSAGE)),
        ),
    ),
    "TxnMarkers": (Is("transaction_result", "committed"), NAMED),
    "WriteTxnMarkersResponse": (
        Keyed(
            "markers", "markers", "producer_id",
            value=Partitions("topics", columns=(Is("error_code", "value", ERROR),)),
        ),
    ),
    "DescribeTransactionsResponse": (Rows("transaction_states", "transactions"),),
    "DescribedTransaction": (
        Is("transaction_state", "state"),
        Is("transaction_timeout_ms", "timeout_ms"),
        Is("transaction_start_time_ms", "start_ms"),
        NAMED,
    ),
    "ListTransactionsResponse": (Rows("transaction_states", "transactions"),),
    "ListedTransaction": (Is("transaction_state", "state"),),
    "DescribeProducers": (NAMED,),
    "DescribeProducersResponse": (NAMED,),
}  # fmt: skip
"""By the name of our message, or of a part of it, the rules for Kafka's (`shapes`). What is missing follows from the
names."""
