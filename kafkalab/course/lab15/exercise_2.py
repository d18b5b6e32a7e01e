"""L15.E2: a stopped job left a transaction open. Wait, terminate or abort, and is its data lost? Runs decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.course.lab15.scenario import late_batch
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.failover import ACCOUNTS, HOUR_MS, PAYMENTS
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

WAIT, TERMINATE, ABORT = ACTIONS = ("wait", "terminate", "abort")
COMMITTED, LOST = "committed", "lost"
RESUMES, CLAIMS, NEVER = "resumes", "claims", "never"
FORM = 'a function advice(job) that returns a pair such as ("wait", "lost")'
PARTITION, NAME = f"{ACCOUNTS}-0", PAYMENTS
MINUTE_MS = 60_000
STOPPED_MIN, ASKED_MIN, LIMIT_MIN = 1, 2, 30
"""The job stops; the operator is asked; readers must go on."""
IDS = {"producer_id": 2000, "producer_epoch": 0, "coordinator_epoch": 0}
CASES = 30
Job = dict[str, Any]
Advice = tuple[str, str]


async def open_and_stay(app: App, timeout_min: int) -> None:
    """Write a record in a transaction, and never end it."""
    producer = app.producer(transactional_id=NAME, linger_ms=0, transaction_timeout_ms=timeout_min * MINUTE_MS)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send(ACCOUNTS, "a", partition=0)
    await producer.flush()
    await app.sleep(2 * HOUR_MS)


async def claim_name(app: App, at_min: int) -> None:
    """Start again as most programs do: `init_transactions()` under the old name."""
    await app.sleep(at_min * MINUTE_MS)
    await app.producer(transactional_id=NAME).init_transactions()


def scenario(job: Job, action: str, of_seed: int) -> Scenario:
    """The job's run, and what the operator does two minutes after it began."""
    at_ms = ASKED_MIN * MINUTE_MS
    admins: tuple[Program, ...] = ()
    if action == TERMINATE:
        admins = (Program("admin", "force_terminate_transaction", {"at_ms": at_ms, "transactional_id": NAME}),)
    elif action == ABORT:
        admins = (Program("admin", "abort_transaction", {"at_ms": at_ms, "partition": PARTITION, **IDS}),)
    if not job["listed"]:
        base = late_batch(of_seed)
        return Scenario(
            title=f"A job that stopped: {action}", seed=of_seed, profile=base.profile, rules_off=base.rules_off,
            topics=base.topics, programs=(*base.programs, *admins), faults=base.faults,
        )  # fmt: skip
    again: tuple[Program, ...] = ()
    if job["starts_again"] == RESUMES:
        end = {"transactional_id": NAME, "producer_id": 2000, "producer_epoch": 0, "committed": True}
        ask = {"ask": "EndTxn", "to": f"coordinator of {NAME}", "version": 4, "with": end}
        again = (Program("again", "raw_requests", {"steps": [{"at": job["after_min"] * MINUTE_MS}, ask]}),)
    elif job["starts_again"] == CLAIMS:
        again = (Program("again", claim_name, {"at_min": job["after_min"]}),)
    stop: tuple[Fault, ...] = (Crash("job", at_ms=STOPPED_MIN * MINUTE_MS),)
    return Scenario(
        title=f"A job that stopped: {action}", seed=of_seed, profile="4.x/TV1", topics={ACCOUNTS: 1},
        programs=(Program("job", open_and_stay, {"timeout_min": job["timeout_min"]}), *again, *admins), faults=stop,
        config={"transaction_max_timeout_ms": HOUR_MS},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """Hold the end of a run: readers continued in time, and the record was committed."""

    in_time: bool
    committed: bool


@cache
def _ending(job: tuple[tuple[str, Any], ...], action: str, of_seed: int) -> Ending:
    cluster = Cluster(scenario(dict(job), action, of_seed))
    cluster.run_for(LIMIT_MIN * MINUTE_MS)
    log = cluster.log_of(PARTITION)
    in_time = log.last_stable_offset == log.high_watermark
    return Ending(in_time, in_time and "a" in cluster.outcome().committed[PARTITION])


def truth(job: Job, of_seed: int) -> Advice:
    """Return the best action, the gentlest of equals, and what becomes of the record."""
    endings = {action: _ending(tuple(job.items()), action, of_seed) for action in ACTIONS}
    best = max(ACTIONS, key=lambda action: (endings[action].in_time, endings[action].committed))
    return best, COMMITTED if endings[best].committed else LOST


def draw_job(random: Random) -> Job:
    """A job whose transaction hangs, or one that is back at some time, or never."""
    if random.random() < 0.2:
        return {"listed": False, "timeout_min": 1, "starts_again": NEVER, "after_min": 0}
    again = random.choice((RESUMES, RESUMES, CLAIMS, NEVER))
    after = 0 if again == NEVER else random.choice((5, 8, 12, 20, 25, 40, 50))
    return {
        "listed": True,
        "timeout_min": random.choice((4, 10, 15, 45, 60)),
        "starts_again": again,
        "after_min": after,
    }


SURE: tuple[Job, ...] = tuple(
    {"listed": True, "timeout_min": timeout, "starts_again": again, "after_min": after}
    for timeout, again, after in (
        (60, NEVER, 0),
        (15, CLAIMS, 8),
        (45, RESUMES, 12),
        (60, RESUMES, 50),
        (10, RESUMES, 20),
    )
)
"""Jobs that every seed has: each belief about them is wrong somewhere."""


@cache
def jobs(of_seed: int) -> tuple[Case, ...]:
    """Jobs of each kind."""
    random = random_for("L15.E2", of_seed)
    found = [*SURE, *(draw_job(random) for _ in range(CASES - len(SURE)))]
    random.shuffle(found)
    return tuple((job,) for job in found)


def advise(
    job: Job,
    *,
    times_out: bool = True,
    limit: bool = True,
    claim_commits: bool = False,
    abort_tool: str = ABORT,
    patient: bool = True,
) -> Advice:
    """Return the advice with some of the reasons switched; with none of them it is what the runs say."""
    if not job["listed"]:
        return abort_tool, LOST
    back = job["after_min"] if job["starts_again"] != NEVER else 2 * LIMIT_MIN
    resumed = job["starts_again"] == RESUMES or (claim_commits and job["starts_again"] == CLAIMS)
    ends = min(back, job["timeout_min"]) if times_out else back
    commits = resumed and (back < job["timeout_min"] or not times_out)
    if not patient or (ends > LIMIT_MIN and limit):
        return TERMINATE, LOST
    return WAIT, COMMITTED if commits else LOST


MUTANTS = (
    Mutant(
        "terminate at once", "nothing could still be committed", partial(advise, patient=False),
        hint="A job that resumes commits its old transaction. When does it start again?",
    ),
    Mutant(
        "wait for ever", "readers could wait as long as it takes", partial(advise, limit=False),
        hint="Readers must continue within 30 minutes. When does this transaction end by itself?",
    ),
    Mutant(
        "no timeout", "the coordinator never ended a transaction for time", partial(advise, times_out=False),
        hint="Compare timeout_min with after_min: which of the two comes first?",
    ),
    Mutant(
        "a new instance commits", "a new instance committed the transaction of the old one",
        partial(advise, claim_commits=True),
        hint="init_transactions() under the same name aborts the open transaction.",
    ),
    Mutant(
        "terminate ends all", "the coordinator could end a transaction that it does not list",
        partial(advise, abort_tool=TERMINATE), hint=1,
    ),
    Mutant(
        "wait for what hangs", "a coordinator ended what it does not list",
        partial(advise, abort_tool=WAIT), hint=1,
    ),
)  # fmt: skip


def _run_of(job: Job) -> Counterexample:
    return {"run": _watch(job), "view": "LogTape"}


def _watch(job: Job) -> Cluster:
    """The run in which the operator waits, up to the limit."""
    cluster = Cluster(scenario(job, WAIT, seed()))
    cluster.run_for(LIMIT_MIN * MINUTE_MS)
    return cluster


def reference(of_seed: int) -> Callable[[Job], Advice]:
    """Return the truth of each job."""
    return lambda job: truth(job, of_seed)


EXERCISE = Exercise(
    "L15.E2",
    lambda answer: against_mutants(answer, reference(seed()), MUTANTS, jobs(seed()), FORM, _run_of),
    (
        "First: will the coordinator end it? It does so when the job asks for it, when a new instance claims the "
        "name, or when the timeout is over. Which of these comes first, and is it in time?",
        "The coordinator does not end a transaction that it does not list, not even on request. Only the command that "
        "goes straight to the leader can end it.",
        'Not listed: ("abort", "lost"). Else take the smaller of after_min (if the job starts again) and timeout_min: '
        'over 30, ("terminate", "lost"); else wait, and it is "committed" only if the job resumes before the timeout.',
    ),
    points=6,
    questions=(46,),
    misses=hints_of(MUTANTS),
    question=lambda of_seed: [job for (job,) in jobs(of_seed)[:3]],
    afterwards=(
        "Why: the coordinator ends each transaction that it lists, at the latest after the timeout. Only the job "
        "itself can commit it; no tool can. Next: the judgement of find-hanging."
    ),
)
