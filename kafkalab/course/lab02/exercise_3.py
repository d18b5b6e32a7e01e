"""L2.E3: the coordinator dies; who answers what, and when? Every row is found by asking by hand in a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from kafkalab.course.lab02.scenario import raw_requests_after
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, table
from kafkalab.grading.seeds import seed
from kafkalab.programs.steps import Step, init, sleep
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Crash, Fault, Restart
from kafkalab.sim.scenario import Scenario

SILENCE = "no answer"
WORDS = ("NONE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", SILENCE)
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "NONE", 2: ...}}'
CRASH_MS = 200
LOAD_MS = 1_000
"""How long a new coordinator of these runs reads its log."""

FIND: Step = {"ask": "FindCoordinator", "to": "b1", "with": {"key": TRANSACTIONAL_ID, "key_type": 1}}


def _ask(to: str) -> Step:
    given = {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": 60_000}
    return {"ask": "InitProducerId", "to": to, "with": given, "version": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request, sent `after_ms` after the coordinator's crash; `faults` are what happens besides.

    With `fresh` nothing crashes, and the request is the first of a new cluster.
    """

    says: str
    ask: Step
    look: str
    after_ms: int = 0
    faults: tuple[Fault, ...] = ()
    fresh: bool = False


CRASH = Crash("b3", at_ms=CRASH_MS)
ROWS = (
    Row(
        says="FindCoordinator, sent to b1 one second after b3's crash",
        ask=FIND,
        after_ms=1_000,
        faults=(CRASH,),
        look="Whom does b1 take for alive? When does it hear of the crash?",
    ),
    Row(
        says="InitProducerId, sent to b3 one second after its crash",
        ask=_ask("b3"),
        after_ms=1_000,
        faults=(CRASH,),
        look="Who could answer there?",
    ),
    Row(
        says="InitProducerId, sent to b1 one second after b3's crash",
        ask=_ask("b1"),
        after_ms=1_000,
        faults=(CRASH,),
        look="b1 will lead the partition later. Does it now?",
    ),
    Row(
        says="InitProducerId, sent to b1 when it has just become the leader of the partition",
        ask=_ask("b1"),
        after_ms=9_500,
        faults=(CRASH,),
        look="Where will b1 get from what b3 knew? What must it do before it can answer?",
    ),
    Row(
        says="InitProducerId, sent to b1 twelve seconds after b3's crash",
        ask=_ask("b1"),
        after_ms=12_000,
        faults=(CRASH,),
        look="What has b1 done by then?",
    ),
    Row(
        says="InitProducerId, sent to b2 twelve seconds after b3's crash",
        ask=_ask("b2"),
        after_ms=12_000,
        faults=(CRASH,),
        look="b2 has a copy of that log, too. Is a copy enough?",
    ),
    Row(
        says="InitProducerId, sent to b3, which has started again meanwhile",
        ask=_ask("b3"),
        after_ms=15_000,
        faults=(CRASH, Restart("b3", at_ms=12_000)),
        look="Who leads the partition now? Does whoever led it before get it back at once?",
    ),
    Row(
        says="FindCoordinator, sent to b1, when b1 is the only broker left",
        ask=FIND,
        after_ms=30_000,
        faults=(CRASH, Crash("b2", at_ms=12_000)),
        look="Is there a live leader of the partition? That is all that this question is about.",
    ),
    Row(
        says="InitProducerId, sent to b1, when b1 is the only broker left",
        ask=_ask("b1"),
        after_ms=30_000,
        faults=(CRASH, Crash("b2", at_ms=12_000)),
        look="To answer, b1 must write. How many replicas must have an entry of this log?",
    ),
    Row(
        says="FindCoordinator, the first one that a new cluster ever gets",
        ask=FIND,
        fresh=True,
        look="Where would the coordinator keep what it knows? Does that topic exist?",
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's run: the id is in use, then comes what happens, and last the request."""
    before = [] if row.fresh else [init(TRANSACTIONAL_ID), sleep(CRASH_MS + row.after_ms)]
    load = {"coordinator_load_ms": LOAD_MS}
    return raw_requests_after([*before, row.ask], *row.faults, seed=of_seed, fresh=row.fresh, config=load)


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """The rows with the answer that each request got in its run."""
    found = []
    for number, row in enumerate(ROWS, 1):
        cluster = Cluster(scenario(of_seed, row))
        cluster.run()
        error = cluster.results["app"][-1][1]
        truth = SILENCE if error == "NETWORK_EXCEPTION" else error
        run = partial(scenario, of_seed, row)
        found.append(Fact(name=number, says=row.says, truth=truth, look=row.look, run=run, misses=MISSES.get(number)))
    return tuple(found)


MISSES = {
    1: dict.fromkeys(WORDS[1:4], "everybody knows at once"),
    3: {"NONE": "any broker will do"},
    6: {"NONE": "any broker will do"},
    7: {"NONE": "the role is the broker's"},
}


def check(answer: Any) -> str:
    """How many rows are right, if all are; WrongAnswer names the first that is not, and its run."""
    return table(answer, facts(seed()), WORDS, FORM)


EXERCISE = Exercise(
    "L2.E3",
    check,
    (
        "Only the leader of the partition is the coordinator, and only when it has read the log. All others refuse.",
        "A crash is noticed after nine seconds without a sign of life; until then every broker tells what it "
        "has always "
        "told. After that the next replica leads, reads the log (here for a second), and answers.",
        "FindCoordinator needs a leader that lives, InitProducerId moreover one that may write: two replicas in sync "
        '(transaction.state.log.min.isr). Where either is not there, the coordinator is "not available".',
    ),
    points=10,
    questions=(18,),
    misses={
        "everybody knows at once": 1,
        "any broker will do": 0,
        "the role is the broker's": "The role goes with the leadership of the partition. A broker that comes back is a "
        "replica first, and leads nothing.",
    },
)
