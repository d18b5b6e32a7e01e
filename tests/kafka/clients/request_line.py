"""A request in one line: its API, and what its client has decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST
from kafkalab.protocol.messages.registry import BY_REQUEST

NAMES = {EARLIEST: "earliest", LATEST: "latest"}


def _producer(body: Any) -> str:
    return f"{body.transactional_id} {body.producer_id}/{body.producer_epoch}"


def _batch(partition: str, batch: Any) -> str:
    who = f"{batch.producer_id}/{batch.producer_epoch} sequence {batch.base_sequence}"
    transactional = "" if batch.transactional else " not transactional"
    return f"{partition} {who} {[r.value for r in batch.records]}{transactional}"


def _member(body: Any) -> str:
    static = f" instance {body.group_instance_id}" if body.group_instance_id else ""
    return f"{body.group_id} generation {body.generation_id} member '{body.member_id}'{static}"


def _offsets(offsets: dict[str, int]) -> str:
    return ", ".join(f"{p}={o}" for p, o in sorted(offsets.items()))


LINES: dict[str, Callable[[Any], str]] = {
    "ApiVersions": lambda b: "",
    "Metadata": lambda b: "",
    "FindCoordinator": lambda b: f"{'transaction' if b.key_type else 'group'} {b.key}",
    "InitProducerId": lambda b: f"{_producer(b)} timeout {b.transaction_timeout_ms}",
    "AddPartitionsToTxn": lambda b: f"{_producer(b)} {', '.join(sorted(b.partitions))}",
    "AddOffsetsToTxn": lambda b: f"{_producer(b)} group {b.group_id}",
    "TxnOffsetCommit": lambda b: f"{_producer(b)} {_offsets(b.offsets)} as {_member(b)}",
    "EndTxn": lambda b: f"{_producer(b)} {'commit' if b.committed else 'abort'}",
    "Produce": lambda b: f"{b.transactional_id} acks {b.acks}: "
    + "; ".join(_batch(p, x) for p, x in sorted(b.batches.items())),
    "Fetch": lambda b: f"{b.isolation_level} {_offsets(b.positions)}",
    "ListOffsets": lambda b: f"{b.isolation_level} {NAMES.get(b.timestamp, b.timestamp)} "
    + ", ".join(sorted(b.partitions)),
    "OffsetFetch": lambda b: f"{b.group_id} {', '.join(sorted(b.partitions or ()))}"
    + (" stable" if b.require_stable else ""),
    "OffsetCommit": lambda b: f"{_offsets(b.offsets)} as {_member(b)}",
    "JoinGroup": lambda b: f"{b.group_id} member '{b.member_id}' "
    + f"{' '.join(f'{name} {list(topics)}' for name, topics in b.protocols.items())}",
    "SyncGroup": lambda b: f"{_member(b)} "
    + "; ".join(f"{m}: {', '.join(sorted(ps))}" for m, ps in sorted(b.assignments.items())),
    "Heartbeat": _member,
    "LeaveGroup": lambda b: f"{b.group_id} {', '.join(m.member_id for m in b.members)}",
}


def request_line(body: Any) -> str:
    """`request_line(EndTxn(...)) == "EndTxn t 1000/0 commit"`."""
    name = BY_REQUEST[type(body)].name
    return f"{name} {LINES[name](body)}".strip()
