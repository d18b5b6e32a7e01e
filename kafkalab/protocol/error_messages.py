"""The message of each error, in Kafka's own words, by the error's name: people search for them, and Java's exceptions
have them (`org.apache.kafka.common.protocol.Errors`)."""

from __future__ import annotations

MESSAGES: dict[str, str] = {
    "UNKNOWN_SERVER_ERROR": "The server experienced an unexpected error when processing the request.",
    "NONE": "NONE",
    "OFFSET_OUT_OF_RANGE": "The requested offset is not within the range of offsets maintained by the server.",
    "CORRUPT_MESSAGE": (
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or "
        "is otherwise corrupt."
    ),
    "UNKNOWN_TOPIC_OR_PARTITION": "This server does not host this topic-partition.",
    "LEADER_NOT_AVAILABLE": (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    "NOT_LEADER_OR_FOLLOWER": (
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition."
    ),
    "REQUEST_TIMED_OUT": "The request timed out.",
    "MESSAGE_TOO_LARGE": "The request included a message larger than the max message size the server will accept.",
    "OFFSET_METADATA_TOO_LARGE": "The metadata field of the offset request was too large.",
    "NETWORK_EXCEPTION": "The server disconnected before a response was received.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests.",
    "COORDINATOR_NOT_AVAILABLE": "The coordinator is not available.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
    "INVALID_TOPIC_EXCEPTION": "The request attempted to perform an operation on an invalid topic.",
    "RECORD_LIST_TOO_LARGE": (
        "The request included message batch larger than the configured segment size on the server."
    ),
    "NOT_ENOUGH_REPLICAS": "Messages are rejected since there are fewer in-sync replicas than required.",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": (
        "Messages are written to the log, but to fewer in-sync replicas than required."
    ),
    "INVALID_REQUIRED_ACKS": "Produce request specified an invalid value for required acks.",
    "ILLEGAL_GENERATION": "Specified group generation id is not valid.",
    "INCONSISTENT_GROUP_PROTOCOL": (
        "The group member's supported protocols are incompatible with those of existing members or first group member"
        " tried to join with empty protocol type or empty protocol list."
    ),
    "INVALID_GROUP_ID": "The group id is invalid.",
    "UNKNOWN_MEMBER_ID": "The coordinator is not aware of this member.",
    "INVALID_SESSION_TIMEOUT": (
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms)."
    ),
    "REBALANCE_IN_PROGRESS": "The group is rebalancing, so a rejoin is needed.",
    "TOPIC_AUTHORIZATION_FAILED": "Topic authorization failed.",
    "GROUP_AUTHORIZATION_FAILED": "Group authorization failed.",
    "CLUSTER_AUTHORIZATION_FAILED": "Cluster authorization failed.",
    "INVALID_TIMESTAMP": "The timestamp of the message is out of acceptable range.",
    "UNSUPPORTED_VERSION": "The version of API is not supported.",
    "TOPIC_ALREADY_EXISTS": "Topic with this name already exists.",
    "INVALID_PARTITIONS": "Number of partitions is below 1.",
    "INVALID_REPLICATION_FACTOR": "Replication factor is below 1 or larger than the number of available brokers.",
    "INVALID_REQUEST": (
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details."
    ),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "The message format version on the broker does not support the request.",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "The broker received an out of order sequence number.",
    "DUPLICATE_SEQUENCE_NUMBER": "The broker received a duplicate sequence number.",
    "INVALID_PRODUCER_EPOCH": "Producer attempted to produce with an old epoch.",
    "INVALID_TXN_STATE": "The producer attempted a transactional operation in an invalid state.",
    "INVALID_PRODUCER_ID_MAPPING": (
        "The producer attempted to use a producer id which is not currently assigned to its transactional id."
    ),
    "INVALID_TRANSACTION_TIMEOUT": (
        "The transaction timeout is larger than the maximum value allowed by the broker (as configured by "
        "transaction.max.timeout.ms)."
    ),
    "CONCURRENT_TRANSACTIONS": (
        "The producer attempted to update a transaction while another concurrent operation on the same transaction "
        "was ongoing."
    ),
    "TRANSACTION_COORDINATOR_FENCED": (
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for"
        " a given producer."
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "Transactional Id authorization failed.",
    "OPERATION_NOT_ATTEMPTED": (
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations"
        " in the batch failed, causing the broker to respond without trying the rest."
    ),
    "KAFKA_STORAGE_ERROR": "Disk error when trying to access log file on the disk.",
    "UNKNOWN_PRODUCER_ID": (
        "This exception is raised by the broker if it could not locate the producer metadata associated with the "
        "producerId in question. This could happen if, for instance, the producer's records were deleted because "
        "their retention time had elapsed. Once the last records of the producerId are removed, the producer's "
        "metadata is removed from the broker, and future appends by the producer will return this exception."
    ),
    "NON_EMPTY_GROUP": "The group is not empty.",
    "GROUP_ID_NOT_FOUND": "The group id does not exist.",
    "FETCH_SESSION_ID_NOT_FOUND": "The fetch session ID was not found.",
    "INVALID_FETCH_SESSION_EPOCH": "The fetch session epoch is invalid.",
    "FENCED_LEADER_EPOCH": "The leader epoch in the request is older than the epoch on the broker.",
    "UNKNOWN_LEADER_EPOCH": "The leader epoch in the request is newer than the epoch on the broker.",
    "UNSUPPORTED_COMPRESSION_TYPE": (
        "The requesting client does not support the compression type of given partition."
    ),
    "OFFSET_NOT_AVAILABLE": (
        "The leader high watermark has not caught up from a recent leader election so the offsets cannot be "
        "guaranteed to be monotonically increasing."
    ),
    "MEMBER_ID_REQUIRED": (
        "The group member needs to have a valid member id before actually entering a consumer group."
    ),
    "GROUP_MAX_SIZE_REACHED": "The group has reached its maximum size.",
    "FENCED_INSTANCE_ID": (
        "The broker rejected this static consumer since another consumer with the same group.instance.id has "
        "registered with a different member.id."
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    "INVALID_RECORD": "This record has failed the validation on broker and hence will be rejected.",
    "UNSTABLE_OFFSET_COMMIT": "There are unstable offsets that need to be cleared.",
    "THROTTLING_QUOTA_EXCEEDED": "The throttling quota has been exceeded.",
    "PRODUCER_FENCED": "There is a newer producer with the same transactionalId which fences the current one.",
    "TRANSACTIONAL_ID_NOT_FOUND": "The transactionalId could not be found.",
    "FENCED_MEMBER_EPOCH": (
        "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin."
    ),
    "UNRELEASED_INSTANCE_ID": (
        "The instance ID is still used by another member in the consumer group. That member must leave first."
    ),
    "UNSUPPORTED_ASSIGNOR": "The assignor or its version range is not supported by the consumer group.",
    "STALE_MEMBER_EPOCH": (
        "The member epoch is stale. The member must retry after receiving its updated member epoch via the "
        "ConsumerGroupHeartbeat API."
    ),
    "TRANSACTION_ABORTABLE": (
        "The server encountered an error with the transaction. The client can abort the transaction to continue using"
        " this transactional ID."
    ),
    "INVALID_REGULAR_EXPRESSION": "The regular expression is not valid.",
    "REBOOTSTRAP_REQUIRED": "Client metadata is stale. The client should rebootstrap to obtain new metadata.",
}
