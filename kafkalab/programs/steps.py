"""Steps for raw requests (kafkalab/programs/raw_requests.py): the requests of a transaction, one short call each.

`who` is a transactional id; the answer of its InitProducerId is kept under that name, and later steps take producer id
and epoch from there, so `epoch="+1"` is one above what it was given.
"""

from __future__ import annotations

from typing import Any

Step = dict[str, Any]
TIMEOUT_MS = 30_000


def init(who: str, timeout_ms: int = 60_000, **more: Any) -> Step:
    """InitProducerId, asked until it is answered with NONE."""
    given = {"transactional_id": who, "transaction_timeout_ms": timeout_ms}
    return {"ask": "InitProducerId", "to": f"coordinator of {who}", "with": given, "as": who, "until": "NONE", **more}


def idempotent(name: str) -> Step:
    """InitProducerId without a transactional id: producer id and epoch 0, kept under `name`."""
    return {"ask": "InitProducerId", "to": "b1", "with": {"transactional_id": None}, "as": name, "until": "NONE"}


def add(who: str, *partitions: str, epoch: str = "", **more: Any) -> Step:
    """AddPartitionsToTxn as a client of version 1 sends it."""
    given = {**_identity(who, epoch), "partitions": list(partitions)}
    return {"ask": "AddPartitionsToTxn", "to": f"coordinator of {who}", "version": 3, "with": given, **more}


def produce(
    who: str, partition: str, sequence: int, *values: str, epoch: str = "", version: int = 11, **more: Any
) -> Step:
    """One transactional batch; version 12 and later add the partition on the way (TV2)."""
    return _produce(who, who, partition, sequence, values, epoch, version, more)


def produce_idempotent(name: str, partition: str, sequence: int, *values: str, epoch: str = "", **more: Any) -> Step:
    """One batch with producer id and sequence, outside any transaction."""
    return _produce(None, name, partition, sequence, values, epoch, 11, more)


def _produce(
    tid: str | None, name: str, partition: str, sequence: int, values: tuple[str, ...], epoch: str, version: int,
    more: Step,
) -> Step:  # fmt: skip
    batch = {
        "values": list(values),
        "producer_id": f"${name}.producer_id",
        "producer_epoch": f"${name}.producer_epoch{epoch}",
        "base_sequence": sequence,
        "transactional": tid is not None,
    }
    given = {"transactional_id": tid, "acks": -1, "timeout_ms": TIMEOUT_MS, "batches": {partition: batch}}
    return {"ask": "Produce", "to": f"leader of {partition}", "version": version, "with": given, **more}


def add_offsets(who: str, group: str) -> Step:
    """AddOffsetsToTxn, asked until it is answered with NONE."""
    given = {**_identity(who, ""), "group_id": group}
    return {"ask": "AddOffsetsToTxn", "to": f"coordinator of {who}", "with": given, "until": "NONE"}


def offsets(who: str, group: str, partition: str, offset: int, epoch: str = "", **more: Any) -> Step:
    """TxnOffsetCommit of one offset, by a producer that is no member of the group."""
    given = {**_identity(who, epoch), "group_id": group, "offsets": {partition: offset}}
    return {"ask": "TxnOffsetCommit", "to": f"group coordinator of {group}", "with": given, **more}


def commit(who: str, epoch: str = "", version: int = 4, **more: Any) -> Step:
    """EndTxn(COMMIT); version 5 is that of TV2."""
    return _end(who, True, epoch, version, more)


def abort(who: str, epoch: str = "", version: int = 4, **more: Any) -> Step:
    """EndTxn(ABORT); version 5 is that of TV2."""
    return _end(who, False, epoch, version, more)


def _end(who: str, committed: bool, epoch: str, version: int, more: Step) -> Step:
    given = {**_identity(who, epoch), "committed": committed}
    return {"ask": "EndTxn", "to": f"coordinator of {who}", "version": version, "with": given, **more}


def sleep(delay_ms: int) -> Step:
    """Wait so many milliseconds of virtual time."""
    return {"sleep": delay_ms}


def later(step: Step, name: str) -> Step:
    """The step sent without waiting for its answer; `await_answer(name)` waits for it."""
    return {**step, "wait": False, "as": name}


def await_answer(name: str) -> Step:
    """Wait for the answer of a step sent with `later`."""
    return {"await": name}


def _identity(who: str, epoch: str) -> Step:
    return {
        "transactional_id": who,
        "producer_id": f"${who}.producer_id",
        "producer_epoch": f"${who}.producer_epoch{epoch}",
    }
