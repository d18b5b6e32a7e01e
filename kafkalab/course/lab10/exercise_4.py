"""L10.E4: a session of aiokafka that packed an order twice is read, and a program with the same mistake repaired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.course.lab10.scenario import aiokafka_session
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.grading.debugging import Debugging
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.schedules import LEARNER, AuditFinding
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.packing import ORDERS, PACKERS, PARCELS
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

VALUES = ("tea", "jam", "pot", "cup", "oil")
AGAIN_MS = 200_000
"""The second packer starts then."""
ASKS = "Which request of the client wrote offset 1 into the second transaction?"


def schedules(random: Random) -> Iterator[tuple[str, int, tuple[Fault, ...]]]:
    """Yield the words for a schedule, the number of orders of the first packer, and the faults."""
    yield "nothing goes wrong", 2, ()
    for n in (1, 2, 1, 2, 1):
        ms = random.randint(32_300, 33_700)
        yield f"TxnOffsetCommit#{n} is late by {ms} ms", n + 1, (Delay(f"TxnOffsetCommit#{n}", ms),)
    for n in random.sample((1, 2, 3), 2):
        ms = random.randint(30_400, 31_700)
        yield f"TxnOffsetCommit#{n} is late by {ms} ms", 3, (Delay(f"TxnOffsetCommit#{n}", ms),)
    for n in random.sample((1, 2), 2):
        yield f"TxnOffsetCommit#{n} is lost", 2, (Drop(f"TxnOffsetCommit#{n}"),)
        yield f"the answer TxnOffsetCommitResponse#{n} is lost", 2, (Drop(f"TxnOffsetCommitResponse#{n}"),)


def scenarios(of_seed: int) -> list[Scenario]:
    """Two instances of the program, one after the other, under each schedule."""
    random = random_for("L10.E4", of_seed)
    return [
        Scenario(
            title=f"A packer that is restarted: {says}",
            profile="4.x/TV1",
            seed=random.randint(1, 10_000),
            topics={ORDERS: 1, PARCELS: 1},
            records={f"{ORDERS}-0": VALUES},
            programs=(
                Program("anna", LEARNER, {"start_ms": 0, "count": count}),
                Program("again", LEARNER, {"start_ms": AGAIN_MS, "count": len(VALUES)}),
            ),
            faults=faults,
        )
        for says, count, faults in schedules(random)
    ]


async def pack_some(app: App, start_ms: int, count: int) -> None:
    """The program as the notebook has it: one producer for all orders."""
    await app.sleep(start_ms)
    consumer, orders = await read_waiting(app)
    producer = app.producer(transactional_id="packer-1")
    await producer.init_transactions()
    for order in orders[:count]:
        await pack_one(app, consumer, producer, order)


async def pack_one(app: App, consumer: Any, producer: Any, order: Any) -> None:
    """Write the order's parcel and its offset in one transaction, work for two seconds, and commit."""
    producer.begin_transaction()
    await producer.send(PARCELS, order.value, partition=0)
    offsets = {order.partition: order.offset + 1}
    await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
    await app.sleep(2_000)
    await producer.commit_transaction()


async def read_waiting(app: App) -> tuple[Any, Any]:
    """Return a consumer of the group, and the orders from its committed offset on."""
    consumer = app.consumer(group_id=PACKERS, enable_auto_commit=False)
    consumer.assign([f"{ORDERS}-0"])
    offsets = await consumer.committed([f"{ORDERS}-0"])
    consumer.seek(f"{ORDERS}-0", max(offsets[f"{ORDERS}-0"], 0))
    return consumer, await consumer.poll()


def audit(cluster: Cluster) -> AuditFinding | None:
    """An error that nobody caught; an order without a parcel, or with two; an offset that does not fit the parcels."""
    says = cluster.scenario.title.partition(": ")[2]
    for node, result in cluster.results.items():
        if isinstance(result, KafkaError):
            text = f"In this run {says}. {node} stops with {type(result).__name__}: {result}".rstrip(".")
            return AuditFinding(says=f"{text}.", miss="stops")
    outcome = cluster.outcome()
    parcels = Counter(outcome.committed[f"{PARCELS}-0"])
    for value in VALUES:
        if parcels[value] != 1:
            found = f"In this run {says}. {value} has {parcels[value]} parcels."
            return AuditFinding(says=found, miss="twice" if parcels[value] else "none", step=_went_back(cluster))
    if outcome.offsets.get(f"{ORDERS}-0") != len(VALUES):
        offset = outcome.offsets.get(f"{ORDERS}-0", 0)
        found = f"In this run {says}. All is packed, and the group's offset is {offset}."
        return AuditFinding(says=found, miss="twice", step=_went_back(cluster))
    return None


def _went_back(cluster: Cluster) -> int:
    """Return the step at which a smaller offset was appended after a larger one; -1 if none was."""
    log = offsets_partition(PACKERS)
    leader, last = cluster.controller.metadata.leader(log), -1
    for event in cluster.trace.of("append", log):
        for record in event.data.records if event.node == leader and event.data.control is None else ():
            offset = getattr(record.value, "offset", last)
            if offset < last:
                return event.step
            last = offset
    return -1


def decides(cluster: Cluster) -> str:
    """Return the TxnOffsetCommit that arrives after one that was sent later."""
    asked = [f for f in cluster.trace.frames.values() if f.name == "TxnOffsetCommit" and f.received_step >= 0]
    (frame,) = (f for f in asked if any(f.sent_step < o.sent_step and o.received_step < f.received_step for o in asked))
    return frame.id


def miss_of(frame: Frame) -> str:
    """Return the misconception behind a frame that does not decide."""
    if frame.name == "TxnOffsetCommit":
        return "another offset commit"
    return "the marker" if frame.name in ("EndTxn", "WriteTxnMarkers") else ""


DEBUGGING = Debugging(
    asks=ASKS, session=aiokafka_session, decides=decides, miss_of=miss_of, program="pack_some", untouched=pack_some,
    scenarios=lambda: scenarios(seed()), audits=(audit,),
)  # fmt: skip


def check(answer: Any) -> str:
    """ "TxnOffsetCommit#1 decides; 12 of 12 schedules" if the frame is right, and each order has one parcel."""
    return DEBUGGING.check(answer)


EXERCISE = Exercise(
    "L10.E4",
    check,
    (
        "Walk to the entries of __consumer_offsets in the second transaction. There are two for one partition. Which "
        "request wrote the later one, and when was it sent?",
        "A TxnOffsetCommit names a producer id and an epoch, and the second transaction has those of the first. What "
        "gives each transaction an epoch of its own?",
        "Make the producer inside the loop: a new producer with the same transactional.id, and its "
        "init_transactions(), before each begin_transaction().",
    ),
    points=6,
    questions=(39,),
    misses={
        "another offset commit": "That one arrived within its own transaction. Compare when each TxnOffsetCommit was "
        "sent with when it was received.",
        "the marker": "The marker commits whatever is pending. Which request wrote 1 after 2?",
        "twice": "An old TxnOffsetCommit joined a later transaction, and its offset was the newest at the marker. Why "
        "was it accepted?",
        "none": "An order has no parcel. Where does the next instance continue to read?",
        "stops": "An error left your program. Which call raised it?",
        "does not end": "Leave the loop after the last order.",
    },
    afterwards=(
        "Why: before version 2 all transactions of a producer have one epoch, and a TxnOffsetCommit has no sequence "
        "number. The brokers had level 2 and could not help: the client decides. Next: lab 11 leaves Kafka."
    ),
)
