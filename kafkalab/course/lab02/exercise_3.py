"""L2.E3: a program with three mistakes, repaired; it runs in many schedules, and no transfer may be torn."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from random import Random

from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import BlankAnswer, Exercise
from kafkalab.grading.schedules import LEARNER, AuditFinding, over_schedules, with_program
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

FORM = "an async function book(app, transfers)"
SCHEDULES = 60
LIMIT = 100
"""A transfer of more than this is refused."""
DEBITS, CREDITS = "accounts-0", "accounts-1"


def scenarios(of_seed: int) -> Iterator[Scenario]:
    """Return schedules with other transfers and latencies: nothing fails, the program crashes, or a frame is lost."""
    random = random_for("L2.E3", of_seed)
    for number in range(SCHEDULES):
        transfers = _draw_transfers(random)
        yield Scenario(
            title="A bank",
            seed=random.randint(1, 10_000),
            topics={"accounts": 2},
            programs=(Program("app", LEARNER, {"transfers": transfers}),),
            faults=_draw_fault(random, number),
        )


def _draw_transfers(random: Random) -> list[int]:
    """Return amounts, no two alike; one or two of them, but not the last, are over the limit."""
    fine = random.sample(range(1, LIMIT), random.randint(3, 4))
    for _ in range(random.randint(1, 2)):
        fine.insert(random.randrange(len(fine)), random.randint(LIMIT + 1, 10 * LIMIT))
    return fine


def _draw_fault(random: Random, number: int) -> tuple[Fault, ...]:
    if number % 4 == 0:
        return ()
    if number % 4 < 3:
        return (Crash("app", at_ms=random.randint(40, 200)),)
    name = random.choice(("Produce", "ProduceResponse", "EndTxn", "EndTxnResponse"))
    return (Drop(f"{name}#{random.randint(1, 4)}"),)


def audit(cluster: Cluster) -> AuditFinding | None:
    """Each transfer is booked on both sides or on neither, none that is over the limit, and all others once."""
    outcome = cluster.outcome()
    debits = Counter(-int(value) for value in outcome.committed[DEBITS])
    credits = Counter(int(value) for value in outcome.committed[CREDITS])
    for amount in debits | credits:
        if amount > LIMIT:
            says = f"{amount} is over the limit, and is booked: {_sides(debits[amount], credits[amount])}."
            return AuditFinding(says=says, miss="not aborted", step=_find_append(cluster, amount))
        if debits[amount] != credits[amount]:
            says = f"{amount} is booked on one side: {_sides(debits[amount], credits[amount])}."
            return AuditFinding(says=says, miss="outside", step=_find_outside(cluster))
    return _audit_end(cluster, debits)


def _audit_end(cluster: Cluster, debits: Counter[int]) -> AuditFinding | None:
    """Return an error that has left the program, or a transfer that is not booked though nothing has crashed."""
    result = cluster.results.get("app")
    if isinstance(result, KafkaError):
        return AuditFinding(says=f"Your program ends with {type(result).__name__}: {result}.", miss="stops")
    if any(isinstance(fault, Crash) for fault in cluster.scenario.faults):
        return None
    (program,) = cluster.scenario.programs
    for amount in program.args["transfers"]:
        if amount <= LIMIT and debits[amount] != 1:
            return AuditFinding(says=f"{amount} is booked {debits[amount]} times.", miss="not booked")
    return None


def _find_outside(cluster: Cluster) -> int:
    """Return the step at which a record is first sent outside of any transaction; -1 if none is."""
    sent = (f for f in cluster.trace.frames.values() if f.name == "Produce" and not f.body.transactional_id)
    return next((frame.sent_step for frame in sent), -1)


def _sides(debits: int, credits: int) -> str:
    return f"{debits} debit{'s' * (debits != 1)}, {credits} credit{'s' * (credits != 1)}"


def _find_append(cluster: Cluster, amount: int) -> int:
    """Return the step at which the debit of this amount is appended."""
    appends = (e for e in cluster.trace.of("append", DEBITS) if str(-amount) in [r.value for r in e.data.records])
    return next((event.step for event in appends), -1)


# the program as the notebook has it


async def careless(app: App, transfers: list[int]) -> None:
    """The program with its three mistakes, which a blank form still has."""
    debits = app.producer(transactional_id="bank-0", linger_ms=0)
    debits.begin_transaction()  # the rest of it is never run
    await debits.init_transactions()


def check(answer: object) -> str:
    """ "60 of 60 schedules" if no transfer is torn; WrongAnswer carries the shortest run that breaks."""
    if inspect.iscoroutinefunction(answer) and _is_untouched(answer):
        raise BlankAnswer(
            "The form is still blank, or your program ends as the one that came: IllegalStateError: TransactionalId "
            "bank-0: Invalid transition attempted from state UNINITIALIZED to state IN_TRANSACTION."
        )
    return over_schedules(answer, scenarios(seed()), (audit,), FORM)


def _is_untouched(answer: object) -> bool:
    """Return True if the answer does in the first schedule what the program of the notebook does."""
    first = next(scenarios(seed()))
    try:
        given = ran(with_program(first, answer))
    except Exception:
        return False
    return given.trace.digest() == ran(with_program(first, careless)).trace.digest()


EXERCISE = Exercise(
    "L2.E3",
    check,
    (
        "Read the calls in order, and ask of each: may it be made now, and which transaction does it belong to?",
        "One call is made before the producer knows its coordinator. A producer without a transaction sends one of the "
        "records. And after an error the loop continues while the transaction is still open.",
        "Call init_transactions() once, first; begin each transfer with begin_transaction(); send both records with "
        "the producer that has the transactional id; and call abort_transaction() in the `except`.",
    ),
    points=8,
    misses={
        "outside": "A producer without a transactional id writes at once, for every reader. What happens to its record "
        "if the program crashes before the commit?",
        "not aborted": "The debit was sent before the limit was checked. Which call removes it from the transaction? "
        "The next commit also commits everything that is still open.",
        "not booked": "After a refused transfer the next one must begin a transaction of its own.",
        "stops": "An error left your program. Which state was the producer in? The message names it.",
    },
    afterwards=(
        "Why: a transaction holds the records that one producer writes between begin and commit. Records of another "
        "producer are outside. After an error the records already written stay inside until you abort. Next: lab 3 "
        "follows a transaction to its decision."
    ),
)
