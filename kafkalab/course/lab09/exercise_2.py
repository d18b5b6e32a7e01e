"""L9.E2: a shop whose client speaks version 1, and which books each order once all the same: 20 schedules."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import view_of
from kafkalab.client.connection import REQUEST_TIMEOUT_MS
from kafkalab.client.exceptions import KafkaError
from kafkalab.course.lab09.scenario import TOPICS
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongType, describe
from kafkalab.grading.schedules import LEARNER, AuditFinding, over_scenarios, with_program
from kafkalab.grading.seeds import random_for, seed
from kafkalab.history.export import history_of
from kafkalab.programs.paid_orders import DELIVERIES, PAYMENTS, SHOP
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

FORM = "an async function careful(app, orders)"
NAMES = ("tea", "jam", "pot", "cup", "oil", "figs", "rice", "salt")
ORDERS = 4

Schedule = tuple[str, tuple[Fault, ...]]
"""A schedule: its title in words, and its faults."""


def orders_of(random: Random) -> tuple[list[str], list[str]]:
    """The orders of one day, and those that are cancelled: neither the first nor the last."""
    orders = random.sample(NAMES, ORDERS)
    return orders, [random.choice(orders[1:-1])]


def schedules(random: Random) -> tuple[Schedule, ...]:
    """20 of them, with the place of what fails, and by how much, drawn by chance."""

    def ends(count: int) -> list[int]:
        """The numbers of some EndTxn frames that orders of this length have at least."""
        return random.sample(range(1, ORDERS), min(count, ORDERS - 1))

    found: list[Schedule] = [("nothing goes wrong", ())]
    late = [(n, random.randint(30_400, 31_700)) for n in (1, 2, 3, 1)]
    found += [(f"EndTxn#{n} is late by {ms} ms", (Delay(f"EndTxn#{n}", ms),)) for n, ms in late]
    for n in (1, 3):  # an order has a marker for each of its partitions
        ms = random.randint(30_600, 31_700)
        markers = (f"WriteTxnMarkers#{n}", f"WriteTxnMarkers#{n + 1}")
        found.append((f"{' and '.join(markers)} are late by {ms} ms", tuple(Delay(frame, ms) for frame in markers)))
    soon = [(n, random.randint(21_000, 28_000)) for n in ends(2)]
    found += [(f"EndTxn#{n} is late by {ms} ms", (Delay(f"EndTxn#{n}", ms),)) for n, ms in soon]
    found += [(f"EndTxn#{n} is lost", (Drop(f"EndTxn#{n}"),)) for n in (1, *ends(2))]
    found += [(f"the answer EndTxnResponse#{n} is lost", (Drop(f"EndTxnResponse#{n}"),)) for n in (1, *ends(2))]
    found += [(f"EndTxn#{n} and the next are lost", (Drop(f"EndTxn#{n}"), Drop(f"EndTxn#{n + 1}"))) for n in (1, 3)]
    slow = tuple(Delay(f"WriteTxnMarkers#{n}", 26_000) for n in (1, 2))
    found += [("the answer EndTxnResponse#1 is lost, and the markers are slow", (Drop("EndTxnResponse#1"), *slow))]
    moments = (random.randint(2_030, 2_100), random.randint(4_100, 4_300))
    return (*found, *((f"the coordinator crashes after {ms} ms", (Crash(coordinator(), at_ms=ms),)) for ms in moments))


@cache
def coordinator() -> str:
    """The broker that coordinates the shop's transactions when a run begins."""
    metadata = Cluster(Scenario()).controller.metadata
    return metadata.leader(f"{TRANSACTION_TOPIC}-{partition_for(SHOP)}")


def scenarios(of_seed: int) -> Iterator[Scenario]:
    """The learner's shop under each schedule."""
    random = random_for("L9.E2", of_seed)
    for says, faults in schedules(random):
        orders, cancelled = orders_of(random)
        yield Scenario(
            title=f"A careful shop: {says}",
            profile="4.x/TV1",
            seed=random.randint(1, 10_000),
            topics=TOPICS,
            programs=(Program("shop", LEARNER, {"orders": [[name, name in cancelled] for name in orders]}),),
            faults=faults,
        )


# what is asked of each run


def audit(cluster: Cluster) -> AuditFinding | None:
    """An error that nobody caught; an order that is torn, booked twice or not at all, or booked though cancelled."""
    says = cluster.scenario.title.partition(": ")[2]
    result = cluster.results.get("shop")
    if isinstance(result, KafkaError):
        text = f"In this run {says}. Your shop stops with {type(result).__name__}: {result}"
        return AuditFinding(says=text.rstrip("."), miss=_of_error(cluster), step=_answer(cluster))
    committed = cluster.outcome().committed
    paid, sent = (Counter(committed[f"{topic}-0"]) for topic in (PAYMENTS, DELIVERIES))
    orders: list[list[Any]] = cluster.scenario.programs[0].args["orders"]
    for order, cancelled in orders:
        wanted = 0 if cancelled else 1
        if (paid[order], sent[order]) != (wanted, wanted):
            told = f"{order}, {'which was cancelled' if cancelled else 'which was not cancelled'}"
            text = f"In this run {says}. Of {told}, readers find {paid[order]} payments and {sent[order]} deliveries."
            miss = "another name" if len(_names(cluster)) > 1 else _miss(cluster, paid[order], sent[order], wanted)
            return AuditFinding(says=text, miss=miss, step=_find_booking(cluster, order))
    torn = torn_transaction(view_of(history_of(cluster))).findings
    if torn:
        text = f"In this run {says}. {torn[0].text[:1].upper()}{torn[0].text[1:]}: two decisions for one order."
        return AuditFinding(says=text, miss=_late(cluster) or "torn", step=torn[0].steps[-1])
    return None


def _names(cluster: Cluster) -> dict[str, str]:
    """The transactional ids that the shop has used."""
    return cluster.outcome().txn_states


def _late(cluster: Cluster) -> str:
    """Return "late marker" if a marker came after the coordinator had sent it again, else an empty text."""
    delays = [f for f in cluster.scenario.faults if isinstance(f, Delay) and f.frame.startswith("WriteTxnMarkers")]
    return "late marker" if any(f.delay_ms > REQUEST_TIMEOUT_MS for f in delays) else ""


def _miss(cluster: Cluster, paid: int, sent: int, wanted: int) -> str:
    if late := _late(cluster):
        return late
    if paid != sent:
        return "torn"
    if paid < wanted:
        return "lost"
    return "twice" if wanted else "cancelled"


def _of_error(cluster: Cluster) -> str:
    kind = type(cluster.results["shop"]).__name__
    return {"IllegalStateError": "abort or begin", "KafkaTimeoutError": "not caught"}.get(kind, "stops")


def _answer(cluster: Cluster) -> int:
    ends = [e.step for e in cluster.trace.of("complete") if e.node == "shop"]
    return ends[-1] if ends else -1


def _find_booking(cluster: Cluster, order: str) -> int:
    """The step of the last marker after this order's last payment, or of the payment, or the last of the run."""
    leader = cluster.controller.metadata.leader(f"{PAYMENTS}-0")
    appends = [e for e in cluster.trace.of("append", f"{PAYMENTS}-0") if e.node == leader]
    places = [i for i, e in enumerate(appends) if order in [r.value for r in e.data.records]]
    after = [e.step for e in appends[places[-1] :] if e.data.control is not None] if places else []
    return after[0] if after else appends[places[-1]].step if places else cluster.trace.steps - 1


def check(answer: object) -> str:
    """ "20 of 20 schedules" if each order is booked as it should be; else the first run in which one is not."""
    if answer is ... or answer is None:
        raise BlankAnswer(f"The function is still blank. Give {FORM}.")
    if not inspect.iscoroutinefunction(answer):
        raise WrongType(f"Give {FORM}: a function defined with `async def`, not {describe(answer)}.")
    every = [with_program(scenario, answer) for scenario in scenarios(seed())]
    if _is_blank(every[0]):
        raise BlankAnswer(f"The function is still blank: it sends nothing. Give {FORM}.")
    return over_scenarios(every, (audit,), len(every))


def _is_blank(calm: Scenario) -> bool:
    try:
        cluster = ran(calm)
    except Exception:
        return False
    sent = any(f.sender == "shop" for f in cluster.trace.frames.values())
    return not sent and cluster.results.get("shop") in (None, ...)


EXERCISE = Exercise(
    "L9.E2",
    check,
    (
        "A late request of yours may be noticed: your call times out. A late marker is sent by the coordinator, and no "
        "client notices it. So no later transaction may have the producer epoch of an earlier one.",
        "init_transactions() of a *new* producer with the same transactional.id waits until the coordinator has ended "
        "what was open, and raises the epoch: from then on neither a late EndTxn nor a late marker can end anything.",
        "For each order: make a producer, await its init_transactions(), and look with booked(app) whether the order "
        "is there. If it is, take the next order. If not, try one_order(); on a KafkaError close(timeout_ms=0) and, "
        "unless the order was cancelled, begin again with another new producer.",
    ),
    points=10,
    questions=(24, 25),
    misses={
        "late marker": "A marker was late, the coordinator sent it again, and your commit succeeded: no client is "
        "told. Then the first copy met your next transaction, which has the same epoch. What gives each transaction an "
        "epoch of its own?",
        "torn": "Two transactions of your shop have one epoch, and an EndTxn of the first arrived in the second. What "
        "gives the producer a new epoch, and when must that be?",
        "twice": "The commit that timed out had been decided. Look whether the order is there before you book it "
        "again, and look after init_transactions(): before it, the old transaction may still be under way.",
        "lost": "The commit that timed out was never decided, so init_transactions() has aborted it. Who books the "
        "order again?",
        "cancelled": "A cancelled order was committed, whole. Which EndTxn did that, and why was it accepted?",
        "another name": "Under another transactional.id your new producer has nothing to do with the old transaction, "
        "which stays open until its EndTxn arrives after all, or its time is up.",
        "abort or begin": "After a call that timed out, the client takes only that call again. To begin or abort "
        "anything you need a new producer.",
        "not caught": "Now the order is in doubt: catch the error, and do not use this producer again.",
        "stops": "Every KafkaError from an order means the same here: it is in doubt. Catch KafkaError around the "
        "whole order.",
        "does not end": "Leave the loop of an order when it is booked, and when it was cancelled.",
    },
    afterwards=(
        "Why: init_transactions() raises the epoch, and with it every frame of the old producer is too old to end "
        "anything: its EndTxn, and the coordinator's markers for it. It costs a request and a wait for each "
        "transaction; version 2 does the same in the answer to EndTxn. Next: what does a search that finds nothing "
        "show?"
    ),
)
