"""Scenarios by chance: several writers, readers, partitions, and faults of every kind.

What is drawn comes from a `Pick`: `Seeded(7)` for the same scenario on every machine, or, in the tests, hypothesis,
which shrinks a failure to a scenario that can be pasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from kafkalab.sim.faults import Crash, Delay, Drop, Duplicate, Fault, Pause, Restart, Resume
from kafkalab.sim.network import REQUEST_TIMEOUT_MS
from kafkalab.sim.scenario import Program, Scenario

T = TypeVar("T")
BROKERS = ("b1", "b2", "b3")
UNTIL_MS = 20_000
FRAMES = (
    "Produce", "ProduceReply", "EndTxn", "EndTxnReply", "AddPartitionsToTxn", "AddPartitionsToTxnReply",
    "WriteTxnMarkers", "WriteTxnMarkersReply", "InitProducerId", "InitProducerIdReply", "Fetch", "FetchReply",
    "FindCoordinatorReply", "ReplicaFetchReply",
)  # fmt: skip


class Pick(Protocol):
    """Where chance comes from."""

    def number(self, least: int, most: int) -> int:
        """A whole number of least to most; the smaller the simpler."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options; the earlier the simpler."""


class Seeded:
    """The same picks for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]


def scenario_by_chance(pick: Pick, profile: str | None = None, rules_off: tuple[str, ...] = ()) -> Scenario:
    """Writers and readers, or the workers of a group, and up to five faults.

    Of up to three writers two may share a transactional id; beside them may be an idempotent one. Up to three workers
    of a group move records from one topic to another, offsets in the transaction.

    What every Kafka before transaction version 2 is exposed to is left out: an EndTxn that comes after its own retry
    (KAFKA-17754; data/kafka_17754.klab shows it).
    """
    profile = profile or pick.one_of(("4.x/TV2", "4.x/TV1"))
    partitions = pick.number(1, 3)
    records: dict[str, tuple[str, ...]] = {}
    if pick.number(0, 2) < 2:
        topics = {"out": partitions}
        programs = [*_writers(pick, partitions), *_readers(pick, partitions)]
    else:
        topics = {"in": partitions, "out": partitions}
        records = {f"in-{i}": tuple(f"{i}/{n}" for n in range(pick.number(1, 4))) for i in range(partitions)}
        programs = _workers(pick)
    names = [p.node for p in programs]
    faults: list[Fault] = []
    for _ in range(pick.number(0, 5)):
        faults += [f for f in _fault(pick, names) if profile == "4.x/TV2" or not _outlives_its_retry(f)]
    return Scenario(
        title="by chance",
        profile=profile,
        rules_off=rules_off,
        topics=topics,
        records=records,
        programs=tuple(programs),
        faults=tuple(faults),
        seed=pick.number(1, 1000),
    )


def _writers(pick: Pick, partitions: int) -> list[Program]:
    writers = []
    for number in range(1, pick.number(1, 3) + 1):
        args: dict[str, Any] = {
            "transactional_id": pick.one_of((f"t{number}", "t1")),
            "topic": "out",
            "plan": [
                [pick.one_of(("commit", "abort")), *(pick.number(0, partitions - 1) for _ in range(pick.number(1, 3)))]
                for _ in range(pick.number(1, 4))
            ],
            "transaction_timeout_ms": pick.one_of((60_000, 1_000)),
        }
        writers.append(Program(f"w{number}", "writer", args))
    if pick.number(0, 2) == 2:
        to = [pick.number(0, partitions - 1) for _ in range(pick.number(1, 8))]
        writers.append(Program("idle", "idempotent_writer", {"topic": "out", "partitions": to}))
    return writers


def _workers(pick: Pick) -> list[Program]:
    return [
        Program(
            f"m{number}",
            "exactly_once_worker",
            {
                "transactional_id": f"m{number}",
                "start_after_ms": pick.one_of((0, 500, 5_000)),
                "work_ms": pick.one_of((0, 50, 2_000)),
            },
        )
        for number in range(1, pick.number(1, 3) + 1)
    ]


def _readers(pick: Pick, partitions: int) -> list[Program]:
    read = [f"out-{i}" for i in range(partitions)]
    levels = ("read_committed", "read_uncommitted")[: pick.number(0, 2)]
    return [
        Program(f"r{i}", "reader", {"partitions": read, "isolation_level": level}) for i, level in enumerate(levels)
    ]


def _outlives_its_retry(fault: Fault) -> bool:
    return isinstance(fault, Delay) and fault.frame.startswith("EndTxn#") and fault.delay_ms > REQUEST_TIMEOUT_MS


def _fault(pick: Pick, clients: list[str]) -> list[Fault]:
    """One mishap, and what undoes it, if that is meant to come."""
    kind = pick.one_of(("lose", "double", "delay", "broker dies", "broker sleeps", "client dies", "client sleeps"))
    if kind in ("lose", "double", "delay"):
        frame = f"{pick.one_of(FRAMES)}#{pick.number(1, 12)}"
        if kind == "delay":
            return [Delay(frame, pick.one_of((20, 200, 3_000, 31_000)))]
        return [Drop(frame) if kind == "lose" else Duplicate(frame)]
    at = pick.number(0, UNTIL_MS)
    node = pick.one_of(BROKERS if kind.startswith("broker") else clients)
    if kind == "client dies":
        return [Crash(node, at_ms=at)]
    later = at + pick.one_of((50, 2_000, 15_000))
    if kind == "broker dies":
        return [Crash(node, at_ms=at), Restart(node, at_ms=later)]
    return [Pause(node, at_ms=at), Resume(node, at_ms=later)]
