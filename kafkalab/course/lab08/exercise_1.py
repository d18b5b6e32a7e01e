"""L8.E1: ten events of a failover in the middle of the markers, to be put into the order in which they happen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations

from kafkalab.course.lab08.scenario import lab08
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.failover import ACCOUNTS, PAYMENTS
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Event

ASKS, DECIDED, TOLD = "EndTxn reaches b3", "PrepareCommit is replicated", "app has its answer"
MARKED, CRASH, ELECTED = "b1 appends a COMMIT marker", "b3 crashes", "b1 leads the coordinator's log"
AGAIN, READ, DONE = "b1 sends markers", "accounts-1 can be read", "CompleteCommit is replicated"
FIRST_READ = "accounts-0 can be read"
TEN = (ASKS, DECIDED, TOLD, MARKED, FIRST_READ, CRASH, ELECTED, AGAIN, READ, DONE)
FREE = (frozenset((TOLD, MARKED)), frozenset((TOLD, FIRST_READ)))
"""The pairs of which neither waits for the other: the coordinator answers app and sends the markers at once."""
LOG = f"{TRANSACTION_TOPIC}-{partition_for(PAYMENTS)}"
FORM = "the list of the ten events, the first one first"


def _readable(partition: str) -> Callable[[Event], bool]:
    return lambda e: (
        (e.kind, e.name) == ("state", "watermark")
        and e.data["partition"] == partition
        and e.data["last_stable_offset"] > 0
    )


def _durable(state: str) -> Callable[[Event], bool]:
    now = (state, "")
    return lambda e: (e.kind, e.name) == ("state", "transaction") and (e.data["state"], e.data["pending"]) == now


FINDS: dict[str, Callable[[Event], bool]] = {
    ASKS: lambda e: (e.kind, e.frame) == ("receive", "EndTxn#1"),
    DECIDED: _durable("PrepareCommit"),
    TOLD: lambda e: (e.kind, e.frame) == ("receive", "EndTxnResponse#1"),
    MARKED: lambda e: (e.kind, e.node, e.name) == ("append", "b1", f"{ACCOUNTS}-0") and e.data.control is not None,
    FIRST_READ: _readable(f"{ACCOUNTS}-0"),
    CRASH: lambda e: (e.kind, e.node) == ("crash", "b3"),
    ELECTED: lambda e: (e.kind, e.name, e.node) == ("state", "leader", "b1") and e.data["partition"] == LOG,
    AGAIN: lambda e: e.kind == "send" and e.node == "b1" and e.frame.startswith("WriteTxnMarkers#"),
    READ: _readable(f"{ACCOUNTS}-1"),
    DONE: _durable("CompleteCommit"),
}


@cache
def run(of_seed: int) -> Cluster:
    """The run of lab 8 with the latencies of this seed."""
    return ran(lab08(seed=of_seed))


@cache
def steps(of_seed: int) -> dict[str, int]:
    """Return the step at which each event happens first in that run, in their order."""
    events = run(of_seed).trace.events
    after = next(e.step for e in events if FINDS[CRASH](e))
    found = {
        name: next(e.step for e in events if finds(e) and (name != AGAIN or e.step > after))
        for name, finds in FINDS.items()
    }
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def shuffle_events(of_seed: int) -> list[str]:
    """The events in disorder."""
    names = list(TEN)
    random_for("L8.E1", of_seed).shuffle(names)
    return names


def check(answer: object) -> str:
    """ "10 of 10 events in order"; WrongAnswer names the first pair that is the wrong way round."""
    if is_blank(answer) or (isinstance(answer, (list, tuple)) and not [a for a in answer if not is_blank(a)]):
        raise BlankAnswer(f"The list is still blank. Give {FORM}.")
    if not isinstance(answer, (list, tuple)):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    given = [str(name).strip() for name in answer if not is_blank(name)]
    unknown = [name for name in given if name not in TEN]
    if unknown:
        raise WrongValue(f"{unknown[0]!r} is none of the ten. Give {FORM}.")
    if sorted(given) != sorted(TEN):
        missing = [name for name in TEN if name not in given]
        raise WrongValue(f"Each event is in the list once; missing: {', '.join(missing) or 'none'}. Give {FORM}.")
    at = steps(seed())
    wrong = [(a, b) for a, b in combinations(given, 2) if at[a] > at[b] and frozenset((a, b)) not in FREE]
    if not wrong:
        return f"{len(TEN)} of {len(TEN)} events in order"
    fine = sum(a == b for a, b in zip(given, at, strict=True))
    one, other = wrong[0]
    raise WrongAnswer(
        f'{fine} of {len(TEN)} events are in their places. One pair that is not: "{one}" does not come before '
        f'"{other}". What does the first of them wait for?',
        run=run(seed()),
        step=at[other],
        miss=_miss(one, other),
        part=fine / len(TEN),
    )


def _miss(one: str, other: str) -> str:
    pair = {one, other}
    if TOLD in pair and pair & {READ, DONE, CRASH, ELECTED, AGAIN}:
        return "told after the markers"
    if DECIDED in pair and pair & {TOLD, MARKED, FIRST_READ}:
        return "before the decision"
    if pair in ({READ, DONE}, {AGAIN, DONE}, {MARKED, DONE}, {FIRST_READ, DONE}):
        return "complete before the markers"
    if pair & {CRASH, ELECTED} and pair & {AGAIN, READ, DONE}:
        return "nobody coordinates"
    return ""


EXERCISE = Exercise(
    "L8.E1",
    check,  # no Order: the book's form knows one right order, and here several are
    (
        "Each event waits for an earlier one. A marker waits for the decision, a reader for the marker in every "
        "in-sync replica, a new leader for the controller.",
        "The coordinator answers app when PrepareCommit is replicated, and sends the markers at the same time. "
        "CompleteCommit is its last entry.",
        "Up to the crash: request, decision, answer, marker in accounts-0, its reader. After it: the election, the "
        "markers once more, the reader of accounts-1, CompleteCommit.",
    ),
    points=10,
    misses={
        "told after the markers": "Does the coordinator wait for the markers before it answers app?",
        "before the decision": "What would happen to a marker, or to app's answer, if the coordinator crashed before "
        "PrepareCommit is replicated?",
        "complete before the markers": "What does CompleteCommit say, and of which partitions?",
        "nobody coordinates": "Who could send a marker between the crash and the election?",
    },
    question=shuffle_events,
    afterwards=(
        "Why: only PrepareCommit had to survive. app was told when it was replicated, and the next coordinator needed "
        "nothing else to finish. Next: you are that coordinator."
    ),
)
