"""L2.E3: the coordinator dies; who answers what, and when? Every row is found by asking by hand in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from kafkalab.course.lab02.scenario import raw_requests_after
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Restart
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.steps import Step, init, sleep
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

SILENCE = "no answer"
WORDS = ("NONE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", SILENCE)
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "NONE", 2: ...}}'
CRASH_MS = 200
LOAD_MS = 1_000
"""The time that a new coordinator of these runs takes to read its log."""

FIND: Step = {"ask": "FindCoordinator", "to": "b1", "with": {"key": TRANSACTIONAL_ID, "key_type": 1}}


def _ask(to: str) -> Step:
    given = {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": 60_000}
    return {"ask": "InitProducerId", "to": to, "with": given, "version": 4}


CRASH = Crash("b3", at_ms=CRASH_MS)


@dataclass(frozen=True, slots=True)
class Row:
    """One request, sent `after_ms` after the coordinator's crash; `faults` are what happens, the crash included.

    Without `after_ms` the request is the first of a new cluster.
    """

    says: str
    look: str
    ask: Step
    after_ms: int = -1
    faults: tuple[Fault, ...] = (CRASH,)
    misses: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Row("FindCoordinator, sent to b1 one second after b3's crash",
        "Whom does b1 take for alive? When does it hear of the crash?",
        FIND, 1_000, misses=dict.fromkeys(WORDS[1:4], "everybody knows at once")),
    Row("InitProducerId, sent to b3 one second after its crash",
        "Who could answer there?",
        _ask("b3"), 1_000),
    Row("InitProducerId, sent to b1 one second after b3's crash",
        "b1 will lead the partition later. Does it now?",
        _ask("b1"), 1_000, misses={"NONE": "any broker will do"}),
    Row("InitProducerId, sent to b1 when it has just become the leader of the partition",
        "Where will b1 get from what b3 knew? What must it do before it can answer?",
        _ask("b1"), 9_500),
    Row("InitProducerId, sent to b1 twelve seconds after b3's crash",
        "What has b1 done by then?",
        _ask("b1"), 12_000),
    Row("InitProducerId, sent to b2 twelve seconds after b3's crash",
        "b2 has a copy of that log, too. Is a copy enough?",
        _ask("b2"), 12_000, misses={"NONE": "any broker will do"}),
    Row("InitProducerId, sent to b3, which has started again meanwhile",
        "Who leads the partition now? Does whoever led it before get it back at once?",
        _ask("b3"), 15_000, faults=(CRASH, Restart("b3", at_ms=12_000)), misses={"NONE": "the role is the broker's"}),
    Row("FindCoordinator, sent to b1, when b1 is the only broker left",
        "Is there a live leader of the partition? That is all that this question is about.",
        FIND, 30_000, faults=(CRASH, Crash("b2", at_ms=12_000))),
    Row("InitProducerId, sent to b1, when b1 is the only broker left",
        "To answer, b1 must write. How many replicas must have an entry of this log?",
        _ask("b1"), 30_000, faults=(CRASH, Crash("b2", at_ms=12_000))),
    Row("FindCoordinator, the first one that a new cluster ever gets",
        "Where would the coordinator keep what it knows? Does that topic exist?",
        FIND, faults=()),
)  # fmt: skip


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's run: the id is in use, then comes what happens, and last the request."""
    fresh = row.after_ms < 0
    before = [] if fresh else [init(TRANSACTIONAL_ID), sleep(CRASH_MS + row.after_ms)]
    load = {"coordinator_load_ms": LOAD_MS}
    return raw_requests_after([*before, row.ask], *row.faults, seed=of_seed, fresh=fresh, config=load)


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """The rows with the answer that each request got in its run."""
    return facts_of(ROWS, partial(scenario, of_seed), _read_answer, _find_request)


def _find_request(cluster: Cluster) -> int:
    """The step at which the row's request is sent."""
    api = cluster.results["app"][-1][0]
    return max(f.sent_step for f in cluster.trace.frames.values() if (f.name, f.sender) == (api, "app"))


def _read_answer(cluster: Cluster) -> str:
    error: str = cluster.results["app"][-1][1]
    return SILENCE if error == "NETWORK_EXCEPTION" else error


EXERCISE = Exercise(
    "L2.E3",
    rows(facts, WORDS, FORM),
    (
        "Only the leader of the partition is the coordinator, and only when it has read the log. All others refuse.",
        "A crash is noticed after nine seconds without a sign of life; until then every broker tells what it has "
        "always told. After that the next replica leads, reads the log (here for a second), and answers.",
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
    afterwards=(
        "Why: FindCoordinator needs a live leader that the controller has named; InitProducerId also needs that "
        "leader to have read its log and to have enough in-sync replicas to write. Next: lab 3 follows a "
        "transaction to its decision."
    ),
)
