"""The scenarios of lab 17: positions in a database, and what a late answer, a stop and a new name do to them."""

from __future__ import annotations

from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.history.positions import with_positions
from kafkalab.programs.booking import INPUT, OUTPUT, PAYMENTS, RECEIPTS
from kafkalab.programs.database import rows
from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario

VALUES = ("ann 10", "bob 5", "cyd 7")
PROFILE = "4.x/TV1"
"""Protocol 1, as in the reports: a producer knows of its transaction once AddPartitionsToTxn is answered."""
LATE_MS, END_MS, AGAIN_MS, AFTER_TIMEOUT_MS, WAKES_MS = 2_000, 10_000, 15_000, 90_000, 40_000
ONCE, LOST, TWICE = WORDS = ("once", "lost", "twice")
SENT, CHECKPOINT, COMMITTED = MOMENTS = ("sent", "checkpoint", "committed")
COMMIT, ABORT, WAIT = ENDINGS = ("commit", "abort", "wait")
CRASHES, SLEEPS = STOPS = ("crashes", "sleeps")
STRUCK = 1
"""The offset of the payment in whose transaction the first process stops: bob's."""


def base_scenario(title: str, seed: int, profile: str, *programs: Program) -> Scenario:
    """Return a cluster of one broker with three payments and no receipt."""
    return Scenario(
        title=title, seed=seed, profile=profile, brokers=1, topics={PAYMENTS: 1, RECEIPTS: 1}, records={INPUT: VALUES},
        programs=programs,
    )  # fmt: skip


def job_program(node: str = "job", **more: object) -> Program:
    """Return the program of the job with checkpoints, for all payments unless `more` says how many."""
    return Program(node, "job_with_checkpoints", {"payments": len(VALUES), **more})


@register_scenario
def lab17(late: bool = True, flushes: bool = False, seed: int = 1, profile: str = PROFILE) -> Scenario:
    """A job looks whether a transaction has begun, and the answer that says so comes after the checkpoint if `late`."""
    title = "A checkpoint that says there is nothing to commit"
    base = base_scenario(title, seed, profile, job_program(flushes=flushes))
    return base.with_faults(Delay("AddPartitionsToTxnResponse#3", LATE_MS)) if late else base


def chapters_of(scenario: Scenario) -> dict[str, int]:
    """Return the step at which each chapter begins."""
    return {event.data["name"]: event.step for event in ran(scenario).trace.of("state", "chapter")}


@register_scenario
def stopped_job(moment: str = CHECKPOINT, ending: str = WAIT, seed: int = 1, profile: str = PROFILE) -> Scenario:
    """A job stops at a moment of bob's payment, somebody ends the transaction that it left, and the job starts again.

    `moment` is one of MOMENTS. `ending` is "commit" (what a job can do that knows its producer id), "abort" (an
    administrator, through the coordinator) or "wait", for the timeout. ValueError for others.
    """
    if moment not in MOMENTS or ending not in ENDINGS:
        raise ValueError(f"moment is one of {', '.join(MOMENTS)}, and ending one of {', '.join(ENDINGS)}")
    title = f"A job that stops after {moment!r}: {ending}"
    calm = base_scenario(title, seed, profile, job_program())
    name = f"job-{STRUCK}"
    programs = end_by(ending, name, ran(calm).trace.frames[f"InitProducerIdResponse#{STRUCK + 1}"].body)
    again = job_program("again", start_after_ms=AFTER_TIMEOUT_MS if ending == WAIT else AGAIN_MS)
    base = base_scenario(title, seed, profile, job_program(), *programs, again)
    return base.with_faults(Crash("job", at_step=chapters_of(calm)[f"{moment} {STRUCK}"]))


def end_by(ending: str, name: str, init: InitProducerIdResponse) -> tuple[Program, ...]:
    """Return the program that ends the transaction of this `transactional.id`; none for "wait".

    `init` is the answer that gave the job its producer id and epoch: "commit" needs both.
    """
    if ending == COMMIT:
        end = {
            "transactional_id": name, "producer_id": init.producer_id, "producer_epoch": init.producer_epoch,
            "committed": True,
        }  # fmt: skip
        ask = {"ask": "EndTxn", "to": f"coordinator of {name}", "version": 4, "with": end}
        return (Program("resume", "raw_requests", {"steps": [{"at": END_MS}, ask]}),)
    if ending == ABORT:
        arguments = {"at_ms": END_MS, "transactional_id": name}
        return (Program("admin", "force_terminate_transaction", arguments),)
    return ()


@register_scenario
def restarted_task(
    same_name: bool = False, stop: str = SLEEPS, moment: str = SENT, seed: int = 1, profile: str = PROFILE
) -> Scenario:
    """A connector's task crashes or sleeps at a moment of bob's payment, and another one takes over.

    Its name is the same, or a random one of its own. One that sleeps wakes up at 40 s. ValueError for a `stop` that
    is none of STOPS, or a `moment` that is neither "sent" nor "checkpoint".
    """
    if stop not in STOPS or moment not in MOMENTS[:2]:
        raise ValueError(f"stop is {' or '.join(STOPS)}, and moment {' or '.join(MOMENTS[:2])}")
    first, second = ("copy", "copy") if same_name else ("copy-7f3a", "copy-c01e")
    task = Program("task", "connector_task", {"payments": len(VALUES), "transactional_id": first})
    next_ = {"payments": len(VALUES), "transactional_id": second, "start_after_ms": AGAIN_MS}
    title = f"A task that {stop} after {moment!r}, and one with {'the same' if same_name else 'another'} name"
    step = chapters_of(base_scenario(title, seed, profile, task))[f"{moment} {STRUCK}"]
    base = base_scenario(title, seed, profile, task, Program("task-2", "connector_task", next_))
    if stop == CRASHES:
        return base.with_faults(Crash("task", at_step=step))
    return base.with_faults(Pause("task", at_step=step), Resume("task", at_ms=WAKES_MS))


def fate(cluster: Cluster) -> str:
    """Return "lost" if a payment has no committed receipt, "twice" if one has two, else "once"."""
    committed = cluster.outcome().committed[OUTPUT]
    payments = [value for values in cluster.scenario.records.values() for value in values]
    counts = [committed.count(f"receipt {value}") for value in payments]
    return LOST if 0 in counts else TWICE if max(counts) > 1 else ONCE


def find_ills(cluster: Cluster, may_wait: bool = False) -> str:
    """Return what a run should not have, in a sentence without its end; "" if it has nothing of it.

    That is a payment with no committed receipt or with two, and, unless it `may_wait`, a transaction that its timeout
    ended.
    """
    of_fate = {LOST: "a payment has no receipt", TWICE: "a payment has two receipts", ONCE: ""}[fate(cluster)]
    waited = not may_wait and cluster.trace.of("state", "timeout")
    return " and ".join(filter(None, (of_fate, "a transaction stays open until its timeout" if waited else "")))


def positions_of(cluster: Cluster) -> dict[str, int]:
    """Return what the table `positions` of a run's database holds."""
    return dict(rows(cluster, "SELECT partition, next FROM positions"))


def judged_history(cluster: Cluster, known: bool = True) -> History:
    """Return a run's history with the positions of its database; unless `known`, with positions that are unknown."""
    return with_positions(history_of(cluster), PAYMENTS, positions_of(cluster) if known else "unknown")
