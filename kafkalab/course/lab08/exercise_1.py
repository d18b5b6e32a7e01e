"""L8.E1: how many COMMIT markers has each account after a failover? Every row is found by running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from kafkalab.course.lab08.scenario import one_transfer
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop, Duplicate
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.failover import ACCOUNTS, PAYMENTS
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.protocol.records import ControlType
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event, Trace

WORDS = ("1 + 1", "1 + 2", "2 + 1", "2 + 2", "0 + 0")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "1 + 1", 2: ...}}'
COORDINATOR = "b3"
LOG = f"{TRANSACTION_TOPIC}-{partition_for(PAYMENTS)}"
Find = Callable[[Trace, Event], bool]
FIRST, SECOND = "WriteTxnMarkers#1", "WriteTxnMarkers#2"
"""To b1 for accounts-0, and to b2 for accounts-1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run's faults: frames lost or doubled, a request whose answer is lost, nodes that crash right after an event.

    Nobody is started again.
    """

    says: str
    look: str
    faults: tuple[Fault, ...] = ()
    lost_answer: str = ""
    nodes: tuple[str, ...] = ()
    after: Find | None = None
    misses: Mapping[str, str] = field(default_factory=dict)

    def plan_faults(self, trace: Trace) -> tuple[Fault, ...]:
        """The row's faults, for a run that begins as this one does."""
        lost = (Drop(_answer_to(trace, self.lost_answer)),) if self.lost_answer else ()
        if self.after is None:
            return (*self.faults, *lost)
        steps = [e.step for e in trace.events if self.after(trace, e)]
        assert steps, f"no run is without the event of the row {self.says}"
        return (*self.faults, *lost, *(Crash(node, at_step=steps[0]) for node in self.nodes))


def _answer_to(trace: Trace, request: str) -> str:
    return next(f.id for f in trace.frames.values() if f.of == request)


def _durable(state: str) -> Find:
    """Every in-sync replica has this state of the transaction."""
    now = (state, "")
    return lambda _, e: (e.kind, e.name) == ("state", "transaction") and (e.data["state"], e.data["pending"]) == now


def _match_state(state: str) -> Find:
    """The coordinator has this state in its own log, and nobody else has."""
    return lambda _, e: (
        (e.kind, e.node, e.name) == ("append", COORDINATOR, LOG)
        and any(r.key == PAYMENTS and r.value.state.label == state for r in e.data.records)
    )


def _has_answers(trace: Trace, event: Event) -> bool:
    """The coordinator has the answers to both requests."""
    answers = [trace.frames[_answer_to(trace, request)] for request in (FIRST, SECOND)]
    return event.step == max(frame.received_step for frame in answers)


def _about_to_answer(trace: Trace, event: Event) -> bool:
    """The leader of accounts-0 sends its answer: all replicas have its marker."""
    return (event.kind, event.frame) == ("send", _answer_to(trace, FIRST))


def _first_answered(trace: Trace, event: Event) -> bool:
    return (event.kind, event.frame) == ("receive", _answer_to(trace, FIRST))


def _marker_appended(_: Trace, event: Event) -> bool:
    """The leader of accounts-0 has its marker, and nobody else has."""
    what = (event.kind, event.node, event.name)
    return what == ("append", "b1", f"{ACCOUNTS}-0") and event.data.control is not None


ROWS: tuple[Row, ...] = (
    Row(
        says="b3 crashes right after every in-sync replica has PrepareCommit",
        look="What has been sent to b1 and b2 by then? Who sends it now?",
        nodes=(COORDINATOR,),
        after=_durable("PrepareCommit"),
        misses={"0 + 0": "the decision dies with its coordinator", "2 + 2": "always twice"},
    ),
    Row(
        says="app and b3 crash right after b3 appends PrepareCommit, which nobody has copied",
        look="Which entry of the transaction is the last one in the log that the next coordinator reads?",
        nodes=("app", COORDINATOR),
        after=_match_state("PrepareCommit"),
        misses={"1 + 1": "one copy decides"},
    ),
    Row(
        says="the marker for accounts-1 is lost; b3 crashes before it sends it again",
        look="What does the log say of the markers that were written? What does the next coordinator know, then?",
        faults=(Drop(SECOND),),
        nodes=(COORDINATOR,),
        after=_first_answered,
        misses={"1 + 1": "only what is missing"},
    ),
    Row(
        says="b3 crashes right after it has both answers to WriteTxnMarkers",
        look="CompleteCommit is in no other log yet. What does the next coordinator find?",
        nodes=(COORDINATOR,),
        after=_has_answers,
        misses={"1 + 1": "only what is missing"},
    ),
    Row(
        says="b3 crashes right after every in-sync replica has CompleteCommit",
        look="What is left to do for the next coordinator?",
        nodes=(COORDINATOR,),
        after=_durable("CompleteCommit"),
        misses={"2 + 2": "always twice"},
    ),
    Row(
        says="b1's answer to WriteTxnMarkers is lost; nobody crashes",
        look="How does b3 tell a lost answer from a lost request? Does b1 know a marker again?",
        lost_answer=FIRST,
        misses={"1 + 1": "a marker is recognised", "2 + 2": "everything again"},
    ),
    Row(
        says="b1 crashes right after it has appended its marker, which nobody has copied",
        look="Who leads accounts-0 then, and what is in its log? What has b3 been answered?",
        nodes=("b1",),
        after=_marker_appended,
        misses={"2 + 1": "the dead log counts", "0 + 0": "no leader, no commit"},
    ),
    Row(
        says="b1 crashes when all have its marker, right before its answer leaves",
        look="What is in the log of the new leader of accounts-0 already? What does b3 know of that?",
        nodes=("b1",),
        after=_about_to_answer,
        misses={"1 + 1": "a marker is recognised", "2 + 2": "everything again"},
    ),
    Row(
        says="the frame with the marker for accounts-1 arrives twice",
        look="Records have sequence numbers. What does a marker have?",
        faults=(Duplicate(SECOND),),
        misses={"1 + 1": "a marker is recognised"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's transfer, with the latencies of this seed."""
    before = one_transfer(*row.faults, seed=of_seed)
    faults = row.plan_faults(ran(before).trace)
    return one_transfer(*faults, seed=of_seed, title=row.says)


def markers(cluster: Cluster) -> str:
    """Return how many COMMIT markers each account's log has in the end: "2 + 1"."""
    logs = (cluster.log_of(f"{ACCOUNTS}-{place}") for place in (0, 1))
    return " + ".join(str(sum(b.control is ControlType.COMMIT for b in log.batches)) for log in logs)


def _last_marker(cluster: Cluster) -> int:
    """The step at which a leader appends the last marker of an account."""
    leader = cluster.controller.metadata.leader
    appends = [e for e in cluster.trace.of("append") if e.name.startswith(ACCOUNTS) and e.data.control is not None]
    return [e for e in appends if e.node == leader(e.name)][-1].step


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row with the markers that its run leaves."""
    return facts_of(ROWS, partial(scenario, of_seed), markers, _last_marker)


EXERCISE = Exercise(
    "L8.E1",
    rows(facts, WORDS, FORM),
    (
        "Two questions. Who sends markers, and what does it know of those that are written? And what does a leader do "
        "with a marker for something that is not open any more?",
        "The coordinator's log says which partitions a decided transaction has, and not which of them have their "
        "marker: that is only in the memory of the coordinator. A leader appends every marker that is not fenced.",
        "A next coordinator that finds PrepareCommit sends every marker again; one that finds CompleteCommit sends "
        "none. A coordinator that lives sends again only what was not answered. What only a dead leader had is cut.",
    ),
    points=9,
    questions=(38,),
    misses={
        "the decision dies with its coordinator": "PrepareCommit is in every log. What does the next coordinator do "
        "with it?",
        "always twice": "Markers are written twice only where they were written, or sent, before.",
        "one copy decides": "The only copy of the decision is on b3, which stays down; and app does not ask again.",
        "only what is missing": 1,
        "a marker is recognised": "A marker has no sequence number, so nobody knows that it is the same one again. "
        "It is appended, and ends nothing.",
        "everything again": "b3 lives, and remembers who has answered. Whom does it ask again?",
        "the dead log counts": "Only b1 had that marker. What does b1's successor have, and what will b1 do with its "
        "own log when it comes back?",
        "no leader, no commit": "For some seconds accounts-0 has no living leader. Does the coordinator give up?",
    },
    afterwards=(
        "Why: the log has the decision and its partitions, and not which of them have their marker. So markers are "
        "sent at least once. That is safe: a marker that ends nothing does no harm. Next: lab 15, where a record comes "
        "after its marker."
    ),
)
