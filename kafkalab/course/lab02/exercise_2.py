"""L2.E2: nine frames of a service's first transaction, to be put into the order in which they are sent."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

from kafkalab.course.lab02.scenario import lab02
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.forms import Order
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran

NINE = (
    "FindCoordinator", "InitProducerId", "InitProducerIdResponse", "Produce", "AddPartitionsToTxn", "ProduceResponse",
    "EndTxn", "EndTxnResponse", "WriteTxnMarkers",
)  # fmt: skip
FORM = "the list of the nine names, the first frame first"


@cache
def order(of_seed: int) -> tuple[str, ...]:
    """The names in the order in which these frames are sent in a run."""
    cluster = Cluster(lab02(seed=of_seed))
    frames = cluster.run().frames
    return tuple(sorted(NINE, key=lambda name: frames[f"{name}#1"].sent_step))


def shuffle_names(of_seed: int) -> list[str]:
    """The names in disorder."""
    names = list(NINE)
    random_for("L2.E2", of_seed).shuffle(names)
    return names


def check(answer: Any) -> str:
    """ "9 of 9 frames in order"; WrongAnswer names the first pair of neighbours that is not."""
    if is_blank(answer) or (isinstance(answer, (list, tuple)) and not [a for a in answer if not is_blank(a)]):
        raise BlankAnswer(f"The list is still blank. Give {FORM}.")
    if not isinstance(answer, (list, tuple)):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    given = [str(name).partition("#")[0].strip() for name in answer if not is_blank(name)]
    unknown = [name for name in given if name not in NINE]
    if unknown:
        raise WrongValue(f"{unknown[0]!r} is none of the nine. Give {FORM}.")
    if sorted(given) != sorted(NINE):
        missing = [name for name in NINE if name not in given]
        raise WrongValue(f"Each name stands in the list once; missing: {', '.join(missing) or 'none'}. Give {FORM}.")
    right = order(seed())
    if given == list(right):
        return f"{len(NINE)} of {len(NINE)} frames in order"
    place = {name: i for i, name in enumerate(right)}
    one, other = next((a, b) for a, b in itertools.pairwise(given) if place[a] > place[b])
    fine = sum(a == b for a, b in zip(given, right, strict=True))
    run = ran(lab02(seed=seed()))
    raise WrongAnswer(
        f"{fine} of {len(NINE)} frames are in their places. One pair that is not: {one} is not sent before {other}. "
        f"{_look(one, other)}",
        run=run,
        step=run.trace.frames[f"{other}#1"].sent_step,
        miss=_miss(one, other),
        part=fine / len(NINE),
    )


def _look(one: str, other: str) -> str:
    if one.removesuffix("Response") == other:
        return "Which of the two makes the other?"
    return "Which of the two could not know what to say, or whom to ask, without the other?"


def _miss(one: str, other: str) -> str:
    pair = {one, other}
    if pair == {"EndTxnResponse", "WriteTxnMarkers"}:
        return "markers before the answer"
    if "AddPartitionsToTxn" in pair and pair & {"Produce", "ProduceResponse"}:
        return "who adds the partition"
    return "FindCoordinator" if "FindCoordinator" in pair else ""


EXERCISE = Exercise(
    "L2.E2",
    Order(check, shuffle_names),
    (
        "Before a service can ask its coordinator for anything it must know who that is; before it can write it "
        "needs a "
        "producer id.",
        "In this version of the protocol it is the leader of the partition that has it added to the transaction, when "
        "the first records come, and before it appends them.",
        "EndTxn is answered when the decision is replicated. What the coordinator sends to the leaders comes after "
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
    question=shuffle_names,
    afterwards=(
        "Why: each frame needs something that an earlier one brought: the coordinator's address, the producer id, "
        "the partition in the transaction, the decision. Next: exercise 3 takes the coordinator away."
    ),
)
