"""L6.E3: two instances, one name: whose charge counts in the end? Every row is found by running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from kafkalab.course.lab06.scenario import two_charges
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.billing import CHARGES
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

WORDS = ("till-1", "till-2", "both", "none")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "both", 2: ...}}'
SECOND: Mapping[str, Any] = {"start_ms": 1_000, "send_ms": 2_500, "commit_ms": 3_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One schedule: what it says, the arguments of both instances, and what fails."""

    says: str
    look: str
    first: Mapping[str, Any] = field(default_factory=dict)
    second: Mapping[str, Any] | None = field(default_factory=lambda: dict(SECOND))
    faults: tuple[Fault, ...] = ()
    misses: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Row(
        says="till-1 has written; till-2 calls init_transactions(); till-1 commits; till-2 writes and commits",
        look="What does init_transactions() do to a transaction that is open under its name?",
        misses={"both": "init is harmless", "till-1": "init is harmless"},
    ),
    Row(
        says="the same, but till-2 has another transactional id",
        look="To whom does the coordinator compare a name that it has never seen?",
        second={**SECOND, "transactional_id": "billing-1"},
    ),
    Row(
        says="till-1 has written; till-2 is made with the same id, and never calls init_transactions(); till-1 commits",
        look="Which frame would have told the coordinator of till-2?",
        second={**SECOND, "init": False},
        misses={"none": "the name alone fences", "till-2": "the name alone fences"},
    ),
    Row(
        says="till-1 has committed; then till-2 calls init_transactions(), writes and commits",
        look="What is fenced: an instance, or what it has committed?",
        first={"commit_ms": 700},
    ),
    Row(
        says="till-1 has written; till-2 calls init_transactions() and crashes; till-1 commits",
        look="Is till-1 asked whether its successor is still alive?",
        faults=(Crash("till-2", at_ms=1_700),),
        misses={"till-1": "the zombie comes back"},
    ),
    Row(
        says="till-1's commit is decided, its answer is lost, and till-1 crashes; then till-2 starts, writes and "
        "commits",
        look="What does init_transactions() do with a transaction that is decided already?",
        first={"commit_ms": 900},
        faults=(Drop("EndTxnResponse#1"), Crash("till-1", at_ms=950)),
        misses={"till-2": "decided is decided"},
    ),
    Row(
        says="till-1 has written and crashes; till-2 never starts",
        look="Who is left that could commit? Who ends it then, and when?",
        second=None,
        faults=(Crash("till-1", at_ms=1_000),),
        misses={"till-1": "written is not committed"},
    ),
    Row(
        says="till-2 has called init_transactions(); the coordinator crashes and another takes over; till-1 commits, "
        "then till-2 writes and commits",
        look="Where is it written down that the epoch has risen? Who reads it?",
        first={"commit_ms": 20_000},
        second={**SECOND, "send_ms": 21_000, "commit_ms": 22_000},
        faults=(Crash("b1", at_ms=1_800),),
        misses={"both": "epochs die with the coordinator", "till-1": "epochs die with the coordinator"},
    ),
    Row(
        says="till-1 has only begun; till-2 calls init_transactions(), writes and commits; then till-1 writes and "
        "commits",
        look="begin_transaction() sends nothing. Who notices till-1, and at which frame?",
        first={"send_ms": 4_000, "commit_ms": 4_500},
        misses={"both": "begin protects", "till-1": "begin protects"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's schedule, with the latencies of this seed."""
    second = dict(row.second) if row.second is not None else None
    return two_charges(dict(row.first), second, *row.faults, seed=of_seed, title=row.says)


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row with whose charges a read_committed reader finds in the end."""
    return facts_of(ROWS, partial(scenario, of_seed), _find_charge, _last_marker)


def _last_marker(cluster: Cluster) -> int:
    """The step at which the log of charges gets its last entry, a marker; the last step if it gets none."""
    appended = cluster.trace.of("append", f"{CHARGES}-0")
    return appended[-1].step if appended else cluster.trace.steps - 1


def _find_charge(cluster: Cluster) -> str:
    charges = cluster.outcome().committed[f"{CHARGES}-0"]
    return "both" if len(charges) == 2 else charges[0] if charges else "none"


EXERCISE = Exercise(
    "L6.E3",
    rows(facts, WORDS, FORM),
    (
        "init_transactions() is the moment. It raises the epoch in the coordinator's log, and ends what is open under "
        "that name. What is done is not undone.",
        "Ask three questions of each row. Is till-1's transaction decided when till-2 calls "
        "init_transactions()? Does till-2 call it at all, under that name? And who commits afterwards, with the newest "
        "epoch?",
        "A transaction that is open is aborted, one that is decided is finished. Whoever has an older epoch commits "
        "nothing any more, whether its successor lives or not, and whichever broker coordinates.",
    ),
    points=9,
    questions=(14, 17),
    misses={
        "init is harmless": 0,
        "the name alone fences": "Making a producer sends nothing. Only init_transactions() asks the coordinator.",
        "the zombie comes back": "The epoch was raised when till-2 called init_transactions(). Does a crash of till-2 "
        "lower it again?",
        "decided is decided": "PrepareCommit of till-1 stands in the log. What does the coordinator do with it when "
        "till-2 calls init_transactions()?",
        "written is not committed": "Records that are written wait for a marker. Without a commit they get an ABORT "
        "marker when transaction.timeout.ms has passed.",
        "epochs die with the coordinator": "The epoch stands in __transaction_state, which is replicated. The next "
        "coordinator reads it.",
        "begin protects": "begin_transaction() is a note in the client. The first frame after it carries the old "
        "epoch.",
    },
    afterwards=(
        "Why: init_transactions() is the moment that counts. It aborts what is open, finishes what is decided, "
        "and raises the epoch in a replicated log. Next: lab 12 looks for zombies in millions of records."
    ),
)
