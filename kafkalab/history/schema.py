"""The rows of a history: each class is one table's schema: name, type, nullable and meaning of every column.

A `History` (kafkalab/history/history.py) holds tuples of these rows. pandas, pyarrow and Spark schemas are derived from
`columns_of`, by the parts that use them. Steps are those of the trace; -1 means that something never happened.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Annotated, NamedTuple, get_args, get_type_hints

TYPES = ("int64", "int32", "string", "bool", "list<string>")
Long = Annotated[int, "int64"]
Int = Annotated[int, "int32"]
Text = Annotated[str, "string"]
NullableText = Annotated[str | None, "string"]
Flag = Annotated[bool, "bool"]
Texts = Annotated[tuple[str, ...], "list<string>"]


class Column(NamedTuple):
    """One column: its type is one of TYPES."""

    name: str
    type: str
    nullable: bool
    doc: str


class Operation(NamedTuple):
    """An operation of a client: its begin ("invoke"), or its end: "ok", "fail", or "info" (nobody can tell)."""

    index: Annotated[Long, "position in the history, from 0"] = -1  # type: ignore[assignment]
    process: Annotated[Text, "the client node"] = ""
    client: Annotated[Text, "the producer or consumer of that node"] = ""
    type: Annotated[Text, "invoke, ok, fail or info"] = ""
    function: Annotated[Text, "init, begin, send, offsets, commit, abort, poll, assign or seek"] = ""
    invocation: Annotated[Long, "index of the invoke that this row ends; -1 for an invoke"] = -1
    transactional_id: Annotated[NullableText, "null outside transactions"] = None
    producer_id: Annotated[Long, "-1 where there is none"] = -1
    producer_epoch: Annotated[Int, "-1 where there is none"] = -1
    transaction: Annotated[Long, "the client's own count of its transactions, from 1; -1 outside one"] = -1
    key: Annotated[Text, "topic-partition; empty for an operation on none"] = ""
    sequence: Annotated[Int, "the record's sequence number; -1 where there is none"] = -1
    offset: Annotated[Long, "where the record lies, or where reading goes on; -1 if not known"] = -1
    value: Annotated[NullableText, "the record's value"] = None
    error: Annotated[Text, "Kafka's name of the error; empty or NONE without one"] = ""
    step: Annotated[Long, "step of the event"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1
    headers: Annotated[Texts, "the record's headers, each as key=value"] = ()


class LogRecord(NamedTuple):
    """A record or marker as a partition's leader appended it, by key and order of appending."""

    key: Annotated[Text, "topic-partition"] = ""
    offset: Annotated[Long, "the record's offset"] = -1
    record_key: Annotated[NullableText, "the record's own key; of a committed offset group/topic-partition"] = None
    value: Annotated[NullableText, "the record's value; of a committed offset that offset; null for a marker"] = None
    producer_id: Annotated[Long, "-1 without idempotence"] = -1
    producer_epoch: Annotated[Int, "-1 without idempotence"] = -1
    sequence: Annotated[Int, "this record's own sequence number; -1 without idempotence"] = -1
    transactional: Annotated[Flag, "whether the record belongs to a transaction"] = False
    control: Annotated[Text, "COMMIT or ABORT for a marker, else empty"] = ""
    coordinator_epoch: Annotated[Int, "of a marker, else -1"] = -1
    leader_epoch: Annotated[Int, "epoch of the leader that appended it"] = -1
    node: Annotated[Text, "the leader that appended it"] = ""
    frame: Annotated[Text, "id of the frame that led to the append; empty if none did directly"] = ""
    step: Annotated[Long, "step of the append"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1
    removed: Annotated[Text, "empty if it is still there; truncated, compacted or deleted"] = ""
    removed_step: Annotated[Long, "when it was removed, if known"] = -1
    headers: Annotated[Texts, "the record's headers, each as key=value"] = ()


class Read(NamedTuple):
    """A record that a poll returned to the application."""

    consumer: Annotated[Text, "the consumer"] = ""
    process: Annotated[Text, "its node"] = ""
    isolation_level: Annotated[Text, "read_committed or read_uncommitted"] = ""
    poll: Annotated[Long, "number of the poll among those of this consumer, from 1"] = -1
    index: Annotated[Long, "position in the poll, from 0"] = -1  # type: ignore[assignment]
    key: Annotated[Text, "topic-partition"] = ""
    offset: Annotated[Long, "the record's offset"] = -1
    value: Annotated[NullableText, "the record's value"] = None
    step: Annotated[Long, "step at which the poll returned"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1


class Poll(NamedTuple):
    """The range of one poll on one key, records or none: from one position to the next."""

    consumer: Annotated[Text, "the consumer"] = ""
    process: Annotated[Text, "its node"] = ""
    group: Annotated[NullableText, "its group; null outside groups"] = None
    isolation_level: Annotated[Text, "read_committed or read_uncommitted"] = ""
    poll: Annotated[Long, "number of the poll among those of this consumer, from 1"] = -1
    key: Annotated[Text, "topic-partition"] = ""
    start: Annotated[Long, "position before; -1 if not known"] = -1
    end: Annotated[Long, "position after; -1 if not known"] = -1
    moved: Annotated[Text, "why the position before is no continuation: assign, seek or rebalance; else empty"] = ""
    step: Annotated[Long, "step at which the poll returned"] = -1


class FrameRow(NamedTuple):
    """A request or response on the wire."""

    id: Annotated[Text, "name and number, such as EndTxn#1"] = ""
    name: Annotated[Text, "the API's name, with Response for an answer"] = ""
    kind: Annotated[Text, "request or response"] = ""
    sender: Annotated[Text, "node"] = ""
    receiver: Annotated[Text, "node"] = ""
    version: Annotated[Int, "the API's version"] = -1
    error: Annotated[Text, "first error of a response, NONE without one; empty for a request"] = ""
    of: Annotated[Text, "the request that a response answers"] = ""
    copy_of: Annotated[Text, "the frame that this is a second delivery of"] = ""
    attempt: Annotated[Int, "1, or more for a retry"] = -1
    fate: Annotated[Text, "delivered, dropped, lost or in flight"] = ""
    sent_step: Annotated[Long, "step of sending"] = -1
    sent_ms: Annotated[Long, "virtual time of sending"] = -1
    received_step: Annotated[Long, "step of arrival"] = -1
    received_ms: Annotated[Long, "virtual time of arrival"] = -1


class TxnEntry(NamedTuple):
    """An entry of the transaction log, in order of appending."""

    key: Annotated[Text, "partition of __transaction_state"] = ""
    offset: Annotated[Long, "its offset there"] = -1
    transactional_id: Annotated[Text, "whose entry"] = ""
    state: Annotated[Text, "Empty, Ongoing, Prepare… or Complete…, each with Commit or Abort; Dead: a tombstone"] = ""
    producer_id: Annotated[Long, "of the entry"] = -1
    producer_epoch: Annotated[Int, "of the entry"] = -1
    partitions: Annotated[Texts, "the transaction's partitions"] = ()
    timeout_ms: Annotated[Int, "transaction.timeout.ms"] = -1
    start_ms: Annotated[Long, "when the transaction began; -1 outside one"] = -1
    coordinator_epoch: Annotated[Int, "leader epoch of the partition, which is the coordinator's epoch"] = -1
    node: Annotated[Text, "the coordinator"] = ""
    step: Annotated[Long, "step of the append"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1
    removed: Annotated[Text, "as in the log table"] = ""


class Watermark(NamedTuple):
    """A replica's high watermark or last stable offset moved."""

    key: Annotated[Text, "topic-partition"] = ""
    node: Annotated[Text, "the replica"] = ""
    leads: Annotated[Flag, "whether the controller's leader is this node"] = False
    leader_epoch: Annotated[Int, "leader epoch of the time"] = -1
    high_watermark: Annotated[Long, "all below is replicated"] = -1
    last_stable_offset: Annotated[Long, "all below is decided and replicated"] = -1
    step: Annotated[Long, "step of the event"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1


class Leader(NamedTuple):
    """The controller made a node the leader of a key, or found none."""

    key: Annotated[Text, "topic-partition"] = ""
    leader: Annotated[Text, "node; empty where nobody leads"] = ""
    leader_epoch: Annotated[Int, "rises with every election"] = -1
    step: Annotated[Long, "step of the decision"] = -1
    at_ms: Annotated[Long, "virtual time in milliseconds"] = -1


TOO_FEW_IN_SYNC = "too few in sync"
"""The name of a label whose value is a key that has fewer replicas in sync than min.insync.replicas at the end of the
run: its leader refuses markers, and the coordinator's entries."""


class Label(NamedTuple):
    """Something that is true of the whole history: title, profile, seed, a rule that is off, a fault."""

    name: Annotated[Text, "what kind"] = ""
    value: Annotated[Text, "the value"] = ""


HistoryRow = Operation | LogRecord | Read | Poll | FrameRow | TxnEntry | Watermark | Leader | Label
ROWS: dict[str, type[HistoryRow]] = {
    "operations": Operation,
    "log": LogRecord,
    "reads": Read,
    "polls": Poll,
    "frames": FrameRow,
    "transactions": TxnEntry,
    "watermarks": Watermark,
    "leaders": Leader,
    "labels": Label,
}
"""The tables by name."""


@cache
def columns_of(table: str) -> tuple[Column, ...]:
    """Return the table's columns in order. KeyError for an unknown table."""
    return columns_in(ROWS[table])


def columns_in(row_class: type) -> tuple[Column, ...]:
    """Return the columns of a class whose fields are annotated as those of this module."""
    hints = get_type_hints(row_class, include_extras=True)
    return tuple(
        Column(name, hint.__metadata__[0], NoneType in get_args(hint.__origin__), hint.__metadata__[1])
        for name, hint in hints.items()
    )
