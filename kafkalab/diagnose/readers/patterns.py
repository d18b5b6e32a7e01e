"""The lines of logs that are understood: of the Java client, of librdkafka, of coordinators, leaders and controllers.

Each pattern has a name, a piece of text without which it cannot match, and an expression. The groups that a pattern may
have are `who` (a transactional id), `producer`, `epoch`, `partition` and `detail`. The texts are those of Kafka 2.5 to
4.4 (TransactionManager, Sender, TransactionCoordinator, TransactionMarkerChannelManager,
TransactionMarkerRequestCompletionHandler, TransactionStateManager, ProducerAppendInfo, Partition, UnifiedLog,
PartitionChangeBuilder) and of librdkafka 2.16.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GROUPS = {
    "producer": r"(?P<producer>-?\d{1,19})",
    "epoch": r"(?P<epoch>-?\d{1,6})",
    "who": r"(?P<who>\S+?)",
    "partition": r"(?P<partition>[\w.-]+-\d+)",
    "rest": r"(?P<detail>.*)",
}
"""The expression that replaces `<producer>` and the like in a pattern."""
_SHORT = re.compile(r"(?<!\(\?P)<(\w+)>")


class Pattern(NamedTuple):
    """One kind of line."""

    name: str
    piece: str
    expression: re.Pattern[str]


def _pattern(name: str, piece: str, expression: str) -> Pattern:
    return Pattern(name, piece, re.compile(_SHORT.sub(lambda found: GROUPS[found[1]], expression)))


CLIENT = (
    _pattern("id given", "ProducerId set to ", r"ProducerId set to <producer> with epoch <epoch>"),
    _pattern("init first", "Invoking InitProducerId for the first", r"Invoking InitProducerId for the first time"),
    _pattern(
        "init to recover",
        "Invoking InitProducerId with current",
        r"producer ID and epoch \S*\(producerId=<producer>, epoch=<epoch>\)",
    ),
    _pattern("abortable", "Transiting to abortable error", r"Transiting to abortable error state due to <rest>"),
    _pattern("fatal", "Transiting to fatal error", r"Transiting to fatal error state due to <rest>"),
    _pattern("timed out", "while awaiting ", r"Timeout expired after \d+ ?ms while awaiting (?P<detail>[\w()]+)"),
    _pattern(
        "produce retried", "Got error produce response", r"on topic-partition <partition>, .*Error: (?P<detail>\w+)"
    ),
    _pattern(
        "produce refused",
        "The broker returned ",
        r"The broker returned (?P<detail>\S+?):? .*topic-partition <partition> with producerId <producer>, "
        r"epoch <epoch>",
    ),
    _pattern(
        "closed with abort", "Aborting incomplete transaction", r"Aborting incomplete transaction due to shutdown"
    ),
    _pattern(
        "error state", "in an error state", r"Cannot execute transactional method because we are in an error state"
    ),
    _pattern(
        "wrong order",
        "Invalid transition attempted",
        r"Invalid transition attempted from state (?P<detail>\w+ to state \w+)",
    ),
    _pattern(
        "idempotence off",
        "Idempotence will be disabled",
        r"Idempotence will be disabled because (?P<detail>[^,]{1,80})",
    ),
    _pattern("away from poll", "consumer poll timeout has expired", r"consumer poll timeout has expired"),
    _pattern(
        "assigned", "Adding newly assigned partitions", r"Adding newly assigned partitions: (?P<partition>[\w., -]+)"
    ),
    _pattern("closing", "Closing the Kafka producer", r"Closing the Kafka producer"),
    _pattern("batch expired", "Expiring ", r"Expiring \d+ record\(s\) for <partition>[: ]"),
    _pattern("version", "Kafka version: ", r"Kafka version: (?P<detail>\d[\w.-]*)"),
    _pattern(
        "position",
        "to the committed offset",
        r"partition <partition> to the committed offset \w+\{offset=(?P<detail>\d+)",
    ),
    _pattern(
        "position reset",
        "Resetting offset for partition",
        r"partition <partition> to position \w+\{offset=(?P<detail>\d+)",
    ),
    _pattern("position sought", "Seeking to ", r"Seeking to (?P<detail>.*) (?:for|of) partition <partition>"),
    _pattern("no position", "no committed offset for partition", r"no committed offset for partition <partition>"),
    _pattern(
        "offsets unstable",
        "still have unstable offsets",
        r"still have unstable offsets which are not cleared on the broker side: \[(?P<partition>[^\]]*)\]",
    ),
)
SETTINGS = _pattern(
    "setting",
    " = ",
    r"^\s*(?P<who>transactional\.id|transaction\.timeout\.ms|isolation\.level|group\.id|enable\.auto\.commit|"
    r"enable\.idempotence|max\.poll\.interval\.ms|delivery\.timeout\.ms) = (?P<detail>\S.*)$",
)
"""A line of a client's configuration, as it is printed at the start; `who` is the setting's name."""
LIBRDKAFKA = (
    _pattern("librdkafka id", "Acquired ", r"Acquired .*PID\{Id:<producer>,Epoch:<epoch>\}"),
    _pattern("librdkafka abortable", "Current transaction failed", r"Current transaction failed in state <rest>"),
    _pattern("librdkafka fatal", "Fatal ", r"Fatal (?:transaction )?error:? <rest>"),
    _pattern("librdkafka end failed", "Failed to end transaction", r"Failed to end transaction: <rest>"),
    _pattern("librdkafka state", "Transaction state change", r"Transaction state change (?P<detail>\w+ -> \w+)"),
    _pattern(
        "librdkafka registered",
        "registered with transaction",
        r"(?P<detail>[\w.-]+ \[\d+\]) registered with transaction",
    ),
    _pattern("librdkafka gave up", "Timed out ", r"Timed out (?P<detail>\w+)Request in flight"),
    _pattern("librdkafka no id", "Failed to acquire ", r"Failed to acquire .*PID from broker <rest>"),
)
COORDINATOR = (
    _pattern(
        "id initialized",
        "Initialized transactionalId",
        r"Initialized transactionalId <who> with producerId <producer> and producer epoch <epoch> on",
    ),
    _pattern(
        "init refused", "InitProducerId request", r"Returning (?P<detail>\w+) error code to client for <who>'s InitP"
    ),
    _pattern(
        "aborted for time",
        "due to timeout",
        r"Completed rollback of ongoing transaction for transactionalId <who> due to timeout",
    ),
    _pattern(
        "abort for time failed",
        "Rollback of ongoing transaction",
        r"Rollback of ongoing transaction for transactionalId <who> failed due to error (?P<detail>\w+)",
    ),
    _pattern(
        "marker skipped",
        "find leader endpoint for partitions",
        r"find leader endpoint for partitions \w+\((?P<partition>[^)]*)\) while trying to send transaction markers for "
        r"<who>,",
    ),
    _pattern(
        "marker retried",
        "transaction marker for partition",
        r"Sending <who>'s transaction marker for partition <partition> has failed with error (?P<detail>[\w.]+), "
        r"retrying",
    ),
    _pattern(
        "marker refused",
        "has permanently failed",
        r"Sending <who>'s transaction marker for partition <partition> has permanently failed with error "
        r"(?P<detail>[\w.]+)",
    ),
    _pattern(
        "state loading", "Loading transaction metadata", r"Loading transaction metadata from <partition> at epoch"
    ),
    _pattern(
        "state loaded",
        "Finished loading ",
        r"Finished loading (?P<detail>\d+) transaction metadata from <partition> in",
    ),
    _pattern(
        "coordinator elected", "Elected as the txn", r"Elected as the txn coordinator for partition (?P<detail>\d+)"
    ),
    _pattern(
        "coordinator resigned", "Resigned as the txn", r"Resigned as the txn coordinator for partition (?P<detail>\d+)"
    ),
    _pattern(
        "append refused",
        " append transaction log for ",
        r"TransactionalId <who> append transaction log for .* transition failed due to (?P<detail>[\w.]+),",
    ),
    _pattern(
        "append retried",
        "possible causes include",
        r"Not available to append .*?transactionalId=(?P<who>[^,]+),",
    ),
    _pattern(
        "end refused",
        "EndTransaction request",
        r"Aborting sending of transaction markers .*?(?:returning )(?P<detail>\w+) error to client for <who>'s EndT",
    ),
    _pattern(
        "markers sent again", "Sending txn markers for", r"Sending txn markers for <rest> after loading partition"
    ),
    _pattern(
        "state record", "TxnTransitMetadata(", r"TxnTransitMetadata\(producerId=<producer>,.*?txnState=(?P<detail>\w+)"
    ),
)
LEADER = (
    _pattern(
        "out of order",
        "Out of order sequence number",
        r"Out of order sequence number for producer(?:Id)? <producer> at offset -?\d+ in partition <partition>: "
        r"(?P<detail>-?\d+ \(incoming seq. number\), -?\d+ \((?:current end sequence number|earliest seen sequence)\))",
    ),
    _pattern(
        "old epoch refused",
        "smaller than the last seen epoch",
        r"Epoch of producer <producer> at offset -?\d+ in <partition> is <epoch>, which is smaller than the last seen "
        r"epoch (?P<detail>\d+)",
    ),
    _pattern(
        "too few in sync",
        "to satisfy the min.isr",
        r"size of the current ISR:? ?(?P<detail>.*?) is insufficient to satisfy the min.isr requirement of \d+ for "
        r"partition <partition>",
    ),
    _pattern(
        "unclean election",
        "marked as RECOVERING",
        r"partition <partition> was marked as RECOVERING",  # a leader is, only after an unclean election (KIP-704)
    ),
    _pattern("unclean election", "unclean", r"partition (?P<partition>[\w.-]+) to \S+ using an unclean election"),
    _pattern(
        "unclean election",
        "nclean leader election for",
        r"nclean leader election for (?:offline )?partition <partition>",
    ),
    _pattern("unclean election", "UNCLEAN partition change", r"UNCLEAN partition change for <partition>\b"),
    _pattern(
        "unclean election", "elected as leader under unclean", r"[Rr]eplica \S+ .*for partition <partition>.*unclean"
    ),
    _pattern("unclean election", "potential data loss", r"for \[?<partition>.*potential data loss"),
    _pattern(
        "cut below watermark",
        "below high watermark",
        r"Truncating <partition> to offset (?P<detail>\d+ below high watermark \d+)",
    ),
    _pattern("log cut", "Truncating to offset", r"partition=<partition>,.*Truncating to offset (?P<detail>\d+)"),
    _pattern(
        "markers refused",
        "Invalid coordinator epoch",
        r"Invalid coordinator epoch for producerId <producer> at offset -?\d+ in partition <partition>: <rest>",
    ),
    _pattern("not verified", "part of the ongoing", r"not (?:added to|part of) the ongoing transaction"),
    _pattern(
        "topic deleted",
        "offsets associated with deleted partitions",
        r"offsets associated with deleted partitions: (?P<partition>[\w., -]+?)\.? \(",
    ),
    _pattern(
        "state topic missing",
        "for the transactions state topic",
        r"alive brokers '(?P<detail>\d+' does not meet the required replication factor '\d+') for the trans",
    ),
    _pattern("starting", "(kafka.server.", r"\[(?:KafkaServer|BrokerServer)[^\]]*\] (?P<detail>[Ss]tart(?:ed|ing))"),
)
PATTERNS = (*CLIENT, *LIBRDKAFKA, *COORDINATOR, *LEADER)
