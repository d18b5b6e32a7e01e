"""L2.E2: nine frames of a service's first transaction, to be put into the order in which they are sent."""

from __future__ import annotations

from functools import cache

from kafkalab.course.lab02.scenario import lab02
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.forms import Order
from kafkalab.grading.run_order import RunOrder
from kafkalab.sim.cluster import Cluster, ran

NINE = (
    "FindCoordinator", "InitProducerId", "InitProducerIdResponse", "Produce", "AddPartitionsToTxn", "ProduceResponse",
    "EndTxn", "EndTxnResponse", "WriteTxnMarkers",
)  # fmt: skip


@cache
def run(of_seed: int) -> Cluster:
    """Return the run whose frames they are."""
    return ran(lab02(seed=of_seed))


def _find_sent(cluster: Cluster, name: str) -> int:
    """Return the step at which the first frame of this name is sent."""
    return cluster.trace.frames[f"{name}#1"].sent_step


def _look(one: str, other: str) -> str:
    if one.removesuffix("Response") == other:
        return "Which of the two frames causes the other?"
    return "Which of the two frames needs something that only the other one brings?"


def _miss(one: str, other: str) -> str:
    pair = {one, other}
    if pair == {"EndTxnResponse", "WriteTxnMarkers"}:
        return "markers before the answer"
    if "AddPartitionsToTxn" in pair and pair & {"Produce", "ProduceResponse"}:
        return "who adds the partition"
    return "FindCoordinator" if "FindCoordinator" in pair else ""


ORDER = RunOrder(
    exercise="L2.E2",
    form="the list of the nine names, the first frame first",
    steps={name: lambda cluster, name=name: _find_sent(cluster, name) for name in NINE},  # type: ignore[misc]
    run=run,
    look=_look,
    miss=_miss,
    clean=lambda name: name.partition("#")[0].strip(),
)


EXERCISE = Exercise(
    "L2.E2",
    Order(ORDER.check, ORDER.shuffle),
    (
        "Before a service can ask its coordinator for anything it must know which broker that is. Before it can write "
        "it needs a producer id.",
        "In this version of the protocol the leader of the partition adds it to the transaction, when the first "
        "records come, and before it appends them.",
        "EndTxn is answered when the decision is replicated. The coordinator sends its requests to the leaders after "
        "that.",
    ),
    points=9,
    questions=(18,),
    misses={
        "FindCoordinator": 0,
        "who adds the partition": 1,
        "markers before the answer": "The coordinator answers as soon as the decision is safe. Must the service wait "
        "until every leader has its marker?",
    },
    question=ORDER.shuffle,
    afterwards=(
        "Why: each frame needs something that an earlier one brought: the coordinator's address, the producer id, "
        "the partition in the transaction, the decision. Next: exercise 3 is a program that breaks these rules."
    ),
)
