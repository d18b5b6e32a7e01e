"""L6.E3: a billing service with confluent-kafka's names and three mistakes, repaired; it runs in 40 schedules."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.exercise import BlankAnswer, Exercise
from kafkalab.grading.schedules import LEARNER, AuditFinding, over_scenarios, over_schedules, with_program
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.billing import BILLING, CHARGES, ORDERS
from kafkalab.programs.confluent import KafkaError, KafkaException, Producer
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = "an async function billing(app, name, start_ms, stop_ms)"
SCHEDULES = 40
STOP_MS = 14_000
VALUES = tuple(f"order {number}" for number in range(1, 11))
ENDED, STATE, FENCED = "KafkaException", f"code={KafkaError._STATE}", f"code={KafkaError._FENCED}"
"""The sign of an error that left the service."""
NEWER = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
CONFIG = {"transaction_abort_cleanup_interval_ms": 1_000}
Trouble = Callable[[Random], tuple[tuple[Fault, ...], int]]
"""The faults, and when `till-2` replaces `till-1`; -1 if nobody does."""


def calm(random: Random) -> tuple[tuple[Fault, ...], int]:
    """Nothing fails."""
    return (), -1


def zombie(random: Random) -> tuple[tuple[Fault, ...], int]:
    """The first instance sleeps, is replaced, and wakes up before its records expire.

    An instance with an expired record asks for a new epoch when it aborts. Kafka 4.3 then fences the newer instance if
    this one has a transaction open (`prepareInitProducerIdTransit`), whatever the program does.
    """
    at_ms = random.randint(300, 2_000)
    replaced_ms = at_ms + random.randint(800, 1_800)
    wakes_ms = replaced_ms + random.randint(300, 1_600)
    return (Pause("till-1", at_ms=at_ms), Resume("till-1", at_ms=wakes_ms)), replaced_ms


def crash(random: Random) -> tuple[tuple[Fault, ...], int]:
    """The first instance crashes, and is replaced."""
    return (Crash("till-1", at_ms=random.randint(300, 2_000)),), random.randint(2_500, 4_000)


def short_sleep(random: Random) -> tuple[tuple[Fault, ...], int]:
    """The broker sleeps for longer than a call waits."""
    at_ms = random.randint(300, 1_800)
    return (Pause("b1", at_ms=at_ms), Resume("b1", at_ms=at_ms + random.randint(2_200, 3_200))), -1


def long_sleep(random: Random) -> tuple[tuple[Fault, ...], int]:
    """The broker sleeps for longer than a record lives."""
    at_ms = random.randint(300, 1_800)
    return (Pause("b1", at_ms=at_ms), Resume("b1", at_ms=at_ms + random.randint(4_500, 6_000))), -1


def lost_answers(random: Random) -> tuple[tuple[Fault, ...], int]:
    """A commit is decided, and its answer is lost for longer than the call waits."""
    number = random.randint(2, 8)
    return tuple(Drop(f"EndTxnResponse#{n}") for n in (number, number + 1)), -1


TROUBLES: tuple[Trouble, ...] = (
    zombie, long_sleep, lost_answers, crash, zombie, lost_answers, calm, short_sleep,
)  # fmt: skip
DIFFERENT = 3
"""The number of schedules, from the first one on, in which each of the three mistakes shows."""


def scenarios(of_seed: int) -> Iterator[Scenario]:
    """Each trouble in turn, with other moments and latencies; the instances are the learner's."""
    random = random_for("L6.E3", of_seed)
    for number in range(SCHEDULES):
        faults, replaced_ms = TROUBLES[number % len(TROUBLES)](random)
        starts = {"till-1": 0} | ({"till-2": replaced_ms} if replaced_ms >= 0 else {})
        yield Scenario(
            title="A day at the tills",
            profile="4.x/TV1",
            seed=random.randint(1, 10_000),
            brokers=1,
            topics={ORDERS: 1, CHARGES: 1},
            records={f"{ORDERS}-0": VALUES},
            programs=tuple(
                Program(node, LEARNER, {"name": "billing-0", "start_ms": start_ms, "stop_ms": STOP_MS})
                for node, start_ms in starts.items()
            ),
            faults=faults,
            config=CONFIG,
        )


# what is asked of each run


def audit(cluster: Cluster) -> AuditFinding | None:
    """No fenced instance claims the name again, and each order is charged once; else say which mistake it is."""
    frames = list(cluster.trace.frames.values())
    for node in ("till-1", "till-2"):
        if again := _claims_again(frames, node):
            says = f"{node} was fenced, and claimed the name again: it fences the instance that replaced it."
            return AuditFinding(says=says, miss="goes on", step=again.sent_step)
    charges = Counter(cluster.outcome().committed[f"{CHARGES}-0"])
    for value in VALUES:
        if charges[value] > 1:
            return AuditFinding(says=f"{value!r} is charged {charges[value]} times.", miss="twice", step=-1)
    missing = [value for value in VALUES if not charges[value]]
    return _missing(cluster, missing[0]) if missing else None


def _claims_again(frames: list[Frame], node: str) -> Frame | None:
    """Return the first InitProducerId that the node sends after it was fenced."""
    fenced = [f.received_step for f in frames if f.receiver == node and f.error in NEWER and f.received_step >= 0]
    claims = (f for f in frames if f.sender == node and f.name == "InitProducerId")
    return next((f for f in claims if fenced and f.sent_step > fenced[0]), None)


def _missing(cluster: Cluster, value: str) -> AuditFinding:
    said = f"{value!r} is never charged."
    for node in ("till-1", "till-2"):
        ended = str(cluster.results.get(node))
        if ended.startswith(ENDED) and FENCED not in ended:
            step = max(e.step for e in cluster.trace.events if e.node == node)
            miss = "in doubt" if STATE in ended else "retriable"
            return AuditFinding(says=f"{said} {node} ended with {ended}", miss=miss, step=step)
    aborts = [f for f in cluster.trace.frames.values() if f.name == "EndTxn" and not f.body.committed]
    step = aborts[0].sent_step if aborts else -1
    says = f"{said} Its transaction was aborted." if aborts else f"{said} No instance has tried."
    return AuditFinding(says=says, miss="forgets" if aborts else "stops", step=step)


# the service as the notebook has it


async def start(app: App, name: str, start_ms: int) -> tuple[Any, Producer]:
    """Return the consumer of the orders, and a producer that has claimed the name."""
    await app.sleep(max(start_ms - app.now, 0))
    limits = {"socket.timeout.ms": 1_000, "message.timeout.ms": 4_000, "transaction.timeout.ms": 8_000}
    producer = Producer(app, {"transactional.id": name, "linger.ms": 0, **limits})
    await producer.init_transactions()
    consumer = app.consumer(group_id=BILLING, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([f"{ORDERS}-0"])
    return consumer, producer


async def charge(app: App, producer: Producer, consumer: Any, order: Any) -> None:
    """Begin a transaction with one charge and the offset after its order."""
    producer.begin_transaction()
    await producer.produce(CHARGES, order.value, headers=made_from(order))
    await app.sleep(150)
    await producer.flush()
    await producer.send_offsets_to_transaction({order.partition: order.offset + 1}, consumer.group_metadata())


async def careless(app: App, name: str, start_ms: int, stop_ms: int) -> None:
    """The service with its three mistakes, which a blank form still has."""
    consumer, producer = await start(app, name, start_ms)
    while app.now < stop_ms:
        for order in await consumer.poll():
            try:
                await charge(app, producer, consumer, order)
                await producer.commit_transaction()
            except KafkaException as failed:
                if failed.args[0].fatal():
                    consumer, producer = await start(app, name, app.now)
                else:
                    await producer.abort_transaction()


def ends_alone(service: Any) -> Callable[..., Awaitable[Any]]:
    """Return the service; an error of Kafka that leaves it ends its own instance only, and is its result."""

    async def run_alone(app: App, **given: Any) -> Any:
        try:
            return await service(app, **given)
        except Exception as error:
            if type(error).__name__ != ENDED:
                raise
            return f"{ENDED}: {error}"

    return run_alone


def check(answer: object) -> str:
    """ "40 of 40 schedules" if each order is charged once, and no fenced instance fences another."""
    if inspect.iscoroutinefunction(answer) and _is_untouched(answer):
        raise BlankAnswer("The service is unchanged: the form is still blank. What does each kind of error ask for?")
    if not inspect.iscoroutinefunction(answer):
        return over_schedules(answer, (), (audit,), FORM)
    return over_scenarios((with_program(one, ends_alone(answer)) for one in scenarios(seed())), (audit,), SCHEDULES)


def _is_untouched(answer: object) -> bool:
    """Return True if the answer does in the first schedules what the service of the notebook does."""
    try:
        return all(
            ran(with_program(one, ends_alone(answer))).trace.digest()
            == ran(with_program(one, ends_alone(careless))).trace.digest()
            for one, _ in zip(scenarios(seed()), range(DIFFERENT), strict=False)
        )
    except Exception:
        return False


EXERCISE = Exercise(
    "L6.E3",
    check,
    (
        "KafkaError answers three questions: fatal(), retriable() and txn_requires_abort(). Ask them in this order, "
        "and give each its own lines.",
        "After a fatal error this instance has to end. After a retriable one make the same call again. After an abort "
        "the order is not charged yet.",
        "fatal(): return. retriable(): `commit_transaction()` or `abort_transaction()` again, in a loop, until it "
        "returns. Otherwise: abort, `consumer.seek(order.partition, order.offset)`, and poll again.",
    ),
    points=8,
    questions=(14, 17),
    misses={
        "goes on": "A fenced instance has been replaced. What does init_transactions() do to its replacement?",
        "twice": "An order was charged in two transactions. Which of them had a result that you did not wait for?",
        "in doubt": "Nobody knows the result of this commit, so you can neither abort nor begin another transaction. "
        "Which call is allowed?",
        "retriable": "A retriable error left your function. The same call succeeds once the broker is back.",
        "forgets": "An aborted transaction charges nothing, and the consumer's position is past its order. Where must "
        "the consumer go?",
        "stops": "An error left your function, or it ended too early. Which call raised it, and is it one of Kafka's?",
    },
    afterwards=(
        "Why: the error tells you what you have lost. After a fatal error: the producer, because another one has its "
        "name. After an error that asks for an abort: the transaction, so the order is not charged yet. After a "
        "retriable error: nothing yet. Next: lab 7, and who gives up first."
    ),
)
