"""L11.E2: the relay of an outbox; it runs in 100 schedules, and each booking has one receipt."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop, Hold, Release
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.exercise import BlankAnswer, Exercise
from kafkalab.grading.schedules import LEARNER, AuditFinding, over_scenarios, over_schedules, with_program
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.booking import OUTPUT, RECEIPTS
from kafkalab.programs.database import rows
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FORM = "an async function relay(app, start_ms, stop_ms)"
SCHEDULES = 100
STOP_MS, LAST_MS, SECOND_MS = 24_000, 7_000, 8_000


def bookings(random: Random) -> list[list[Any]]:
    """Return the bookings of a morning; about a fifth is rolled back."""
    found, at_ms, number = [], 100, 0
    while at_ms < LAST_MS:
        number += 1
        found.append([at_ms, "rollback" if random.random() < 0.2 else "commit", f"payment {number}"])
        at_ms += random.randint(150, 900)
    return found


def calm(random: Random) -> tuple[Fault, ...]:
    """Nothing fails; the second relay takes over from the first one."""
    return ()


def crashes(random: Random) -> tuple[Fault, ...]:
    """The first relay crashes."""
    return (Crash("relay-1", at_ms=random.randint(300, 7_500)),)


def crashes_at_a_commit(random: Random) -> tuple[Fault, ...]:
    """The first relay crashes with a transaction's end, or the records of one, under way."""
    return (Crash("relay-1", at_ms=random.randint(500, 2_000)), Crash("relay-2", at_ms=random.randint(8_500, 9_500)))


def sleeps(random: Random) -> tuple[Fault, ...]:
    """The first relay sleeps until the second one is at work, and wakes up."""
    at_ms = random.randint(300, 7_500)
    return Pause("relay-1", at_ms=at_ms), Resume("relay-1", at_ms=random.randint(SECOND_MS + 500, SECOND_MS + 4_000))


def commits_late(random: Random) -> tuple[Fault, ...]:
    """The first relay's commit is under way until the second relay begins."""
    frame = f"EndTxn#{random.randint(2, 7)}"
    return Hold(frame), Release(frame, at_ms=SECOND_MS + random.randint(5, 45))


def loses_a_frame(random: Random) -> tuple[Fault, ...]:
    """One frame is lost."""
    names = ("Produce", "ProduceResponse", "EndTxn", "EndTxnResponse")
    return (Drop(f"{random.choice(names)}#{random.randint(1, 6)}"),)


TROUBLES: tuple[Callable[[Random], tuple[Fault, ...]], ...] = (
    calm, crashes, commits_late, sleeps, loses_a_frame, commits_late, crashes_at_a_commit, commits_late,
)  # fmt: skip


def scenarios(of_seed: int) -> Iterator[Scenario]:
    """Each trouble in turn, with other bookings, moments and latencies; the three relays are the learner's."""
    random = random_for("L11.E2", of_seed)
    for number in range(SCHEDULES):
        starts = (0, SECOND_MS, 14_000)
        relays = [
            Program(node, LEARNER, {"start_ms": start_ms, "stop_ms": STOP_MS})
            for node, start_ms in zip(("relay-1", "relay-2", "relay-3"), starts, strict=True)
        ]
        book = Program("booker", "bookings_all_day", {"bookings": bookings(random)})
        yield Scenario(
            title="A morning with an outbox",
            seed=random.randint(1, 10_000),
            brokers=1,
            topics={RECEIPTS: 1},
            programs=(book, *relays),
            faults=TROUBLES[number % len(TROUBLES)](random),
        )


def audit(cluster: Cluster) -> AuditFinding | None:
    """Each booking has one receipt and nothing else has any; else say which, and which mistake it is."""
    booked = [f"receipt {payment}" for (payment,) in rows(cluster, "SELECT payment FROM bookings ORDER BY rowid")]
    receipts = Counter(cluster.outcome().committed[OUTPUT])
    for value in receipts:
        if value not in booked:
            return AuditFinding(says=f"{value!r} is in Kafka, and there is no such booking.", miss="not booked")
    for value in booked:
        if receipts[value] > 1:
            step = _find_append(cluster, value)
            return AuditFinding(says=f"{value!r} is there {receipts[value]} times.", miss=_mistake(cluster), step=step)
    missing = [value for value in booked if not receipts[value]]
    if not missing:
        return _order(cluster, booked)
    ends = {node: result for node, result in cluster.results.items() if isinstance(result, KafkaError)}
    stopped = "".join(f" {node} was stopped by {type(end).__name__}: {end}" for node, end in list(ends.items())[-1:])
    return AuditFinding(says=f"{missing[0]!r} is booked, and Kafka has no receipt of it.{stopped}", miss="lost")


def _order(cluster: Cluster, booked: list[str]) -> AuditFinding | None:
    """Return what is wrong with the order of the receipts; they come in that of the bookings."""
    if list(cluster.outcome().committed[OUTPUT]) == booked:
        return None
    return AuditFinding(says="Every receipt is there once, in another order than the bookings.", miss="order")


def _mistake(cluster: Cluster) -> str:
    """Return which mistake doubled a receipt, as the relays' requests show it."""
    inits = [f.body for f in cluster.trace.frames.values() if f.name == "InitProducerId"]
    names = {body.transactional_id for body in inits}
    if names == {None}:
        return "no transaction"
    return "own names" if len(names) > 1 else "where it got to"


def _find_append(cluster: Cluster, value: str) -> int:
    """Return the step at which the leader appended this receipt last."""
    leader = cluster.controller.metadata.leader(OUTPUT)
    appends = [e for e in cluster.trace.of("append", OUTPUT) if e.node == leader]
    return [e.step for e in appends if value in [r.value for r in e.data.records]][-1]


def _is_untouched(answer: object) -> bool:
    """Return True if the answer sends nothing at all in the first schedule."""
    cluster = Cluster(with_program(next(scenarios(seed())), answer))
    try:
        cluster.run()
    except Exception:
        return False
    return not any(frame.name in ("InitProducerId", "Produce") for frame in cluster.trace.frames.values())


def check(answer: object) -> str:
    """ "100 of 100 schedules" if each booking has one receipt in all; WrongAnswer carries the first run that breaks."""
    if inspect.iscoroutinefunction(answer):
        if _is_untouched(answer):
            raise BlankAnswer("This relay sends nothing: the form is still blank. Read the outbox, and send its rows.")
        return over_scenarios((with_program(s, answer) for s in scenarios(seed())), (audit,), SCHEDULES)
    return over_schedules(answer, (), (audit,), FORM)


EXERCISE = Exercise(
    "L11.E2",
    check,
    (
        "The relay must know which rows are in Kafka already. If it stores that in the database, there are two commits "
        "again. Where else can it be stored?",
        "In Kafka: each record has the row's id as its key, and last_sent(app) reads the highest. Can another relay "
        "still write while you read?",
        "A producer with one fixed transactional.id for every relay; init_transactions() first, which fences the "
        "others; then last_sent(app); then in a loop: SELECT the rows with a higher id ORDER BY id, send them in one "
        "transaction with key=str(id), commit, and remember the last id.",
    ),
    points=8,
    questions=(31, 32),
    misses={
        "lost": "Your relay skipped a row. When does it count a row as done: before Kafka has committed it, "
        "or after? And does it continue after an error?",
        "not booked": "A receipt was sent for something that was rolled back. Read rows only, from the outbox.",
        "no transaction": "Without a transactional.id nothing fences a relay that has slept, or aborts its attempt.",
        "own names": "Relays with different transactional ids do not fence each other, so a zombie may still commit.",
        "where it got to": "A relay began with a row that was in Kafka already. When did it read the last id? Could "
        "another relay still write after that?",
        "order": "Take the rows ORDER BY id, and do not send a row before an earlier one is committed.",
        "stops": "An error left your relay. Which call raised it?",
        "does not end": "Does your loop let time pass, and does it end at stop_ms?",
    },
    afterwards=(
        "Why: the position is the output itself, so one commit covers both. Claiming the name first fences every "
        "other relay that could still move it. Next: what two-phase commit would need, and a review."
    ),
)
