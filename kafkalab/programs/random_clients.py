"""Clients by chance: writers and readers, members of groups, processors, and an administrator."""

from __future__ import annotations

from typing import Any

from kafkalab.programs import steps
from kafkalab.programs.groups import GROUP
from kafkalab.programs.randomness import Pick, once_in
from kafkalab.sim.scenario import Program

READERS, LONERS, BYSTANDERS = "readers", "loners", "bystanders"
SHORT_SESSION = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}


def random_writers(pick: Pick, partitions: int, few: bool = False) -> list[Program]:
    """Draw up to three writers (one if `few`), of whom two may share a transactional id; perhaps an idempotent one."""
    writers = []
    for number in range(1, pick.number(1, 1 if few else 3) + 1):
        args: dict[str, Any] = {
            "transactional_id": pick.one_of((f"t{number}", "t1")),
            "topic": "out",
            "plan": [_transaction(pick, partitions) for _ in range(pick.number(1, 4))],
            "transaction_timeout_ms": pick.one_of((60_000, 1_000)),
            "linger_ms": pick.one_of((0, 5, 100)),
            "work_ms": pick.one_of((0, 20, 300)),
            "keys": pick.number(0, 2),
        }
        writers.append(Program(f"w{number}", "writer", args))
    if once_in(pick, 3):
        to = [pick.number(0, partitions - 1) for _ in range(pick.number(1, 8))]
        args = {"topic": "out", "partitions": to, "pause_ms": pick.one_of((0, 20)), "linger_ms": pick.one_of((0, 50))}
        writers.append(Program("idle", "idempotent_writer", args))
    return writers


def _transaction(pick: Pick, partitions: int) -> list[Any]:
    """Draw how a transaction ends, and its records' partitions: as many neighbours as there is breadth."""
    breadth, first = pick.number(1, partitions), pick.number(0, partitions - 1)
    count = max(breadth, pick.number(1, 4))
    return [pick.one_of(("commit", "abort")), *((first + n % breadth) % partitions for n in range(count))]


def random_workers(pick: Pick, partitions: int) -> list[Program]:
    """Draw up to three workers of one group, static ones and short sessions among them."""
    session = pick.one_of(({}, SHORT_SESSION))
    strategy = pick.one_of(({}, {"partition_assignment_strategy": ["roundrobin"]}))
    static = once_in(pick, 3)
    return [
        Program(
            f"m{number}",
            "exactly_once_worker",
            {
                "transactional_id": f"m{number}",
                "start_after_ms": pick.one_of((0, 500, 5_000)),
                "work_ms": pick.one_of((0, 50, 2_000)),
                "outputs": pick.number(1, partitions),
                "settings": {
                    **session,
                    **strategy,
                    **({"group_instance_id": pick.one_of((f"i{number}", "i1"))} if static else {}),
                },
            },
        )
        for number in range(1, pick.number(1, 3) + 1)
    ]


def random_processors(pick: Pick, partitions: int) -> list[Program]:
    """Draw processors that share the input's partitions, and perhaps a second instance of the first one."""
    count = pick.number(1, min(2, partitions))
    settings = {"linger_ms": pick.one_of((0, 5)), "transaction_timeout_ms": pick.one_of((60_000, 2_000))}
    common = {"output": "out", "batch": pick.number(1, 4), "settings": settings}
    processors = [
        Program(
            f"p{number}",
            "exactly_once_processor",
            {
                "inputs": [f"in-{i}" for i in range(partitions) if i % count == number],
                "transactional_id": f"p{number}",
                "start_after_ms": pick.one_of((0, 500)),
                **common,
            },
        )
        for number in range(count)
    ]
    if once_in(pick, 2):
        args = {**processors[0].args, "start_after_ms": pick.one_of((100, 3_000))}
        return [*processors, Program("rival", "exactly_once_processor", args)]
    return [Program(p.node, p.run, {**p.args, "alone": True}) for p in processors]


def random_at_least_once(pick: Pick) -> list[Program]:
    """Draw workers without transactions, which commit their offsets before or after the work."""
    kind = pick.one_of(("at_least_once", "at_most_once"))
    return [
        Program(
            f"l{number}",
            kind,
            {"group": LONERS, "start_after_ms": pick.one_of((0, 500)), "work_ms": pick.one_of((0, 20))},
        )
        for number in range(1, pick.number(1, 2) + 1)
    ]


def random_readers(pick: Pick, partitions: int, topic: str = "out") -> list[Program]:
    """Draw up to two readers of the output without a group, and perhaps members of a group that auto-commit."""
    read = [f"{topic}-{i}" for i in range(partitions)]
    levels = ("read_committed", "read_uncommitted")[: pick.number(0, 2)]
    readers = [
        Program(f"r{i}", "reader", {"partitions": read, "isolation_level": level}) for i, level in enumerate(levels)
    ]
    if not once_in(pick, 5):
        return readers
    for number in range(1, pick.number(1, 2) + 1):
        settings: dict[str, Any] = {"isolation_level": pick.one_of(("read_committed", "read_uncommitted"))}
        settings.update(pick.one_of(({}, SHORT_SESSION)), auto_commit_interval_ms=pick.one_of((5_000, 200)))
        if once_in(pick, 2):
            settings["group_instance_id"] = f"g{number}"
        args = {"topics": [topic], "group": READERS, "for_ms": pick.one_of((1_500, 8_000)), "settings": settings}
        readers.append(Program(f"g{number}", "group_reader", args))
    return readers


def random_administrator(pick: Pick, transactional_ids: list[str]) -> Program:
    """Draw an administrator: raw requests that describe, list, create, delete and fence, spread over the run."""
    tid = pick.one_of(transactional_ids) if transactional_ids else "unknown"
    everywhere, group = f"coordinator of {tid}", f"group coordinator of {BYSTANDERS}"
    requests: list[steps.Step] = [
        {"ask": "DescribeTransactions", "to": everywhere, "with": {"transactional_ids": [tid]}},
        {"ask": "ListTransactions", "to": "b1", "with": {}},
        {"ask": "DescribeProducers", "to": "leader of out-0", "with": {"partitions": ["out-0"]}},
        {"ask": "DescribeCluster", "to": "b1", "with": {}},
        {"ask": "DescribeGroups", "to": f"group coordinator of {GROUP}", "with": {"groups": [GROUP]}},
        {"ask": "OffsetDelete", "to": group, "with": {"group_id": BYSTANDERS, "partitions": ["out-0"]}},
        {"ask": "DeleteGroups", "to": group, "with": {"groups": [BYSTANDERS]}},
        {"ask": "CreateTopics", "to": "b1", "with": {"topics": [{"name": "made"}]}},
        {"ask": "DeleteRecords", "to": "leader of out-0", "with": {"offsets": {"out-0": 1}}},
        {"ask": "InitProducerId", "to": everywhere, "with": {"transactional_id": tid}},
    ]
    plan: list[steps.Step] = []
    for _ in range(pick.number(2, 8)):
        plan += [pick.one_of(requests), steps.sleep(pick.one_of((0, 50, 500, 3_000)))]
    return Program("admin", "raw_requests", {"steps": plan})
