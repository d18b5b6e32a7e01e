"""The scenarios of lab 17: positions in a database, and what a late answer, a stop and a new name do to them."""

from __future__ import annotations

from kafkalab.course.lab17.parts import (
    AFTER_TIMEOUT_MS,
    AGAIN_MS,
    CHECKPOINT,
    ENDINGS,
    LATE_MS,
    LOST,
    MOMENTS,
    ONCE,
    PROFILE,
    SENT,
    SLEEPS,
    STOPS,
    STRUCK,
    TWICE,
    WAIT,
    base_scenario,
    chapters_of,
    end_by,
    job_program,
    restart_task,
)
from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.history.positions import with_positions
from kafkalab.programs.booking import OUTPUT, PAYMENTS
from kafkalab.programs.database import rows
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab17(late: bool = True, flushes: bool = False, seed: int = 1, profile: str = PROFILE) -> Scenario:
    """A job looks whether a transaction has begun, and the answer that says so comes after the checkpoint if `late`."""
    title = "A checkpoint that says there is nothing to commit"
    base = base_scenario(title, seed, profile, job_program(flushes=flushes))
    return base.with_faults(Delay("AddPartitionsToTxnResponse#3", LATE_MS)) if late else base


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
    names = ("copy", "copy") if same_name else ("copy-7f3a", "copy-c01e")
    title = f"A task that {stop} after {moment!r}, and one with {'the same' if same_name else 'another'} name"
    return restart_task(title, seed, profile, names, stop, moment)


def fate(cluster: Cluster) -> str:
    """Return "lost" if a payment has no committed receipt, "twice" if one has two, else "once"."""
    committed = cluster.outcome().committed[OUTPUT]
    payments = [value for values in cluster.scenario.records.values() for value in values]
    counts = [committed.count(f"receipt {value}") for value in payments]
    return LOST if 0 in counts else TWICE if max(counts) > 1 else ONCE


def positions_of(cluster: Cluster) -> dict[str, int]:
    """Return what the table `positions` of a run's database holds."""
    return dict(rows(cluster, "SELECT partition, next FROM positions"))


def judged_history(cluster: Cluster, known: bool = True) -> History:
    """Return a run's history with the positions of its database; unless `known`, with positions that are unknown."""
    return with_positions(history_of(cluster), PAYMENTS, positions_of(cluster) if known else "unknown")
