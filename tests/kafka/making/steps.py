"""Steps of scripts, one short call each. `who` is a transactional id; its InitProducerId is kept under that name."""

from __future__ import annotations

from typing import Any

Step = dict[str, Any]
Script = dict[str, Any]
V1, V2 = 1, 2
"""The ways of clients with transactions: adding partitions itself, or having the broker add them (KIP-890)."""
READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


def script(name: str, *steps: Step | list[Step], **more: Any) -> Script:
    """Return a script with topic t, of two partitions if both are used; lists of steps are put in their place."""
    flat = [s for step in steps for s in (step if isinstance(step, list) else [step])]
    return {"name": name, "topics": {"t": 1 + ("t-1" in str(flat))}, **more, "steps": flat}


def ask(api: str, to: str, version: int, given: Step, **more: Any) -> Step:
    """Return a request of any API."""
    return {"ask": api, "to": to, "with": given, "version": version, **more}


def leader(partition: str) -> str:
    """Return the node to ask about a partition, which may be that of a group."""
    if partition.startswith("nope"):
        return "b1"
    kind = "group coordinator" if partition.startswith("offsets of ") else "leader of"
    return f"{kind} {partition.removeprefix('offsets ')}"


def me(who: str, epoch: str = "", producer_id: Any = None) -> Step:
    """Return the three fields that name a producer; `epoch` is "" or an offset such as "+1"."""
    return {
        "transactional_id": who,
        "producer_id": f"${who}.producer_id" if producer_id is None else producer_id,
        "producer_epoch": f"${who}.producer_epoch{epoch}",
    }


def init(who: str, timeout_ms: int = 60_000, version: int = 5, **more: Any) -> Step:
    """InitProducerId, asked until it succeeds."""
    given = {"transactional_id": who, "transaction_timeout_ms": timeout_ms}
    return ask("InitProducerId", f"coordinator of {who}", version, given, **{"as": who, "until": "NONE", **more})


def expect(who: str, epoch: str = "", version: int = 5, **more: Any) -> Step:
    """InitProducerId of a producer that believes to hold an id and an epoch (KIP-360)."""
    given = {**me(who, epoch), "transaction_timeout_ms": 60_000}
    return ask("InitProducerId", f"coordinator of {who}", version, given, **more)


def idempotent(name: str = "p") -> Step:
    """InitProducerId without a transactional id."""
    return ask("InitProducerId", "b1", 5, {"transactional_id": None}, **{"as": name, "until": "NONE"})


def add(who: str, *partitions: str, epoch: str = "", version: int = 3, **fields: Any) -> Step:
    """AddPartitionsToTxn."""
    given = {**me(who, epoch), "partitions": list(partitions), **fields}
    return ask("AddPartitionsToTxn", f"coordinator of {who}", version, given)


def add_offsets(who: str, group: str, epoch: str = "", version: int = 3) -> Step:
    """AddOffsetsToTxn."""
    return ask("AddOffsetsToTxn", f"coordinator of {who}", version, {**me(who, epoch), "group_id": group})


def batch(who: str, sequence: int, values: str, epoch: str = "", **fields: Any) -> Step:
    """Return a batch of a producer; each letter of `values` is a record."""
    return {
        "values": list(values),
        "timestamp_ms": 0,
        "producer_id": f"${who}.producer_id",
        "producer_epoch": f"${who}.producer_epoch{epoch}",
        "base_sequence": sequence,
        "transactional": True,
        **fields,
    }


def produce(tid: str | None, batches: Step, version: int, acks: int = -1, **more: Any) -> Step:
    """Return a Produce request of these batches, to the leader of the first."""
    given = {"transactional_id": tid, "acks": acks, "timeout_ms": 10_000, "batches": batches}
    return ask("Produce", leader(next(iter(batches))), version, given, **more)


def write(
    who: str, partition: str, sequence: int, values: str, epoch: str = "", protocol: int = V1, **fields: Any
) -> Step:
    """Produce one transactional batch."""
    return produce(who, {partition: batch(who, sequence, values, epoch, **fields)}, 11 if protocol == V1 else 12)


def write_plain(name: str, partition: str, sequence: int, values: str, epoch: str = "", **fields: Any) -> Step:
    """Produce one batch of an idempotent producer, outside any transaction."""
    return produce(None, {partition: batch(name, sequence, values, epoch, **{"transactional": False, **fields})}, 9)


def append(partition: str, values: str, timestamp_ms: int = 0) -> Step:
    """Produce one batch without a producer id."""
    return produce(None, {partition: {"values": list(values), "timestamp_ms": timestamp_ms}}, 9)


def end(who: str, commit: bool, protocol: int = V1, epoch: str = "", **more: Any) -> Step:
    """EndTxn; under V2 the answer, kept under `who`, has the next epoch."""
    version = 4 if protocol == V1 else 5
    kept = {"as": who} if protocol == V2 and not epoch and "as" not in more and not more.get("once") else {}
    more.pop("once", None)
    return ask("EndTxn", f"coordinator of {who}", version, {**me(who, epoch), "committed": commit}, **kept, **more)


def commit_offsets(who: str, group: str, offsets: Step, epoch: str = "", version: int = 3, **fields: Any) -> Step:
    """TxnOffsetCommit; from version 5 on it adds the group's partition itself."""
    given = {**me(who, epoch), "group_id": group, "offsets": offsets, **fields}
    return ask("TxnOffsetCommit", f"group coordinator of {group}", version, given)


def commit_plain(group: str, offsets: Step, version: int = 8, **fields: Any) -> Step:
    """OffsetCommit."""
    given = {"group_id": group, "offsets": offsets, **fields}
    return ask("OffsetCommit", f"group coordinator of {group}", version, given)


def offsets(group: str, partitions: list[str] | None, stable: bool = False, version: int = 7) -> Step:
    """OffsetFetch."""
    given = {"group_id": group, "partitions": partitions, "require_stable": stable}
    return ask("OffsetFetch", f"group coordinator of {group}", version, given)


def fetch(partition: str = "t-0", at: int = 0, isolation: str = READ_COMMITTED, version: int = 12) -> Step:
    """Fetch from one partition."""
    given = {"isolation_level": isolation, "positions": {partition: at}, "max_wait_ms": 50}
    return ask("Fetch", f"leader of {partition}", version, given)


def list_offsets(timestamp: int, isolation: str = READ_UNCOMMITTED, partition: str = "t-0", version: int = 7) -> Step:
    """ListOffsets of one partition."""
    given = {"partitions": [partition], "timestamp": timestamp, "isolation_level": isolation}
    return ask("ListOffsets", f"leader of {partition}", version, given)


def knowing(epoch: int, step: Step, partition: str = "t-0") -> Step:
    """Say in a Fetch or ListOffsets which leader epoch the sender knows."""
    return {**step, "with": {**step["with"], "current_leader_epochs": {partition: epoch}}}


def describe(*who: str) -> Step:
    """DescribeTransactions."""
    return ask("DescribeTransactions", f"coordinator of {who[0]}", 0, {"transactional_ids": list(who)})


def producers(*partitions: str) -> Step:
    """DescribeProducers, of t-0 if no partition is named."""
    named = list(partitions or ("t-0",))
    return ask("DescribeProducers", leader(named[0]), 0, {"partitions": named})


def mark(
    pid: Any,
    epoch: Any,
    partitions: list[str],
    commit: bool = True,
    coordinator: int = 0,
    tv: int = 0,
    version: int = 2,
) -> Step:
    """WriteTxnMarkers, as a coordinator sends it."""
    row = {
        "producer_id": pid,
        "producer_epoch": epoch,
        "coordinator_epoch": coordinator,
        "committed": commit,
        "partitions": partitions,
        "transaction_version": tv,
    }
    return ask("WriteTxnMarkers", leader(partitions[0]), version, {"markers": [row]})


def sleep(delay_ms: int) -> Step:
    """Wait."""
    return {"sleep": delay_ms}


def settle() -> Step:
    """Wait until no transaction of the script is prepared, so that what follows does not depend on speed."""
    return {"settle": True}


def once(step: Step) -> Step:
    """Ask once, whatever the answer is, and keep none."""
    return {k: v for k, v in step.items() if k not in ("as", "until")}


def hold(topic: str = "t", count: int = 2) -> Step:
    """From now on no marker can be written to the topic, unless `count` replicas are in sync."""
    return {"min_isr": {topic: count}}


def let_go(topic: str = "t") -> list[Step]:
    """Markers can be written again; wait until they are."""
    return [{"min_isr": {topic: 1}}, settle()]
