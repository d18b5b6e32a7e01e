"""The message of each error's exception, in Kafka's own words: people search for them, and tests compare them with
Java's (`org.apache.kafka.common.protocol.Errors`)."""

from __future__ import annotations

from kafkalab.protocol.errors import Error

MESSAGES: dict[Error, str] = {
    Error.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    Error.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets maintained by the server.",
    Error.CORRUPT_MESSAGE: (
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or "
        "is otherwise corrupt."
    ),
    Error.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Error.LEADER_NOT_AVAILABLE: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    Error.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition."
    ),
    Error.REQUEST_TIMED_OUT: "The request timed out.",
    Error.MESSAGE_TOO_LARGE: "The request included a message larger than the max message size the server will accept.",
    Error.OFFSET_METADATA_TOO_LARGE: "The metadata field of the offset request was too large.",
    Error.NETWORK_EXCEPTION: "The server disconnected before a response was received.",
    Error.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    Error.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Error.NOT_COORDINATOR: "This is not the correct coordinator.",
    Error.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
    Error.RECORD_LIST_TOO_LARGE: (
        "The request included message batch larger than the configured segment size on the server."
    ),
    Error.NOT_ENOUGH_REPLICAS: "Messages are rejected since there are fewer in-sync replicas than required.",
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (
        "Messages are written to the log, but to fewer in-sync replicas than required."
    ),
    Error.INVALID_REQUIRED_ACKS: "Produce request specified an invalid value for required acks.",
    Error.ILLEGAL_GENERATION: "Specified group generation id is not valid.",
    Error.INCONSISTENT_GROUP_PROTOCOL: (
        "The group member's supported protocols are incompatible with those of existing members or first group member"
        " tried to join with empty protocol type or empty protocol list."
    ),
    Error.INVALID_GROUP_ID: "The group id is invalid.",
    Error.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    Error.INVALID_SESSION_TIMEOUT: (
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms)."
    ),
    Error.REBALANCE_IN_PROGRESS: "The group is rebalancing, so a rejoin is needed.",
    Error.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Error.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Error.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Error.UNSUPPORTED_VERSION: "The version of API is not supported.",
    Error.TOPIC_ALREADY_EXISTS: "Topic with this name already exists.",
    Error.INVALID_PARTITIONS: "Number of partitions is below 1.",
    Error.INVALID_REPLICATION_FACTOR: "Replication factor is below 1 or larger than the number of available brokers.",
    Error.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details."
    ),
    Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: "The message format version on the broker does not support the request.",
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: "The broker received an out of order sequence number.",
    Error.DUPLICATE_SEQUENCE_NUMBER: "The broker received a duplicate sequence number.",
    Error.INVALID_PRODUCER_EPOCH: "Producer attempted to produce with an old epoch.",
    Error.INVALID_TXN_STATE: "The producer attempted a transactional operation in an invalid state.",
    Error.INVALID_PRODUCER_ID_MAPPING: (
        "The producer attempted to use a producer id which is not currently assigned to its transactional id."
    ),
    Error.INVALID_TRANSACTION_TIMEOUT: (
        "The transaction timeout is larger than the maximum value allowed by the broker (as configured by "
        "transaction.max.timeout.ms)."
    ),
    Error.CONCURRENT_TRANSACTIONS: (
        "The producer attempted to update a transaction while another concurrent operation on the same transaction "
        "was ongoing."
    ),
    Error.TRANSACTION_COORDINATOR_FENCED: (
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for"
        " a given producer."
    ),
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    Error.OPERATION_NOT_ATTEMPTED: (
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations"
        " in the batch failed, causing the broker to respond without trying the rest."
    ),
    Error.KAFKA_STORAGE_ERROR: "Disk error when trying to access log file on the disk.",
    Error.UNKNOWN_PRODUCER_ID: (
        "This exception is raised by the broker if it could not locate the producer metadata associated with the "
        "producerId in question. This could happen if, for instance, the producer's records were deleted because "
        "their retention time had elapsed. Once the last records of the producerId are removed, the producer's "
        "metadata is removed from the broker, and future appends by the producer will return this exception."
    ),
    Error.NON_EMPTY_GROUP: "The group is not empty.",
    Error.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    Error.FETCH_SESSION_ID_NOT_FOUND: "The fetch session ID was not found.",
    Error.INVALID_FETCH_SESSION_EPOCH: "The fetch session epoch is invalid.",
    Error.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    Error.UNKNOWN_LEADER_EPOCH: "The leader epoch in the request is newer than the epoch on the broker.",
    Error.OFFSET_NOT_AVAILABLE: (
        "The leader high watermark has not caught up from a recent leader election so the offsets cannot be "
        "guaranteed to be monotonically increasing."
    ),
    Error.MEMBER_ID_REQUIRED: (
        "The group member needs to have a valid member id before actually entering a consumer group."
    ),
    Error.GROUP_MAX_SIZE_REACHED: "The group has reached its maximum size.",
    Error.FENCED_INSTANCE_ID: (
        "The broker rejected this static consumer since another consumer with the same group.instance.id has "
        "registered with a different member.id."
    ),
    Error.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    Error.INVALID_RECORD: "This record has failed the validation on broker and hence will be rejected.",
    Error.UNSTABLE_OFFSET_COMMIT: "There are unstable offsets that need to be cleared.",
    Error.THROTTLING_QUOTA_EXCEEDED: "The throttling quota has been exceeded.",
    Error.PRODUCER_FENCED: "There is a newer producer with the same transactionalId which fences the current one.",
    Error.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found.",
    Error.STALE_MEMBER_EPOCH: (
        "The member epoch is stale. The member must retry after receiving its updated member epoch via the "
        "ConsumerGroupHeartbeat API."
    ),
    Error.TRANSACTION_ABORTABLE: (
        "The server encountered an error with the transaction. The client can abort the transaction to continue using"
        " this transactional ID."
    ),
    Error.INVALID_REGULAR_EXPRESSION: "The regular expression is not valid.",
}
