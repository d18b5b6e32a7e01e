"""L8.E1: ten events of a failover in the middle of the markers, to be put into the order in which they happen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kafkalab.course.lab08.scenario import lab08
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.forms import Order
from kafkalab.grading.run_order import RunOrder
from kafkalab.programs.failover import ACCOUNTS, PAYMENTS
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Event

ASKS, DECIDED, TOLD = "EndTxn reaches b3", "PrepareCommit is replicated", "b3 answers app"
MARKED, CRASH, ELECTED = "b1 appends a COMMIT marker", "b3 crashes", "b1 leads the coordinator's log"
AGAIN, READ, DONE = "b1 sends markers", "accounts-1 can be read", "CompleteCommit is replicated"
FIRST_READ = "accounts-0 can be read"
TEN = (ASKS, DECIDED, TOLD, MARKED, FIRST_READ, CRASH, ELECTED, AGAIN, READ, DONE)
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
    TOLD: lambda e: (e.kind, e.frame) == ("send", "EndTxnResponse#1"),
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


def _step(name: str) -> Callable[[Cluster], int]:
    """Return what finds the first step of this event; the next coordinator's markers come after the crash."""

    def find(cluster: Cluster) -> int:
        events = cluster.trace.events
        after = next(e.step for e in events if FINDS[CRASH](e)) if name == AGAIN else -1
        return next(e.step for e in events if e.step > after and FINDS[name](e))

    return find


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


ORDER = RunOrder(
    exercise="L8.E1",
    form=FORM,
    steps={name: _step(name) for name in TEN},
    run=run,
    look=lambda one, _: f"What does {one!r} wait for?",
    miss=_miss,
)

EXERCISE = Exercise(
    "L8.E1",
    Order(ORDER.check, ORDER.shuffle),
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
    question=ORDER.shuffle,
    afterwards=(
        "Why: only PrepareCommit had to survive. app was told when it was replicated, and the next coordinator needed "
        "nothing else to finish. Next: you are that coordinator."
    ),
)
