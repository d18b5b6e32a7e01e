"""Frames and log entries in words: every field decoded, and what a frame is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.consumer_group_records import GroupRecord, describe_record
from kafkalab.protocol.field_versions import VERSIONS
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.source_header import header_texts
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.trace import Frame, plain

OF_GROUP = "group "
"""The beginning of a group's decoded entry of `__consumer_offsets`."""
ERRORS = {
    "CONCURRENT_TRANSACTIONS": "Not yet: the previous step of this transactional id is still being completed. "
    "The asker comes back.",
    "COORDINATOR_NOT_AVAILABLE": "There is no live coordinator at the moment. The asker comes back.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The new coordinator is still reading its log. The asker comes back.",
    "NOT_COORDINATOR": "This broker does not coordinate the id (any more). The asker looks the coordinator up.",
    "NOT_LEADER_OR_FOLLOWER": "This broker does not lead the partition (any more). The asker asks who does.",
    "PRODUCER_FENCED": "Another instance with this transactional id has a higher epoch. The asker must stop.",
    "INVALID_PRODUCER_EPOCH": "The epoch is older than the newest one that this partition has seen.",
    "INVALID_TXN_STATE": "The question does not fit the state of the transaction.",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "There is a gap between this batch and the last one of the producer.",
    "UNKNOWN_MEMBER_ID": "The group has no such member any more: its partitions are another's. The asker joins again.",
    "ILLEGAL_GENERATION": "The group has handed out its partitions anew since. The asker joins again.",
    "REBALANCE_IN_PROGRESS": "The group hands out its partitions anew. The asker joins again.",
    "UNSTABLE_OFFSET_COMMIT": "An undecided transaction may still change this offset. The asker comes back.",
    "NOT_ENOUGH_REPLICAS": "Too few replicas are in sync, or the coordinator cannot be asked. The asker comes back.",
}


def about_frame(frame: Frame) -> str:
    """One sentence on what the frame is for."""
    if frame.kind == "request":
        if frame.category == "verification":
            asks = "adds it to" if not frame.body.verify_only else "verifies that it is in"
            return f"Before the first transactional append a leader asks the coordinator, which {asks} the transaction."
        known = BY_NAME.get(frame.name)
        return known.about if known else "The lab has no message for this API: it was passed on as it is."
    name = frame.name.removesuffix("Response")
    if frame.error in ("", "NONE"):
        return f"The answer to {frame.of}: done." if name != "Fetch" else f"The answer to {frame.of}: what there is."
    return f"The answer to {frame.of}: {frame.error}. {ERRORS.get(frame.error, '')}".strip()


def fields_of(frame: Frame) -> list[list[str]]:
    """Every field of the frame, in the order of its schema, as text; of parts too: "batches[out-0].base_sequence".

    A field that this version does not carry is left out where a trace leaves it out, too.
    """
    rows = [["version", str(frame.version)], ["correlation_id", str(frame.correlation_id)]]
    return rows + list(_rows(frame.body, "", frame.version))


def path_of(name: str) -> str:
    """The name of a field without keys and numbers: "batches.base_sequence"."""
    return re.sub(r"\[[^]]*]", "", name) if "[" in name else name


def _rows(part: Any, prefix: str, version: int) -> Iterator[list[str]]:
    for name, field in part.__dataclass_fields__.items():
        if "encoded" in field.metadata:
            continue
        value = getattr(part, name)
        if not value and "unless_empty" in field.metadata and version not in field.metadata.get(VERSIONS, (version,)):
            continue
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | list):
            value = tuple(value)  # also records that are decoded only now
        inner: Any = ()
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, tuple):
            inner = enumerate(value)
        parts = [(key, one) for key, one in inner if hasattr(one, "__dataclass_fields__")]
        if parts and len(parts) == len(value) and not isinstance(parts[0][1], Record | Txn):
            for key, one in parts:
                yield from _rows(one, f"{prefix}{name}[{key}].", version)
        else:
            yield [prefix + name, text_of(value)]


@singledispatch
def text_of(value: Any) -> str:
    """A field's value in a few words."""
    if hasattr(value, "__dataclass_fields__"):
        shown = {n: getattr(value, n) for n in value.__dataclass_fields__}
        return ", ".join(f"{n} {text_of(v)}" for n, v in shown.items() if v not in (-1, None, ()))
    return str(value) if type(value) is int else str(plain(value))


text_of.register(str, repr)


@text_of.register
def _metadata_text(value: ClusterMetadata) -> str:
    return f"version {value.version}, alive: {', '.join(value.alive)}, {len(value.partitions)} partitions"


@text_of.register
def _aborted_text(value: AbortedTxn) -> str:
    return f"producer {value.producer_id} from offset {value.first_offset}"


@text_of.register
def _record_text(record: Record) -> str:
    text = _value(record.value) if record.key is None else f"{record.key}={_value(record.value)}"
    return f"{text} {{{', '.join(header_texts(record.headers))}}}" if record.headers else text


@text_of.register
def _dict_text(value: dict) -> str:  # type: ignore[type-arg]
    return "; ".join(f"{k}: {text_of(v)}" for k, v in value.items()) or "{}"


@text_of.register
def _tuple_text(value: tuple) -> str:  # type: ignore[type-arg]
    return ", ".join(text_of(v) for v in value) or "()"


@text_of.register
def batch_text(batch: Batch) -> str:
    """A batch in a line: who wrote it, its sequences, its values."""
    if batch.control is not None:
        return f"{batch.control.name} marker, producer {batch.producer_id} epoch {batch.producer_epoch}"
    values = ", ".join(_value(r.value) for r in batch.records)
    if batch.producer_id < 0:
        return f"[{values}]"
    kind = "transactional, " if batch.transactional else ""
    who = f"producer {batch.producer_id} epoch {batch.producer_epoch} sequence {batch.base_sequence}"
    return f"[{values}] ({kind}{who})"


def _value(value: Any) -> str:
    if isinstance(value, Txn):
        return txn_text(value)
    if isinstance(value, OffsetCommit):
        return f"offset {value.offset} of {value.partition} for {value.group}"
    if isinstance(value, GroupEntry):
        return group_text(value)
    return describe_record(value) if isinstance(value, GroupRecord) else str(value)


@text_of.register
def group_text(entry: GroupEntry) -> str:
    """A group's entry of `__consumer_offsets` in a line: its generation and its members."""
    who = ", ".join(member.member_id for member in entry.members) or "nobody"
    return f"{OF_GROUP}{entry.group}, generation {entry.generation}: {who}"


@text_of.register
def txn_text(txn: Txn) -> str:
    """An entry of `__transaction_state` in a line."""
    where = f" {{{', '.join(txn.partitions)}}}" if txn.partitions else ""
    return f"{txn.transactional_id}: {txn.state.label}, producer {txn.producer_id} epoch {txn.producer_epoch}{where}"


def format_contents(partition: str, batch: Batch) -> str:
    """Return the contents of a batch: the decoded entries of an internal topic, or the values."""
    if partition.startswith("__"):
        return "; ".join(f"{r.key}: removed" if r.value is None else _value(r.value) for r in batch.records)
    return ", ".join(str(r.value) for r in batch.records)
