"""L0.E2: which frame is a retry, and of which? A function that returns it, run on the frames of faulty runs."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.frame import Drop
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.orders import PARTITION, TOPIC
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = 'a function first_of(frame, earlier) that returns the id of a frame, such as "Produce#2"'
RUNS = 5
MENU = {"shop": ["soup", "tea", "rice"], "stall": ["soup", "rice", "figs"]}
Row = dict[str, Any]


def row(frame: Frame) -> Row:
    """Return what there is to see of a Produce."""
    outside = {name: getattr(frame, name) for name in ("id", "sender", "sent_ms", "correlation_id")}
    return outside | {"records": [record.value for record in frame.body.batches[PARTITION].records]}


def list_sent(cluster: Cluster) -> list[Frame]:
    """Return each Produce that a shop has sent, in the order in which they were sent."""
    return [f for f in cluster.trace.frames.values() if f.name == "Produce" and not f.copy_of]


def two_shops(run_seed: int, *faults: FrameFault) -> Scenario:
    """Return two shops that sell the same things and number nothing, with these faults."""
    settings = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 3}
    shops = [Program(node, "shop", {"orders": orders, "settings": settings}) for node, orders in MENU.items()]
    return Scenario(title="Two shops", seed=run_seed, topics={TOPIC: 1}, programs=tuple(shops), faults=tuple(faults))


@cache
def make_cases(of_seed: int) -> tuple[tuple[Case, Cluster], ...]:
    """Return (frame, frames sent before it) of some runs in which frames are lost, each with its run."""
    random = random_for("L0.E2", of_seed)
    found: list[tuple[Case, Cluster]] = []
    for _ in range(RUNS):
        names = random.sample(["ProduceResponse#1", "Produce#2", "ProduceResponse#3", "Produce#4", "Produce#5"], 3)
        cluster = ran(two_shops(random.randint(1, 999), *map(Drop, (*names, "Produce#7"))))
        frames = list_sent(cluster)
        for number, frame in enumerate(frames):
            earlier = [row(one) for one in frames[:number]]
            random.shuffle(earlier)
            found.append(((row(frame), earlier), cluster))
    return tuple(found)


def cases(of_seed: int) -> tuple[Case, ...]:
    """Return the arguments of the learner's function."""
    return tuple(case for case, _ in make_cases(of_seed))


def show_case(frame: Row, earlier: list[Row]) -> Counterexample:
    """Return the run of this case, where the frame is sent."""
    cluster = next(cluster for case, cluster in make_cases(seed()) if case == (frame, earlier))
    return {"run": cluster, "step": cluster.trace.frames[str(frame["id"])].sent_step}


def reference(frame: Row, earlier: list[Row]) -> str:
    """Return the id of the first frame with the same records from the same sender; its own if there is none before."""
    return _first(frame, [one for one in earlier if _is_like(frame, one, "sender", "records")])


def _is_like(frame: Row, other: Row, *fields: str) -> bool:
    return all(frame[field] == other[field] for field in fields)


def _first(frame: Row, rows: list[Row], last: bool = False) -> str:
    ordered = sorted(rows, key=lambda one: (one["sent_ms"], one["correlation_id"])) or [frame]
    return str(ordered[-1 if last else 0]["id"])


MUTANTS = (
    Mutant(
        "the same number",
        "no frame were a retry; a retry has a correlation id of its own",
        lambda frame, earlier: _first(frame, [one for one in earlier if _is_like(frame, one, "correlation_id")]),
        hint="correlation_id pairs a response with its request. The client counts every request that it sends, and a "
        "retry is one more request.",
    ),
    Mutant(
        "the same records",
        "no two shops had the same order",
        lambda frame, earlier: _first(frame, [one for one in earlier if _is_like(frame, one, "records")]),
        hint=1,
    ),
    Mutant(
        "the same shop",
        "a shop repeated its first request for ever",
        lambda frame, earlier: _first(frame, [one for one in earlier if _is_like(frame, one, "sender")]),
        hint=0,
    ),
    Mutant(
        "the retry before it",
        "only the newest copy counted; the question is about the frame that was sent first",
        lambda frame, earlier: _first(
            frame, [one for one in earlier if _is_like(frame, one, "sender", "records")], last=True
        ),
        hint="A frame may be sent three times. Of several that fit, which one has the smallest sent_ms?",
    ),
)


EXERCISE = Exercise(
    "L0.E2",
    lambda answer: against_mutants(answer, reference, MUTANTS, cases(seed()), FORM, show_case),
    (
        "Print a frame and its retry, and compare them field by field. Which fields are the same in both?",
        "Two shops may send the same records; then neither is a retry of the other.",
        "Among the earlier frames with the same sender and the same records, take the one with the smallest sent_ms. "
        "If there is none, return the frame's own id.",
    ),
    points=3,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[5:13],
    afterwards=(
        "Why: only sender and content can be compared, because no field says that a frame is a retry. If a shop sold "
        "soup twice, the second sale would look like a retry, to you and to the leader. Next: exercise 3 puts such a "
        "run in order."
    ),
)
