"""L9.E4: a session of librdkafka that lost half of an order is read, and a program with the same mistake repaired."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer.producer import Producer
from kafkalab.course.lab09.exercise_1 import late
from kafkalab.course.lab09.exercise_2 import audit, orders_of
from kafkalab.course.lab09.scenario import TOPICS, lost_session
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.grading.debugging import Debugging
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.schedules import LEARNER
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.paid_orders import PAYMENTS, SHOP, one_order
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

SETTINGS = {"request_timeout_ms": 30_000, "max_block_ms": 60_000}
"""Java's defaults, which the program has."""
ASKS = "Which request of the client ended pot's first half?"


def schedules(random: Random) -> Iterator[tuple[str, tuple[Fault, ...]]]:
    """Requests and answers that are late or lost, in words and as faults; markers are in time."""
    yield "nothing goes wrong", ()
    for n in (1, 2, 3, 1, 2):
        ms = random.randint(30_400, 31_700)
        yield f"EndTxn#{n} is late by {ms} ms", (Delay(f"EndTxn#{n}", ms),)
    for n in random.sample((1, 2, 3), 2):
        ms = random.randint(21_000, 28_000)
        yield f"EndTxn#{n} is late by {ms} ms", (Delay(f"EndTxn#{n}", ms),)
    for n in random.sample((1, 2, 3), 2):
        yield f"EndTxn#{n} is lost", (Drop(f"EndTxn#{n}"),)
        yield f"the answer EndTxnResponse#{n} is lost", (Drop(f"EndTxnResponse#{n}"),)


def scenarios(of_seed: int) -> list[Scenario]:
    """The program under each schedule."""
    random = random_for("L9.E4", of_seed)
    found = []
    for says, faults in schedules(random):
        orders, cancelled = orders_of(random)
        args = {"orders": [[name, name in cancelled] for name in orders]}
        found.append(
            Scenario(
                title=f"A shop that looks: {says}", profile="4.x/TV1", seed=random.randint(1, 10_000), topics=TOPICS,
                programs=(Program("shop", LEARNER, args),), faults=faults,
            )
        )  # fmt: skip
    return found


async def bill(app: App, orders: list[tuple[str, bool]]) -> None:
    """The program as the notebook has it: it begins anew after an error, and never gets one."""
    producer = await start_producer(app)
    for order, cancelled in orders:
        while order not in await list_booked(app):
            try:
                await one_order(app, producer, order, cancelled)
                break
            except KafkaError:
                await producer.close(timeout_ms=0)
                producer = await start_producer(app)


async def start_producer(app: App) -> Producer:
    """Return a new producer that has ended what its predecessor left open."""
    producer = app.producer(transactional_id=SHOP, **SETTINGS)
    await producer.init_transactions()
    return producer


async def list_booked(app: App) -> list[str]:
    """Return the orders that readers find."""
    reader = app.consumer(isolation_level="read_committed", auto_offset_reset="earliest")
    reader.assign([f"{PAYMENTS}-0"])
    orders: list[str] = []
    end = await reader.end_offset(f"{PAYMENTS}-0")
    while await reader.position(f"{PAYMENTS}-0") < end:
        orders += [record.value for record in await reader.poll()]
    return orders


def decides(cluster: Cluster) -> str:
    """Return the EndTxn that arrives after one that was sent later."""
    (frame,) = late(cluster)
    return frame.id


def miss_of(frame: Frame) -> str:
    """Return the misconception behind a frame that does not decide."""
    if frame.name == "EndTxn":
        return "another EndTxn"
    return "the effect" if frame.name == "WriteTxnMarkers" else ""


DEBUGGING = Debugging(
    asks=ASKS, session=lost_session, decides=decides, miss_of=miss_of, program="bill", untouched=bill,
    scenarios=lambda: scenarios(seed()), audits=(audit,),
)  # fmt: skip


def check(answer: Any) -> str:
    """ "EndTxn#2 decides; 12 of 12 schedules" if the frame is right, and no order is torn, lost or booked twice."""
    return DEBUGGING.check(answer)


EXERCISE = Exercise(
    "L9.E4",
    check,
    (
        "Walk to pot's first record, and on to the marker after it. Which request made the coordinator write that "
        "marker, and for which order was that request sent?",
        "The client asked twice for the abort of jam. The first request was late. In bill the same happens: the client "
        "repeats EndTxn by itself, and no error reaches your `except`.",
        "A call has to fail before the client sends the request again: max_block_ms must be below request_timeout_ms. "
        "Then your `except` makes a new producer. Or make a new producer for each order.",
    ),
    points=6,
    questions=(25,),
    misses={
        "another EndTxn": "That EndTxn ended the order that it was sent for. Compare when each EndTxn was sent with "
        "when it was received.",
        "the effect": "That marker did it, but who asked for it? Follow its cause back to the client.",
        "late marker": "A marker of yours came late because your run took another way. Look at its EndTxn first.",
        "torn": "The first EndTxn was given up and came later, into the next order. After how long does the client "
        "give it up, and after how long does your call fail?",
        "twice": "Look whether the order is booked after init_transactions(), not before it.",
        "lost": "The commit was never decided. Who books the order again?",
        "cancelled": "A cancelled order was committed by a late EndTxn. Did your call fail before that was sent again?",
        "another name": "Under another transactional.id your new producer ends nothing.",
        "abort or begin": "After a call that timed out you need a new producer.",
        "not caught": "Catch KafkaTimeoutError, too: it is a KafkaError.",
        "stops": "An error left bill. Which call raised it?",
        "does not end": "Leave the loop of an order when it is booked, and when it was cancelled.",
    },
    afterwards=(
        "Why: librdkafka repeats an EndTxn by itself after socket.timeout.ms, as Java does after request.timeout.ms. "
        "The program notices it only if its call fails before that. Brokers of level 2 did not help: this client "
        "speaks protocol 1. Next: which of your clients have this problem?"
    ),
)
