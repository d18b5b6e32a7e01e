"""Advice on each error of the atlas: what it means, what to check first, and what to do in each client.

Sources: Kafka's `TransactionManager` for Java (docs/protocol.md#producer-reactions); for librdkafka the functions
`rd_kafka_txn_handle_*` of rdkafka_txnmgr.c, `rd_kafka_handle_Produce_error` of rdkafka_request.c and
`rd_kafka_idemp_check_error` of rdkafka_idempotence.c (2.16).
"""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """The advice on one error.

    `met_on` names the APIs on which brokers answer it to a client, that of the stored run first. `java` and
    `librdkafka` say what to do in each client; `command` shows more of the cluster. `bugs` led to it, though their
    descriptions and runs do not name it.
    """

    means: str
    met_on: tuple[str, ...]
    check: str
    java: str
    librdkafka: str
    command: str
    bugs: tuple[str, ...] = ()


TOOL = "kafka-transactions.sh --bootstrap-server host:9092"
DESCRIBE = f"{TOOL} describe --transactional-id ID"
PRODUCERS = f"{TOOL} describe-producers --topic TOPIC --partition 0"
STATE_TOPIC = "kafka-topics.sh --bootstrap-server host:9092 --describe --topic __transaction_state"
MEMBERS = "kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group GROUP --members --verbose"
ACLS = "kafka-acls.sh --bootstrap-server host:9092 --list"
BY_ITSELF = "Nothing: it retries by itself."
CLOSE, ABORT = "Fatal: close the producer, make a new one.", "Abort the transaction, and do it again."

GUIDE: dict[Error, Guide] = {
    Error.INVALID_PRODUCER_EPOCH: Guide(
        means="The partition has seen a newer epoch of your producer.",
        met_on=("Produce",),
        check="Did the transaction take longer than transaction.timeout.ms? If not: does another instance have this "
        "transactional.id?",
        java="Abort; if the abort is refused too, close the producer.",
        librdkafka="Fatal, seen as _FENCED: close the producer. Its EndTxn 1 gets this code from the coordinator, too.",
        command=DESCRIBE,
    ),
    Error.PRODUCER_FENCED: Guide(
        means="A newer producer has your transactional id, or the coordinator has aborted your transaction because it "
        "took too long.",
        met_on=("EndTxn", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn"),
        check="Does another instance have this transactional.id? If not: transaction.timeout.ms.",
        java="Close this one. Make no new one in a process that has been replaced.",
        librdkafka="The same; it is seen as _FENCED.",
        command=DESCRIBE,
    ),
    Error.INVALID_PRODUCER_ID_MAPPING: Guide(
        means="The transactional id has another producer id, or has expired.",
        met_on=("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "InitProducerId"),
        check="Was the producer idle for longer than transactional.id.expiration.ms (7 days)?",
        java="Close the producer, make a new one (fatal since 4.0).",
        librdkafka="Abort: it then takes a new producer id by itself. From TxnOffsetCommit it is fatal.",
        command=DESCRIBE,
    ),
    Error.NOT_COORDINATOR: Guide(
        means="The coordinator has moved to another broker.",
        met_on=("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"),
        check="Was a broker restarted? It should pass within seconds.",
        java="Nothing: it looks the coordinator up and retries.",
        librdkafka="Nothing: it does the same.",
        command=STATE_TOPIC,
    ),
    Error.COORDINATOR_NOT_AVAILABLE: Guide(
        means="No live coordinator is known, or its log cannot be written.",
        met_on=("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
        check="Does __transaction_state exist, with a leader and enough replicas in sync? One broker with default "
        "settings cannot create it.",
        java=BY_ITSELF,
        librdkafka=BY_ITSELF,
        command=STATE_TOPIC,
    ),
    Error.COORDINATOR_LOAD_IN_PROGRESS: Guide(
        means="The new coordinator is still reading its log.",
        met_on=("EndTxn", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"),
        check="If it lasts: the broker's log, `Completed loading transaction metadata`, and partition-load-time-max.",
        java=BY_ITSELF,
        librdkafka=BY_ITSELF,
        command=STATE_TOPIC,
    ),
    Error.INVALID_TXN_STATE: Guide(
        means="The request does not fit the transaction's state: usually the coordinator has aborted it already "
        "because it took too long.",
        met_on=("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "Produce"),
        check="Did the transaction take longer than transaction.timeout.ms? On Produce, after an upgrade: the brokers' "
        "version, see the bugs below.",
        java="From Produce: abort, and do it again. From the coordinator: close the producer, make a new one.",
        librdkafka="From the coordinator fatal: close the producer. From Produce: abort.",
        command=DESCRIBE,
    ),
    Error.CONCURRENT_TRANSACTIONS: Guide(
        means="The previous transaction is still being completed.",
        met_on=("AddPartitionsToTxn", "InitProducerId", "AddOffsetsToTxn", "EndTxn"),
        check="If it lasts: is a partition of the previous transaction without a leader?",
        java=BY_ITSELF,
        librdkafka=BY_ITSELF,
        command=DESCRIBE,
        bugs=("KAFKA-16352", "KAFKA-19999"),
    ),
    Error.DUPLICATE_SEQUENCE_NUMBER: Guide(
        means="The record is in the log; its offset is no longer known. Not sent since 1.0.2 and 1.1.",
        met_on=("Produce",),
        check="The brokers' version.",
        java="Nothing: the record counts as written.",
        librdkafka="Nothing: the same.",
        command=PRODUCERS,
    ),
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Guide(
        means="A batch before this one is missing: it is on its way, or lost.",
        met_on=("Produce",),
        check="Is it in the log only, or does your program get it? If your program does: has the leader lost records "
        "(unclean election), or has a batch expired (delivery.timeout.ms)?",
        java="While it retries, nothing. In a transaction that fails: abort. Without one it raises its epoch.",
        librdkafka="Nothing while an earlier batch is under way: it retries. For the batch that is next in line it is "
        "fatal: close the producer.",
        command=PRODUCERS,
        bugs=("KAFKA-14904", "KAFKA-14920", "KAFKA-18202"),
    ),
    Error.UNKNOWN_PRODUCER_ID: Guide(
        means="The leader has forgotten your producer with its last record. Gone since 2.5.",
        met_on=("Produce",),
        check="The brokers' version, and the topic's retention.",
        java="Nothing since 2.5; before, close the producer.",
        librdkafka="Abort the transaction: it takes a new epoch. Without a transaction it may be fatal.",
        command=PRODUCERS,
    ),
    Error.INVALID_TRANSACTION_TIMEOUT: Guide(
        means="Your transaction.timeout.ms is over the brokers' transaction.max.timeout.ms.",
        met_on=("InitProducerId",),
        check="Both settings.",
        java="Lower transaction.timeout.ms: the producer must be made again.",
        librdkafka="The same.",
        command="kafka-configs.sh --bootstrap-server host:9092 --describe --entity-type brokers --all",
    ),
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Guide(
        means="Your client may not write under this transactional id.",
        met_on=("InitProducerId", "FindCoordinator", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "Produce"),
        check="The ACLs: WRITE (and DESCRIBE) on TransactionalId:ID.",
        java="Have the right granted. From initTransactions(): call it again. Later: a new producer.",
        librdkafka="Fatal: have the right granted, make a new producer.",
        command=f"{ACLS} --transactional-id ID",
    ),
    Error.CLUSTER_AUTHORIZATION_FAILED: Guide(
        means="Your client may not be idempotent. That takes WRITE on a topic, before 2.8 IDEMPOTENT_WRITE on the "
        "cluster.",
        met_on=("Produce", "InitProducerId"),
        check="The ACLs, and the brokers' version.",
        java="Have the right granted; make a new producer.",
        librdkafka="Fatal: the same.",
        command=f"{ACLS} --cluster",
    ),
    Error.TOPIC_AUTHORIZATION_FAILED: Guide(
        means="Your client may not write to this topic; nothing was added to the transaction.",
        met_on=("AddPartitionsToTxn", "Produce", "TxnOffsetCommit"),
        check="The ACLs: WRITE on the topic. For offsets: READ on the input topic.",
        java="Abort; have the right granted.",
        librdkafka="The same.",
        command=f"{ACLS} --topic TOPIC",
    ),
    Error.TRANSACTION_ABORTABLE: Guide(
        means="This transaction cannot commit any more.",
        met_on=("Produce", "AddPartitionsToTxn", "TxnOffsetCommit", "InitProducerId", "EndTxn"),
        check="The broker's log at that time: the partition could not be verified, or the transaction had ended.",
        java=f"{ABORT} If the abort fails, too, close the producer.",
        librdkafka=ABORT,
        command=DESCRIBE,
    ),
    Error.UNSTABLE_OFFSET_COMMIT: Guide(
        means="An open transaction holds offsets of your group: the client waits for its end.",
        met_on=("OffsetFetch",),
        check="If it lasts: which transaction is open? Its producer may be dead, until the transaction's timeout.",
        java=BY_ITSELF,
        librdkafka=BY_ITSELF,
        command=f"{TOOL} list",
    ),
    Error.ILLEGAL_GENERATION: Guide(
        means="Your group has rebalanced: another member has these inputs now.",
        met_on=("TxnOffsetCommit",),
        check="Did the work take longer than max.poll.interval.ms?",
        java="Seen as CommitFailedException: abort, then poll again.",
        librdkafka="Abort, then consume again.",
        command=MEMBERS,
        bugs=("KAFKA-15784",),
    ),
    Error.FENCED_INSTANCE_ID: Guide(
        means="Another member has your group.instance.id.",
        met_on=("TxnOffsetCommit",),
        check="Do two instances have the same group.instance.id?",
        java="Abort, then close consumer and producer.",
        librdkafka="The same.",
        command=MEMBERS,
    ),
    Error.TRANSACTION_COORDINATOR_FENCED: Guide(
        means="For administrators: a newer coordinator has written here already.",
        met_on=("WriteTxnMarkers",),
        check="With kafka-transactions.sh abort: has the transaction been ended meanwhile?",
        java="No producer meets it.",
        librdkafka="No producer meets it.",
        command=f"{TOOL} find-hanging --broker-id 1",
    ),
}
"""In the order of the page."""
