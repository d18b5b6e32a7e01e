"""The rows of a history: each class is one table's schema, written once (name, type, nullable, what it says).

A `History` (kafkalab/history/history.py) holds tuples of these rows. pandas, pyarrow and Spark schemas are derived from
`columns_of`, by the parts that use them. Steps are those of the trace; -1 means that something never happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

TYPES = ("int64", "int32", "string", "bool", "list<string>")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type is one of TYPES."""

    name: str
    type: str
    nullable: bool
    doc: str


def _column(type: str, doc: str, default: Any = "", nullable: bool = False) -> Any:
    return field(default=default, metadata={"type": type, "doc": doc, "nullable": nullable})


def _text(doc: str) -> Any:
    return _column("string", doc)


def _text_or_null(doc: str) -> Any:
    return _column("string", doc, None, nullable=True)


def _long(doc: str) -> Any:
    return _column("int64", doc, -1)


def _int(doc: str) -> Any:
    return _column("int32", doc, -1)


def _flag(doc: str) -> Any:
    return _column("bool", doc, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a client set out to do ("invoke"), and how it ended: "ok", "fail", or "info" (nobody can tell)."""

    index: int = _long("position in the history, from 0")
    process: str = _text("the client node")
    client: str = _text("the producer or consumer of that node")
    type: str = _text("invoke, ok, fail or info")
    function: str = _text("init, begin, send, offsets, commit, abort, poll, assign or seek")
    invocation: int = _long("index of the invoke that this row ends; -1 for an invoke")
    transactional_id: str | None = _text_or_null("null outside transactions")
    producer_id: int = _long("-1 where there is none")
    producer_epoch: int = _int("-1 where there is none")
    transaction: int = _long("the client's own count of its transactions, from 1; -1 outside one")
    key: str = _text("topic-partition; empty for an operation on none")
    sequence: int = _int("the record's sequence number; -1 where there is none")
    offset: int = _long("where the record lies, or where reading goes on; -1 if not known")
    value: str | None = _text_or_null("the record's value")
    error: str = _text("Kafka's name of the error; empty or NONE without one")
    step: int = _long("step of the event")
    at_ms: int = _long("virtual time in milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """A record or marker as a partition's leader appended it, by key and order of appending."""

    key: str = _text("topic-partition")
    offset: int = _long("the record's offset")
    record_key: str | None = _text_or_null("the record's own key; of a committed offset group/topic-partition")
    value: str | None = _text_or_null("the record's value; of a committed offset that offset; null for a marker")
    producer_id: int = _long("-1 without idempotence")
    producer_epoch: int = _int("-1 without idempotence")
    sequence: int = _int("this record's own sequence number; -1 without idempotence")
    transactional: bool = _flag("whether the record belongs to a transaction")
    control: str = _text("COMMIT or ABORT for a marker, else empty")
    coordinator_epoch: int = _int("of a marker, else -1")
    leader_epoch: int = _int("epoch of the leader that appended it")
    node: str = _text("the leader that appended it")
    frame: str = _text("id of the frame that led to the append; empty if none did directly")
    step: int = _long("step of the append")
    at_ms: int = _long("virtual time in milliseconds")
    removed: str = _text("empty if it is still there; truncated, compacted or deleted")
    removed_step: int = _long("when it was removed, if known")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A record that a poll returned to the application."""

    consumer: str = _text("the consumer")
    process: str = _text("its node")
    isolation_level: str = _text("read_committed or read_uncommitted")
    poll: int = _long("number of the poll among those of this consumer, from 1")
    index: int = _long("position in the poll, from 0")
    key: str = _text("topic-partition")
    offset: int = _long("the record's offset")
    value: str | None = _text_or_null("the record's value")
    step: int = _long("step at which the poll returned")
    at_ms: int = _long("virtual time in milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """What one poll went over on one key, records or none: from one position to the next."""

    consumer: str = _text("the consumer")
    process: str = _text("its node")
    group: str | None = _text_or_null("its group; null outside groups")
    isolation_level: str = _text("read_committed or read_uncommitted")
    poll: int = _long("number of the poll among those of this consumer, from 1")
    key: str = _text("topic-partition")
    start: int = _long("position before; -1 if not known")
    end: int = _long("position after; -1 if not known")
    moved: str = _text("why the position before is no continuation: assign, seek or rebalance; else empty")
    step: int = _long("step at which the poll returned")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRow:
    """A request or response on the wire."""

    id: str = _text("name and number, such as EndTxn#1")
    name: str = _text("the API's name, with Response for an answer")
    kind: str = _text("request or response")
    sender: str = _text("node")
    receiver: str = _text("node")
    version: int = _int("the API's version")
    error: str = _text("first error of a response, NONE without one; empty for a request")
    of: str = _text("the request that a response answers")
    copy_of: str = _text("the frame that this is a second delivery of")
    attempt: int = _int("1, or more for a retry")
    fate: str = _text("delivered, dropped, lost or in flight")
    sent_step: int = _long("step of sending")
    sent_ms: int = _long("virtual time of sending")
    received_step: int = _long("step of arrival")
    received_ms: int = _long("virtual time of arrival")


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnEntry:
    """An entry of the transaction log, in order of appending."""

    key: str = _text("partition of __transaction_state")
    offset: int = _long("its offset there")
    transactional_id: str = _text("whose entry")
    state: str = _text("Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort; Dead: a tombstone")
    producer_id: int = _long("of the entry")
    producer_epoch: int = _int("of the entry")
    partitions: tuple[str, ...] = _column("list<string>", "the transaction's partitions", ())
    timeout_ms: int = _int("transaction.timeout.ms")
    start_ms: int = _long("when the transaction began; -1 outside one")
    coordinator_epoch: int = _int("leader epoch of the partition, which is the coordinator's epoch")
    node: str = _text("the coordinator")
    step: int = _long("step of the append")
    at_ms: int = _long("virtual time in milliseconds")
    removed: str = _text("as in the log table")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """A replica's high watermark or last stable offset moved."""

    key: str = _text("topic-partition")
    node: str = _text("the replica")
    leads: bool = _flag("whether the controller's leader is this node")
    leader_epoch: int = _int("leader epoch of the time")
    high_watermark: int = _long("all below is replicated")
    last_stable_offset: int = _long("all below is decided and replicated")
    step: int = _long("step of the event")
    at_ms: int = _long("virtual time in milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The controller made a node the leader of a key, or found none."""

    key: str = _text("topic-partition")
    leader: str = _text("node; empty where nobody leads")
    leader_epoch: int = _int("rises with every election")
    step: int = _long("step of the decision")
    at_ms: int = _long("virtual time in milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Something that is true of the whole history: title, profile, seed, a rule that is off, a fault."""

    name: str = _text("what kind")
    value: str = _text("the value")


Row = Operation | LogRecord | Read | Poll | FrameRow | TxnEntry | Watermark | Leader | Label
ROWS: dict[str, type[Row]] = {
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
    """The table's columns in order. KeyError for an unknown table."""
    return tuple(
        Column(f.name, f.metadata["type"], f.metadata["nullable"], f.metadata["doc"]) for f in fields(ROWS[table])
    )
