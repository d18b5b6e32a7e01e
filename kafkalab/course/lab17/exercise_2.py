"""L17.E2: commit, abort or wait: the learner's function decides about a silent job's transaction, and runs judge it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.course.lab17.ills import find_ills
from kafkalab.course.lab17.parts import (
    ABORT,
    AFTER_TIMEOUT_MS,
    CHECKPOINT,
    COMMIT,
    COMMITTED,
    END_MS,
    ENDINGS,
    PROFILE,
    SENT,
    WAIT,
    WAKES_MS,
    base_scenario,
    chapters_of,
    end_by,
    job_program,
)
from kafkalab.course.lab17.scenario import positions_of
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Mutant, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.grading.trials import Trial, against_trials
from kafkalab.programs.booking import INPUT
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

FORM = f"a function decide(job) that returns one of {', '.join(map(repr, ENDINGS))}"
STOPPED, WAKES, DIES = "stopped", "wakes", "dies"
"""Why a job is silent: its process is gone, or it sleeps, and goes on later, or crashes before it wakes up."""
KINDS = (
    (STOPPED, SENT, 4), (STOPPED, CHECKPOINT, 4), (STOPPED, COMMITTED, 3), (WAKES, SENT, 3), (DIES, SENT, 3),
    (WAKES, CHECKPOINT, 3),
)  # fmt: skip
"""With the moment of the silence, and the number of trials."""
DIES_MS = 30_000
NAMES = ("copier", "booker", "sink", "loader")
PEOPLE = ("ann", "bob", "cyd", "dee", "eve")
Job = dict[str, Any]


def _calm(random: Random, job: str, payments: int) -> Scenario:
    """The job with nobody to disturb it."""
    values = tuple(f"{name} {random.randint(1, 99)}" for name in PEOPLE[:payments])
    program = job_program(payments=payments, job=job)
    title = f"The job {job} is silent"
    return replace(base_scenario(title, random.randint(1, 10_000), PROFILE, program), records={INPUT: values})


def _make_run(calm: Scenario, why: str, moment: str, struck: int, ending: str) -> Scenario:
    """The run in which the job falls silent, somebody decides at END_MS, and the job starts again at 90 s."""
    (first,) = calm.programs
    name, step = f"{first.args['job']}-{struck}", chapters_of(calm)[f"{moment} {struck}"]
    init = ran(calm).trace.frames[f"InitProducerIdResponse#{struck + 1}"].body
    again = replace(first, node="again", args={**first.args, "start_after_ms": AFTER_TIMEOUT_MS})
    faults = {
        STOPPED: (Crash("job", at_step=step),),
        WAKES: (Pause("job", at_step=step), Resume("job", at_ms=WAKES_MS)),
        DIES: (Pause("job", at_step=step), Crash("job", at_ms=DIES_MS)),
    }[why]
    title = f"{calm.title}: {ending}"
    return replace(calm, title=title, programs=(first, *end_by(ending, name, init), again)).with_faults(*faults)


def _trial(random: Random, why: str, moment: str, struck: int) -> Trial:
    """The moment in the life of some job, as an operator sees it, and its run by what is decided."""
    job, payments = f"{random.choice(NAMES)}-{random.randrange(60)}", random.randint(struck + 1, len(PEOPLE))
    decided = partial(_make_run, _calm(random, job, payments), why, moment, struck)
    seen = Cluster(decided(WAIT))
    seen.run_for(END_MS - 1)
    name = f"{job}-{struck}"
    facts: Job = {
        "transactional_id": name,
        "state": seen.outcome().txn_states[name],
        "offset": struck,
        "position": positions_of(seen).get(INPUT),
        "running": why != STOPPED,
    }
    return Trial(
        calls=((facts,),), scenario=decided, find_ills=partial(find_ills, may_wait=why != STOPPED), find_step=_silence
    )  # fmt: skip


def _silence(cluster: Cluster) -> int:
    """Return the step at which the job stops or falls asleep."""
    return min(event.step for kind in ("crash", "fault") for event in cluster.trace.of(kind) if event.node == "job")


@cache
def trials(of_seed: int) -> tuple[Trial, ...]:
    """Some moments of each kind; the first of each is in the job's first transaction."""
    random = random_for("L17.E2", of_seed)
    found = [
        _trial(random, why, moment, random.randrange(1, len(PEOPLE)) if number else 0)
        for why, moment, count in KINDS
        for number in range(count)
    ]
    random.shuffle(found)
    return tuple(found)


def decide(
    job: Job,
    *,
    done: str = COMMIT,
    again: str = ABORT,
    last_done: bool = False,
    none_waits: bool = False,
    asleep_is_gone: bool = False,
) -> str:
    """Return the decision with some of the reasons switched; with none of them every run ends well."""
    position = job["position"]
    if job["state"] != "Ongoing" or (job["running"] and not asleep_is_gone) or (position is None and none_waits):
        return WAIT
    return done if position is not None and position + last_done > job["offset"] else again


MUTANTS = (
    Mutant(
        "commit is always safe", "to commit what a stopped job left open were always right",
        partial(decide, again=COMMIT),
        hint="If the position is not stored yet: what does the job do with this payment after its restart?",
    ),
    Mutant(
        "abort is always safe", "to abort what a stopped job left open were always right", partial(decide, done=ABORT),
        hint="If the position is past the payment: does the job ever read it again?",
    ),
    Mutant(
        "abort without a look", "to abort were right, whatever the job does", lambda job: ABORT,
        hint="After an abort: who makes this receipt, if the job is at work, or if its position is past the payment?",
    ),
    Mutant(
        "waiting is harmless", "the timeout did no harm", lambda job: WAIT,
        hint="What does the coordinator do after transaction.timeout.ms, and which readers wait until then?",
    ),
    Mutant(
        "sent is done", "the checkpoint decided the other way round: what is past it were safe to abort",
        partial(decide, done=ABORT, again=COMMIT),
        hint=1,
    ),
    Mutant(
        "the position is done", "the payment at the position were done already", partial(decide, last_done=True),
        hint="A position is the next offset to read. Is the payment at this offset done?",
    ),
    Mutant(
        "no position, nothing known", "without a stored position nothing were known", partial(decide, none_waits=True),
        hint="No row in the table: the job has stored nothing yet. With which offset does it begin after its restart?",
    ),
    Mutant(
        "silent is gone", "a job that is silent were gone", partial(decide, asleep_is_gone=True),
        hint="The process is still there. It may wake up and go on, or crash: which decision is right for both?",
    ),
)  # fmt: skip


def why_not(value: object) -> str:
    """Return why the value is no decision; "" if it is one."""
    return "" if value in ENDINGS else f"a decision is one of {', '.join(map(repr, ENDINGS))}"


EXERCISE = Exercise(
    "L17.E2",
    lambda answer: against_trials(answer, trials(seed()), MUTANTS, FORM, why_not),
    (
        "Two questions about a job that has stopped: does it read this payment again, and does the receipt that it "
        "left open count? And one before them: has it stopped at all?",
        "If the position is not past the payment, the job reads it again, so the old receipt must not count. If it is "
        "past the payment, the job never reads it again, so the old receipt must count.",
        'If the job runs, or the state is not "Ongoing", "wait". Otherwise "commit" if position is not None and '
        'position > offset, and else "abort".',
    ),
    points=5,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: [facts for trial in trials(of_seed) for (facts,) in trial.calls],
    afterwards=(
        "Why: position and transaction must have the same end. Only the job's checkpoint tells which end that is, so "
        "let the job itself decide, in time. Next: a task whose name changes with each start."
    ),
)
