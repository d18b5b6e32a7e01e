"""Make the parts of lab 17's scenarios and exercises: the job, the task, its stop, and the end of its transaction."""

from __future__ import annotations

from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.programs.booking import INPUT, PAYMENTS, RECEIPTS
from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

VALUES = ("ann 10", "bob 5", "cyd 7")
PROFILE = "4.x/TV1"
"""Protocol 1, as in the reports: a producer knows of its transaction once AddPartitionsToTxn is answered."""
LATE_MS, END_MS, AGAIN_MS, AFTER_TIMEOUT_MS, WAKES_MS = 2_000, 10_000, 15_000, 90_000, 40_000
ONCE, LOST, TWICE = WORDS = ("once", "lost", "twice")
SENT, CHECKPOINT, COMMITTED = MOMENTS = ("sent", "checkpoint", "committed")
COMMIT, ABORT, WAIT = ENDINGS = ("commit", "abort", "wait")
CRASHES, SLEEPS = STOPS = ("crashes", "sleeps")
FIRST, SECOND = "task", "task-2"
"""The nodes of two attempts of a task, or of two tasks."""
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


def task_program(node: str, name: str, **more: object) -> Program:
    """Return the program of a connector's task with this `transactional.id`, for all payments."""
    return Program(node, "connector_task", {"payments": len(VALUES), "transactional_id": name, **more})


def restart_task(title: str, seed: int, profile: str, names: tuple[str, str], stop: str, moment: str) -> Scenario:
    """Return the scenario in which the first attempt crashes, or sleeps until 40 s, at a moment of bob's payment.

    The second attempt takes over at 15 s. `names` are the `transactional.id` of each.
    """
    first, second = task_program(FIRST, names[0]), task_program(SECOND, names[1], start_after_ms=AGAIN_MS)
    step = chapters_of(base_scenario(title, seed, profile, first))[f"{moment} {STRUCK}"]
    both = base_scenario(title, seed, profile, first, second)
    if stop == CRASHES:
        return both.with_faults(Crash(FIRST, at_step=step))
    return both.with_faults(Pause(FIRST, at_step=step), Resume(FIRST, at_ms=WAKES_MS))


def chapters_of(scenario: Scenario) -> dict[str, int]:
    """Return the step at which each chapter begins."""
    return {event.data["name"]: event.step for event in ran(scenario).trace.of("state", "chapter")}


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
