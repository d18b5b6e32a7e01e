"""L10.E1: a packing loop with four mistakes, repaired; it runs in 200 schedules, and each order has one parcel."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random

from kafkalab.client.exceptions import KafkaError
from kafkalab.client.results import GroupMetadata
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.exercise import BlankAnswer, Exercise
from kafkalab.grading.schedules import LEARNER, AuditFinding, over_schedules, with_program
from kafkalab.grading.seeds import random_for, seed
from kafkalab.log.group_offsets import GroupOffsets
from kafkalab.programs.packing import ORDERS, PACKERS, PARCELS
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = "an async function packer(app, name, start_ms, stop_ms)"
SCHEDULES = 200
BROKER = "b1"
NODES = ("anna", "ben", "carla")
STOP_MS = 27_000
LAST_ORDER_MS = 7_000
CONFIG = {"group_initial_rebalance_delay_ms": 500, "transaction_abort_cleanup_interval_ms": 1_000}
"""Settings of brokers with which a group and a coordinator act sooner: a run is over sooner."""


def market(random: Random) -> list[list[object]]:
    """Return the orders of a morning: a transaction every few hundred milliseconds; about a quarter is aborted."""
    found, at_ms, number = [], 200, 0
    while at_ms < LAST_ORDER_MS:
        values = [f"order {number + n}" for n in range(random.randint(2, 3))]
        number += len(values)
        end = "abort" if random.random() < 0.25 else "commit"
        found.append([at_ms, end, int(random.random() < 0.3), *values])
        at_ms += random.randint(300, 900)
    return found


def calm(random: Random) -> tuple[Fault, ...]:
    """Nothing fails; packers join and leave."""
    return ()


def crashes(random: Random) -> tuple[Fault, ...]:
    """The first packer crashes."""
    return (Crash("anna", at_ms=random.randint(800, 6_000)),)


def sleeps(random: Random) -> tuple[Fault, ...]:
    """The first packer sleeps until its partitions are another's, and wakes up."""
    at_ms = random.randint(800, 6_000)
    return Pause("anna", at_ms=at_ms), Resume("anna", at_ms=at_ms + random.randint(10_500, 13_000))


def naps(random: Random) -> tuple[Fault, ...]:
    """The first packer sleeps for less than its session, and for longer than its transaction may be open."""
    at_ms = random.randint(1_500, 6_500)
    return Pause("anna", at_ms=at_ms), Resume("anna", at_ms=at_ms + random.randint(5_200, 6_600))


def broker_sleeps(random: Random) -> tuple[Fault, ...]:
    """The broker sleeps for longer than a packer's records live."""
    at_ms = random.randint(800, 5_000)
    return Pause(BROKER, at_ms=at_ms), Resume(BROKER, at_ms=at_ms + random.randint(5_000, 7_000))


def loses_a_frame(random: Random) -> tuple[Fault, ...]:
    """One frame of a transaction is lost."""
    names = ("Produce", "ProduceResponse", "TxnOffsetCommit", "TxnOffsetCommitResponse", "EndTxn", "EndTxnResponse")
    return (Drop(f"{random.choice(names)}#{random.randint(2, 9)}"),)


TROUBLES: tuple[Callable[[Random], tuple[Fault, ...]], ...] = (
    sleeps, naps, crashes, broker_sleeps, naps, loses_a_frame, calm, naps,
)  # fmt: skip


def scenarios(of_seed: int) -> Iterator[Scenario]:
    """Each trouble in turn, with other orders, moments and latencies; the packers are the learner's."""
    random = random_for("L10.E1", of_seed)
    for number in range(SCHEDULES):
        trouble = TROUBLES[number % len(TROUBLES)]
        later = (100, 200) if trouble in (naps, broker_sleeps) else (4_000, 9_000)  # else: rebalances meanwhile
        starts = (0, *(random.randint(ms // 2, ms) for ms in later))
        packers = [
            Program(node, LEARNER, {"name": f"packer-{node}", "start_ms": start_ms, "stop_ms": STOP_MS})
            for node, start_ms in zip(NODES, starts, strict=True)
        ]
        yield Scenario(
            title="A morning at the shop",
            seed=random.randint(1, 10_000),
            brokers=1,
            topics={ORDERS: 2, PARCELS: 1},
            programs=(Program("shop", "shop_all_day", {"orders": market(random), "work_ms": 100}), *packers),
            faults=trouble(random),
            config=CONFIG,
        )


# what is asked of each run


def audit(cluster: Cluster) -> AuditFinding | None:
    """Each order that was committed has one parcel, and no other has any; else say which, and which mistake it is."""
    outcome = cluster.outcome()
    orders = [value for p in range(2) for value in outcome.committed[f"{ORDERS}-{p}"]]
    parcels = Counter(outcome.committed[f"{PARCELS}-0"])
    for value in parcels:
        if value not in orders:
            says = f"{value!r} was aborted by the shop, and has a parcel."
            return AuditFinding(says=says, miss="undecided", step=_list_appends(cluster, value)[0])
    for value in orders:
        if parcels[value] > 1:
            says = f"{value!r} has {parcels[value]} parcels."
            miss = "at the last" if _reads_again(cluster, outcome.offsets) else "twice"
            return AuditFinding(says=says, miss=_mistake(cluster, miss), step=_list_appends(cluster, value)[-1])
    missing = [value for value in orders if not parcels[value]]
    return _missing(cluster, missing[0]) if missing else _outside(cluster)


def _outside(cluster: Cluster) -> AuditFinding | None:
    """Offsets that were committed outside of a transaction, though in this run nothing came of it."""
    for frame in (f for f in _find_requests(cluster) if f.name == "OffsetCommit"):
        says = (
            f"{frame.sender} has committed offsets outside of its transaction, with {frame.id}. In this run nothing "
            "came of it; if a transaction is open at such a moment, and aborts, its orders are lost."
        )
        return AuditFinding(says=says, miss="outside", step=frame.sent_step)
    return None


def _missing(cluster: Cluster, value: str) -> AuditFinding:
    partition, offset = _place(cluster, value)
    passed = _find_commit_past(cluster, partition, offset)
    if passed >= 0:
        says = f"{value!r} has no parcel, and the group has committed an offset past it: nobody will read it again."
        return AuditFinding(says=says, miss=_mistake(cluster, "no rewind"), step=passed)
    ends = {node: result for node, result in cluster.results.items() if isinstance(result, KafkaError)}
    stopped = "".join(f" {node} was stopped by {type(end).__name__}: {end}" for node, end in list(ends.items())[-1:])
    aborted = any(f.name == "EndTxn" and not f.body.committed for f in _find_requests(cluster))
    miss = "stops" if ends else "no rewind" if aborted else "idle"
    return AuditFinding(says=f"{value!r} has no parcel at {STOP_MS} ms.{stopped}", miss=miss)


def _find_requests(cluster: Cluster) -> list[Frame]:
    """Return the packers' requests."""
    return [f for f in cluster.trace.frames.values() if f.sender in NODES and f.kind == "request"]


def _mistake(cluster: Cluster, else_: str) -> str:
    """Return the mistake that the packers' requests show; `else_` if none."""
    asked = _find_requests(cluster)
    if any(f.name == "OffsetCommit" for f in asked):
        return "outside"
    named = all(f.body.member_id for f in asked if f.name == "TxnOffsetCommit")
    return else_ if named or else_ in ("at the last", "no rewind") else "nobody"


def _reads_again(cluster: Cluster, offsets: Mapping[str, int]) -> bool:
    """Return True if the group's committed offset is that of an order that is packed already, not the one after it."""
    parcels = cluster.outcome().committed[f"{PARCELS}-0"]
    orders = {_place(cluster, value): value for value in parcels}
    return any((partition, offset) in orders for partition, offset in offsets.items())


def _place(cluster: Cluster, value: str) -> tuple[str, int]:
    """Return the partition and the offset of an order."""
    for partition in (f"{ORDERS}-0", f"{ORDERS}-1"):
        for batch in cluster.log_of(partition).batches:
            for offset, record in zip(batch.offsets, batch.records, strict=True):
                if record.value == value and not batch.control:
                    return partition, offset
    raise LookupError(value)


def _list_appends(cluster: Cluster, value: str) -> list[int]:
    """Return the steps at which the leader appended parcels of this order."""
    leader = cluster.controller.metadata.leader(f"{PARCELS}-0")
    appends = [e for e in cluster.trace.of("append", f"{PARCELS}-0") if e.node == leader]
    return [e.step for e in appends if value in [r.value for r in e.data.records]]


def _find_commit_past(cluster: Cluster, partition: str, offset: int) -> int:
    """Return the step at which the group's committed offset was first behind this one; -1 if it never was."""
    log = offsets_partition(PACKERS)
    leader, known = cluster.controller.metadata.leader(log), GroupOffsets()
    for event in cluster.trace.of("append", log):
        if event.node == leader:
            known.apply(event.data)
            stored = known.committed.get((PACKERS, partition))
            if stored is not None and stored.offset > offset:
                return event.step
    return -1


# the loop as the notebook has it


async def careless(app: App, name: str, start_ms: int, stop_ms: int) -> None:
    """The loop with its four mistakes, which a blank form still has."""
    await app.sleep(start_ms)
    times = {"request_timeout_ms": 2_000, "delivery_timeout_ms": 4_000, "transaction_timeout_ms": 4_200}
    producer = app.producer(transactional_id=name, linger_ms=0, **times)
    await producer.init_transactions()
    consumer = app.consumer(
        group_id=PACKERS, auto_offset_reset="earliest", session_timeout_ms=10_000, enable_auto_commit=False
    )
    consumer.subscribe([ORDERS])
    while app.now < stop_ms:
        if orders := await consumer.poll():
            try:
                producer.begin_transaction()
                for order in orders:
                    await app.sleep(150)
                    await producer.send(PARCELS, order.value, partition=0, headers=made_from(order))
                offsets = {order.partition: order.offset for order in orders}
                await producer.send_offsets_to_transaction(offsets, GroupMetadata(PACKERS))
                await producer.commit_transaction()
            except KafkaError:
                await producer.abort_transaction()
    await consumer.close()


def check(answer: object) -> str:
    """ "200 of 200 schedules" if each order has one parcel in all; WrongAnswer carries the shortest run that breaks."""
    if inspect.iscoroutinefunction(answer) and _is_untouched(answer):
        raise BlankAnswer("The loop is unchanged: the form is still blank. After which of its lines may a crash come?")
    return over_schedules(answer, scenarios(seed()), (audit,), FORM)


def _is_untouched(answer: object) -> bool:
    """Return True if the answer does in the first schedule what the loop of the notebook does."""
    first = next(scenarios(seed()))
    try:
        given = ran(with_program(first, answer))
    except Exception:
        return False
    return given.trace.digest() == ran(with_program(first, careless)).trace.digest()


EXERCISE = Exercise(
    "L10.E1",
    check,
    (
        "Follow one order through the loop, and ask at each line: what has been written by now, by which request, and "
        "in which transaction? A crash or a rebalance may come after each of them.",
        "One mistake is in what the consumer reads. Two are in the line that sends the offsets: where the group "
        "continues to read, and which member says so. The last one is a step that is missing after the abort.",
        "READS needs an isolation_level. The offset to send is the one after each order, and the second argument is "
        "consumer.group_metadata(). After the abort: seek every assigned partition to its committed offset, or to 0 "
        "where committed() says -1.",
    ),
    points=8,
    questions=(27, 28, 30),
    misses={
        "undecided": "The packers read orders that their shop had not decided yet. Which setting of the consumer "
        "decides which records it gets?",
        "outside": "An OffsetCommit has stored offsets outside the transaction. Who sends it: your program, or the "
        "consumer by itself?",
        "at the last": "The group continues to read *at* its offset. Which order is at the offset that you send, and "
        "is it packed already?",
        "nobody": "The offsets went into the transaction, but the request did not say which member sends them, so "
        "nobody could refuse a zombie's.",
        "no rewind": "A transaction was aborted, and the consumer continued after its orders. What did it have to do "
        "after the abort?",
        "twice": "Where did the next owner of the partition begin to read: after the last packed order, or at it? And "
        "where does your loop go back to after an abort?",
        "stops": "An error left your loop, in a call outside of `try`, or in the handling of another error. Which "
        "call raised it, and may it be made there?",
        "idle": "The packers were alive, and did not pack it. Does the loop poll again after every error?",
    },
    afterwards=(
        "Why: the offset is one more output of the transaction. The transaction must write it, in the name of the "
        "member that owns the partition. After an abort your program must bring the consumer back to it. Next: "
        "exercise 2 asks where a consumer continues after an abort."
    ),
)
