"""Messages of kafkalab's with any values, as far as a version of an API carries them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.api import NEWEST
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import as_read
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.messages.leave_group import LeaveGroup
from kafkalab.protocol.messages.list_offsets import ListOffsets
from kafkalab.protocol.messages.metadata import MetadataResponse
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire import special
from kafkalab.wire.batches import read_batch
from kafkalab.wire.names import Names

ADDRESSES = {"b1": ("127.0.0.1", 9092), "b2": ("127.0.0.1", 9093), "b3": ("127.0.0.1", 9094)}
NAMES = Names(ADDRESSES, kafka=NEWEST)
OFFERED = special.OFFERED[NAMES.kafka]
"""Every version: the newest release offers all of them."""
PARTITIONS = st.sampled_from(("t-0", "t-1", "other-12", "a.b_c-d-7"))
SHORT, INT, LONG = (st.integers(-(2**n), 2**n - 1) for n in (15, 31, 63))
SOME_PARTITIONS = st.lists(PARTITIONS, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))
TEXT = st.text(max_size=5)
NODES = st.sampled_from(("b1", "b2", "b3"))
NOT_SENT = {
    "FindCoordinatorResponse": ("partition",),
    "AbortedTxn": ("last_offset", "last_stable_offset"),
    "MemberEntry": ("session_timeout_ms", "rebalance_timeout_ms"),
}
"""Fields of ours that no version of Kafka's message has: they are read as nothing."""

BY_NAME_OF_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "isolation_level": st.sampled_from((READ_COMMITTED, READ_UNCOMMITTED)),
    "node_id": NODES | st.just(""),
    "producer_id": LONG, "timestamp": LONG, "duration_filter_ms": LONG, "last_timestamp_ms": LONG,
    "base_offset": LONG, "log_append_time_ms": st.integers(-1, 2**40), "start_ms": st.integers(0, 2**40),
    "retention_time_ms": st.integers(-1, 2**40), "transaction_version": st.integers(0, 2),
    "cluster_id": st.just("kafkalab"), "controller": st.just("controller"), "replica": st.just(""),
    "producer_epoch": SHORT, "acks": SHORT, "replication_factor": SHORT, "key_type": st.integers(-128, 127),
    **dict.fromkeys(("resource_type", "config_source", "source", "config_type"), st.integers(-128, 127)),
    **dict.fromkeys(("replica_nodes", "isr_nodes", "offline_replicas"), st.just(("b3", "b1"))),
    "leader_id": NODES | st.just(""),
    "brokers": st.just(("b1", "b3")), "assignment": SOME_PARTITIONS, "partitions": SOME_PARTITIONS,
    **dict.fromkeys(("topic_partitions", "target_assignment"), SOME_PARTITIONS), "member_type": st.integers(-128, 127),
}  # fmt: skip


def batches() -> st.SearchStrategy[Batch]:
    """Return batches as a client sends them."""
    records = st.lists(st.builds(Record, key=st.none() | TEXT, value=st.none() | TEXT), min_size=1, max_size=3)
    batch = st.builds(
        Batch, records=records.map(tuple), base_offset=st.just(0), timestamp_ms=st.integers(0, 2**40),
        producer_id=LONG, producer_epoch=SHORT, base_sequence=INT, transactional=st.booleans(),
    )  # fmt: skip
    return batch.map(batch_bytes.encode).map(read_batch)


def images() -> st.SearchStrategy[ClusterMetadata]:
    """Return images in which every partition has a leader that lives."""
    def image(partitions: list[int]) -> ClusterMetadata:
        info = PartitionInfo(leader="b2", leader_epoch=0, replicas=("b2", "b3"), isr=("b2",))
        topics = {f"t{n}-{i}": info for n, count in enumerate(partitions) for i in range(count)}
        return ClusterMetadata(0, ("b1", "b2"), topics)

    return st.lists(st.integers(1, 3), max_size=3).map(image)


def value(kind: Any, name: str, keys: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Return values for a field of this type and name; `keys` are the partitions, or other keys, of the message."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is ClusterMetadata:
        return images()
    if kind is Batch:
        return batches()
    if name == "diverging":
        return st.none() | st.tuples(st.integers(0, 2**31 - 1), LONG)
    holds_messages = bool(args) and is_dataclass(args[0])
    if name in BY_NAME_OF_FIELD and origin is not dict and type(None) not in args and not holds_messages:
        return BY_NAME_OF_FIELD[name]
    if isinstance(kind, type) and is_dataclass(kind):
        return message(kind, keys)
    if origin is dict:
        return dictionary(args, name, keys)
    if origin is tuple:
        return st.lists(value(args[0], "", keys), max_size=3).map(tuple)
    if type(None) in args:
        return st.none() | value(args[0], name, keys)
    plain = {int: st.integers(-(2**31), 2**31 - 1), str: TEXT, bool: st.booleans(), Error: st.sampled_from(Error)}
    return st.integers(0, 2**31 - 1) if kind is int and name.endswith("_ms") else plain[kind]


def dictionary(args: Any, name: str, keys: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Return dicts that have all keys, or some of them where Kafka has a value for "nothing"."""
    if args[0] is int:
        return st.dictionaries(LONG, value(args[1], "", keys), max_size=2)
    if name == "metadata":
        return st.dictionaries(st.sampled_from(keys), st.text(min_size=1, max_size=4)) if keys else st.just({})
    if name in ("leader_epochs", "current_leader_epochs", "last_fetched_epochs", "partition_max_bytes"):
        return st.dictionaries(st.sampled_from(keys), st.integers(0, 2**31 - 1)) if keys else st.just({})
    inner = LONG if args[1] is int else value(args[1], "assignment" if name == "assignments" else "", keys)
    return st.fixed_dictionaries(dict.fromkeys(keys, inner))


@st.composite
def message(draw: st.DrawFn, kind: type, keys: tuple[str, ...] | None = None) -> Any:
    """Return a message of this type."""
    if keys is None:
        keys = tuple(sorted(draw(st.lists(PARTITIONS, unique=True, max_size=3))))
    hints, values = get_type_hints(kind), {}
    for one in fields(kind):
        if one.name not in NOT_SENT.get(kind.__name__, ()):
            values[one.name] = draw(value(hints[one.name], one.name, keys))
        elif one.default is MISSING:
            values[one.name] = -1
    return kind(**values)


def carry(api: str, version: int, made: Any) -> Any:
    """Return what this version carries of a request or a response; None where it cannot carry such a message."""
    found = as_read(made, version)
    if api == "Metadata" and version < 13 and isinstance(made, MetadataResponse):
        return replace(found, error=Error.NONE)
    if isinstance(found, LeaveGroup) and version < 3 and len(found.members) != 1:
        return None
    if isinstance(found, OffsetFetch) and version < 2 and found.partitions is None:
        return None
    if isinstance(found, OffsetFetch) and found.member_epoch is not None and found.member_epoch < 0:
        return None
    if isinstance(found, ListOffsets):
        epochs = {p: epoch for p, epoch in found.current_leader_epochs.items() if p in found.partitions}
        return replace(found, current_leader_epochs=epochs) if found.partitions else None
    return found
