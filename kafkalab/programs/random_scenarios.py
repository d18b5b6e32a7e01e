"""Scenarios by chance: several writers, readers, partitions, and faults of every kind.

What is drawn comes from a `Pick`: `Seeded(7)` for the same scenario on every machine, or, in the tests, hypothesis,
which shrinks a failure to a scenario that can be pasted.
"""

from __future__ import annotations

from typing import Any

from kafkalab.programs.groups import GROUP
from kafkalab.programs.random_faults import Pick, Seeded, outlives_its_retry, random_fault
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, partition_for
from kafkalab.sim.faults import Fault, Upgrade
from kafkalab.sim.scenario import Program, Scenario

__all__ = ["Pick", "Seeded", "random_scenario"]


def random_scenario(pick: Pick, profile: str | None = None, rules_off: tuple[str, ...] = ()) -> Scenario:
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
    logs = [*(f"{topic}-{i}" for topic, count in topics.items() for i in range(count)), *_internal(programs)]
    for _ in range(pick.number(0, 5)):
        mishap = random_fault(pick, names, logs)
        if profile == "4.x/TV2" or not any(map(outlives_its_retry, mishap)):
            faults += mishap
    config = {}
    if profile == "4.x/TV2" and any(isinstance(fault, Upgrade) for fault in faults):  # begin lower, to rise
        config = {"transaction_version": pick.number(0, 1)}
        faults = [fault for fault in faults if not outlives_its_retry(fault)]
    return Scenario(
        title="by chance",
        profile=profile,
        rules_off=rules_off,
        topics=topics,
        records=records,
        config=config,
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


def _internal(programs: list[Program]) -> list[str]:
    """The partitions of the internal topics that these programs use."""
    ids = dict.fromkeys(p.args["transactional_id"] for p in programs if "transactional_id" in p.args)
    logs = [f"{TRANSACTION_TOPIC}-{partition_for(name)}" for name in ids]
    return [*logs, f"{OFFSETS_TOPIC}-{partition_for(GROUP)}"]
