"""Logs for the exercises of lab 5: records of open, committed and aborted transactions of three producers."""

from __future__ import annotations

from random import Random
from typing import Any

from kafkalab.log.aborted_filter import deliver
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.records import Batch, ControlType, Record

Row = dict[str, Any]
Aborted = tuple[int, int]
RECORD, COMMIT, ABORT = "record", "COMMIT", "ABORT"
PRODUCERS = (7, 8, 9)
PARTITION = "ledger-0"


def rows(random: Random, length: int, all_end: bool = False) -> list[Row]:
    """One row an offset: {"offset", "producer" (None outside of transactions), "kind", "value" ("" for a marker)}.

    With `all_end` every transaction has its marker in the end.
    """
    found: list[Row] = []
    open_ones: dict[int, int] = {}

    def add(producer: int | None, kind: str) -> None:
        offset = len(found)
        found.append(
            {"offset": offset, "producer": producer, "kind": kind, "value": f"v{offset}" if kind == RECORD else ""}
        )

    while len(found) < length:
        producer = random.choice(PRODUCERS)
        kind = random.choice((RECORD, RECORD, RECORD, COMMIT, ABORT, ABORT, "plain"))
        if kind == "plain":
            add(None, RECORD)
        elif kind == RECORD:
            open_ones.setdefault(producer, len(found))
            add(producer, RECORD)
        elif producer in open_ones or (kind == ABORT and random.random() < 0.3):  # else: a marker of an empty one
            open_ones.pop(producer, None)
            add(producer, kind)
    for producer in list(open_ones) if all_end else []:
        add(producer, random.choice((COMMIT, ABORT)))
    return found


def batch_of(row: Row) -> Batch:
    """The row as a batch of one record, or as a marker."""
    control = None if row["kind"] == RECORD else ControlType[row["kind"]]
    producer = row["producer"]
    return Batch(
        records=(Record(None, row["value"]),),
        base_offset=row["offset"],
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1 if producer is None else 0,
        base_sequence=-1 if producer is None or control else row["offset"],
        transactional=producer is not None,
        control=control,
        coordinator_epoch=0 if control else -1,
    )


def stable_offset(log: list[Row], high_watermark: int) -> int:
    """The last stable offset, as the brokers of this package keep it (docs/protocol.md#last-stable-offset)."""
    states = ProducerStates()
    for row in log:
        states.apply(batch_of(row))
    states.high_watermark_moved(high_watermark)
    unstable = states.first_unstable_offset
    return high_watermark if unstable is None or unstable > high_watermark else unstable


def aborted_of(log: list[Row], start: int, upper: int) -> list[Aborted]:
    """(producer, first offset) of each aborted transaction that overlaps [start, upper), by its first offset."""
    states, found = ProducerStates(), []
    for row in log:
        done = states.apply(batch_of(row))
        if done is not None and done.aborted and done.last_offset >= start and done.first_offset < upper:
            found.append((done.producer_id, done.first_offset))
    return sorted(found, key=lambda a: a[1])


def deliver_values(fetched: list[Row], aborted: list[Aborted]) -> list[str]:
    """The values that a read_committed consumer of this package hands on of what it fetched
    (docs/protocol.md#aborted-filter)."""
    known = [AbortedTxn(producer, first, first, first) for producer, first in aborted]
    records, _ = deliver(PARTITION, 0, [batch_of(row) for row in fetched], known)
    return [record.value for record in records]
