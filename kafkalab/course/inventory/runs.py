"""The runs that say what is true of the items: what is in a log, what a reader gets, what becomes of a transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from kafkalab.course.lab03 import exercise_1 as crashes
from kafkalab.course.lab07 import exercise_2 as remedies
from kafkalab.course.lab09 import exercise_3 as claims
from kafkalab.course.lab10 import exercise_2 as positions
from kafkalab.course.lab10 import exercise_3 as zombies
from kafkalab.course.lab11.scenario import lab11
from kafkalab.course.lab11.scenario import verdict as verdict_of_bookings
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

SEED = 1
BEGIN, COMMIT, ABORT = ["begin_transaction"], ["commit_transaction"], ["abort_transaction"]
LATE_MS = 3_000


def _send(value: str, partition: int = 0) -> list[Any]:
    return ["send", "out", value, None, partition]


def _run(*programs: Program, faults: tuple[Fault, ...] = ()) -> Cluster:
    return ran(Scenario(seed=SEED, topics={"out": 2}, programs=programs, faults=faults))


def _producer(name: str, *steps: list[Any], transactional: bool = True) -> Program:
    first = [["init_transactions"]] if transactional else []
    arguments = {"steps": [*first, *steps], **({"transactional_id": name} if transactional else {})}
    return Program(name, "operations", arguments)


def _values(cluster: Cluster) -> list[str]:
    return [str(r.value) for b in cluster.log_of("out-0").batches if b.control is None for r in b.records]


@cache
def count_sent(times: int, processes: int = 1) -> str:
    """Return how many copies a log has of an order that idempotent producers send so many times each."""
    steps = [_send("tea")] * times
    programs = [_producer(f"shop {n}", *steps, ["flush"], transactional=False) for n in range(processes)]
    return f"{len(_values(_run(*programs)))} copies"


@cache
def find_at_offset(transactions: int) -> str:
    """Return what lies at offset 1 after so many transactions of one record each."""
    cluster = _run(Program("shop", "transactions", {"transactional_id": "shop", "count": transactions}))
    batch = next(b for b in cluster.log_of("out-0").batches if b.base_offset == 1)
    return "marker" if batch.control else "record"


@cache
def count_left(records: int) -> str:
    """Return how many records are left at offset `records` of a log with one transaction of so many."""
    cluster = _run(Program("shop", "transactions", {"transactional_id": "shop", "records": records}))
    log = cluster.log_of("out-0")
    assert log.log_end_offset == records + 1
    left = [b for b in log.batches if b.base_offset >= records and b.control is None]
    return f"{len(left)} left"


@cache
def read_after_open(records: int) -> str:
    """Return what a read_committed reader gets of a committed transaction after one that is open."""
    first = _producer("A", BEGIN, _send("a"), ["flush"], ["sleep", 20_000])
    second = _producer("B", ["sleep", 2_000], BEGIN, *[_send("b")] * records, COMMIT)
    reader = Program("reader", "consumer_operations", {"steps": [["sleep", 5_000], ["assign", ["out-0"]],
                                                                 *[["poll", 500]] * 4]})  # fmt: skip
    cluster = _run(first, second, reader, faults=(Crash("A", at_ms=1_000),))
    assert _values(cluster) == ["a", *["b"] * records]
    return f"{len(cluster.results['reader'])} read, {_sent_to_reader(cluster)} sent"


@cache
def read_open(records: int) -> str:
    """Return how many records of an open transaction are sent to a read_committed reader."""
    writer = _producer("A", BEGIN, *[_send("a")] * records, ["flush"], ["sleep", 20_000])
    polls = [["sleep", 3_000], ["assign", ["out-0"]], *[["poll", 500]] * 3]
    cluster = _run(writer, Program("reader", "consumer_operations", {"steps": polls}))
    assert len(_values(cluster)) == records
    return f"{_sent_to_reader(cluster)} sent"


@cache
def read_aborted(aborted: int, committed: int) -> str:
    """Return how many of the records are sent to a read_committed reader, and how many it gets."""
    steps = [BEGIN, *[_send("a")] * aborted, ["flush"], ABORT, BEGIN, *[_send("b")] * committed, COMMIT]
    polls = [["sleep", 5_000], ["assign", ["out-0"]], *[["poll", 500]] * 3]
    cluster = _run(_producer("shop", *steps), Program("reader", "consumer_operations", {"steps": polls}))
    return f"{_sent_to_reader(cluster)} sent, {len(cluster.results['reader'])} read"


def _sent_to_reader(cluster: Cluster) -> int:
    answers = [f for f in cluster.trace.frames.values() if f.name == "FetchResponse" and f.receiver == "reader"]
    batches = (b for f in answers for fetched in f.body.partitions.values() for b in fetched.batches)
    return sum(len(b.records) for b in batches if b.control is None)


@cache
def find_after_abort(records: int) -> str:
    """Return what a log has after a transaction that was aborted."""
    cluster = _run(_producer("shop", BEGIN, *[_send("a")] * records, ["flush"], ABORT))
    markers = sum(b.control is not None for b in cluster.log_of("out-0").batches)
    return f"{len(_values(cluster))} records, {markers} marker"


@cache
def read_between_markers(records: int) -> str:
    """Return which partitions of a committed transaction a reader gets while the second marker is late."""
    sends = [_send(f"{n}", partition) for n in range(records) for partition in (0, 1)]
    polls = [["assign", ["out-0", "out-1"]], ["sleep", 2_000], ["poll", 500], ["poll", 500]]
    reader = Program("reader", "consumer_operations", {"steps": polls})
    late = Delay("WriteTxnMarkers#2", LATE_MS)
    cluster = _run(_producer("shop", BEGIN, *sends, COMMIT), reader, faults=(late,))
    return " and ".join(sorted({partition for partition, _, _ in cluster.results["reader"]})) or "nothing"


def find_outcome_of_crash(row: int) -> str:
    """Return the outcome of a row of L3.E1."""
    return str(crashes.facts(SEED)[row - 1].truth)


def find_remedy(row: int) -> str:
    """Return the remedy of a row of L7.E2."""
    return str(remedies.facts(SEED)[row - 1].truth)


def judge_claim(number: int) -> str:
    """Return what the runs say of a claim of L9.E3."""
    return str(claims.facts()[number - 1].truth)


@cache
def find_position(*acts: str, automatic: bool = False) -> str:
    """Return where a packer of L10.E2 reads on after these acts."""
    settings = {"enable_auto_commit": True} if automatic else {}
    row = positions.Row(says="", look="", acts=acts, settings=settings)
    return positions.where(ran(positions.scenario(SEED, row)))


@cache
def pack_with_zombie(checked: bool = False) -> str:
    """Return whether orders are packed twice by a packer that wakes up after the group has moved on."""
    asleep = (Pause("anna", at_ms=4_000), Resume("anna", at_ms=55_000))
    scenario = replace(zombies.scenario(SEED, members=checked), faults=asleep)
    return "twice" if zombies.twice(ran(scenario)) else "once"


@cache
def book(pattern: str, gap: int) -> str:
    """Return what becomes of a payment whose booker crashes in a gap: ok, lost or dup."""
    return verdict_of_bookings(ran(lab11(pattern, gap, SEED)), pattern)
