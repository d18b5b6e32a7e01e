"""Logs for L4.E3: written by hand with keys, compacted or cut at the start, told as kafka-dump-log.sh tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.storage import Compact, DeleteSegment, Roll
from kafkalab.programs.steps import Step, sleep
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

Row = dict[str, Any]
TOPIC, PARTITION = "orders", "orders-0"
PRODUCERS, KEYS = (7, 8, 9), ("tea", "bun", "cake")
STEP_MS = 100


@dataclass(frozen=True, slots=True)
class Story:
    """A log's writes: (producer or None, keys), or (producer, True or False) for a marker; and how it is cleaned."""

    written: tuple[tuple[int | None, Any], ...]
    cleaned: str

    @property
    def open(self) -> tuple[int, ...]:
        """The producers whose last batch has no marker behind it."""
        last: dict[int, bool] = {}
        for producer, what in self.written:
            if producer is not None:
                last[producer] = not isinstance(what, bool)
        return tuple(producer for producer, is_open in last.items() if is_open)


def story(random: Random, cleaned: str) -> Story:
    """Some batches and markers of three producers and of one outside of transactions."""
    written: list[tuple[int | None, Any]] = []
    busy: set[int] = set()
    for _ in range(random.randint(6, 10)):
        producer = random.choice(PRODUCERS)
        kind = random.choice(("batch", "batch", "batch", "plain", True, True, False, False))
        if isinstance(kind, bool):
            if producer in busy:
                written.append((producer, kind))
                busy.discard(producer)
            continue
        keys = tuple(random.choice(KEYS) for _ in range(random.randint(1, 3)))
        written.append((None if kind == "plain" else producer, keys))
        if kind != "plain":
            busy.add(producer)
    return Story(tuple(written), cleaned)


def scenario(told: Story, ends: bool = False) -> Scenario:
    """The story written by hand on Kafka 1.0; `ends` is how what is open in the end is ended after the cleaning."""
    steps = [sleep(STEP_MS)]
    for number, (producer, what) in enumerate(told.written):
        steps += [_step(number, producer, what, told.written), sleep(STEP_MS)]
    clean_ms = 2 * STEP_MS * (len(told.written) + 3)
    steps.append({"at": clean_ms + 5 * STEP_MS})
    steps += [_marker(producer, ends) for producer in told.open]
    read_ms = clean_ms + 5 * STEP_MS * (len(told.open) + 3)
    faults: dict[str, tuple[Fault, ...]] = {
        "": (),
        "compacted": (Compact(PARTITION, at_ms=clean_ms),),
        "deleted": (
            Roll(PARTITION, at_ms=STEP_MS * (len(told.written) // 2) + STEP_MS // 2),
            DeleteSegment(PARTITION, at_ms=clean_ms),
        ),
    }
    readers = tuple(
        Program(level, "looks", {"partitions": [PARTITION], "at_ms": [read_ms], "isolation_level": level})
        for level in ("read_committed", "read_uncommitted")
    )
    by_hand = Program("by hand", "raw_requests", {"steps": steps})
    return Scenario(
        title="The log of the dump",
        profile="1.0",
        topics={TOPIC: 1},
        programs=(by_hand, *readers),
        faults=faults[told.cleaned],
    )


def dump(cluster: Cluster, told: Story) -> list[Row]:
    """The leader's batches, with the names of kafka-dump-log.sh, without the markers that came after the cleaning."""
    batches = cluster.log_of(PARTITION).batches
    before = len(batches) - len(told.open)
    return [
        {
            "baseOffset": b.base_offset,
            "lastOffset": b.last_offset,
            "count": len(b.records),
            "producerId": b.producer_id,
            "isTransactional": b.in_transaction,
            "isControl": b.control is not None,
            "endTxnMarker": b.control.name if b.control else "",
        }
        for b in batches[:before]
    ]


def _step(number: int, producer: int | None, what: Any, written: Sequence[tuple[int | None, Any]]) -> Step:
    if isinstance(what, bool):
        assert producer is not None
        return _marker(producer, what)
    batch: dict[str, Any] = {"values": [f"{number}{letter}" for letter in "abc"[: len(what)]], "keys": list(what)}
    if producer is not None:
        before = sum(len(keys) for who, keys in written[:number] if who == producer and not isinstance(keys, bool))
        batch |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": before, "transactional": True}
    name = None if producer is None else f"producer-{producer}"
    given = {"transactional_id": name, "acks": 1, "timeout_ms": STEP_MS, "batches": {PARTITION: batch}}
    return {"ask": "Produce", "to": f"leader of {PARTITION}", "version": 3, "with": given}


def _marker(producer: int, committed: bool) -> Step:
    marker: Row = {"producer_id": producer, "producer_epoch": 0, "coordinator_epoch": 0, "partitions": [PARTITION]}
    marker["committed"] = committed
    return {"ask": "WriteTxnMarkers", "to": f"leader of {PARTITION}", "with": {"markers": [marker]}}
