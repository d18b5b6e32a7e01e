"""L0.E2: which request does a response answer? A function that says so, run on the frames of runs full of faults."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.orders import TOPIC
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = 'a function request_of(response, requests) that returns the id of a request, such as "Produce#2"'
RUNS = 4
OUTSIDE = ("id", "name", "sender", "receiver", "sent_ms", "version", "correlation_id")
Row = dict[str, Any]


def row(frame: Frame) -> Row:
    """Return what is on the outside of a frame."""
    return {name: getattr(frame, name) for name in OUTSIDE}


def frames(cluster: Cluster) -> tuple[list[Row], list[Row]]:
    """The requests of the run's clients, and the responses that reached them."""
    clients = [p.node for p in cluster.scenario.programs]
    found = [f for f in cluster.trace.frames.values() if not f.copy_of]
    requests = [row(f) for f in found if f.kind == "request" and f.sender in clients]
    responses = [row(f) for f in found if f.kind == "response" and f.receiver in clients and f.fate == "delivered"]
    return requests, responses


def two_shops(run_seed: int, *faults: FrameFault) -> Scenario:
    """Two shops and a kitchen at one topic, with these faults."""
    menu = {"shop": ["soup", "tea", "rice"], "stall": ["cake", "figs", "plums"]}
    settings = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 3}
    shops = [Program(node, "shop", {"orders": orders, "settings": settings}) for node, orders in menu.items()]
    kitchen = Program("kitchen", "kitchen", {"wait_ms": 40})
    return Scenario(
        title="Two shops", seed=run_seed, topics={TOPIC: 2}, programs=(*shops, kitchen), faults=tuple(faults)
    )


@cache
def make_cases(of_seed: int) -> tuple[tuple[Case, Cluster], ...]:
    """(response, requests sent before it) of some runs in which frames are lost, doubled and late, and each one's run.
    """
    random = random_for("L0.E2", of_seed)
    found: list[tuple[Case, Cluster]] = []
    for _ in range(RUNS):
        names = random.sample(["ProduceResponse#1", "ProduceResponse#3", "Produce#2", "Produce#4"], 3)
        faults = (Drop(names[0]), Delay(names[1], random.randint(20, 60)), Duplicate(names[2]))
        cluster = ran(two_shops(random.randint(1, 999), *faults))
        requests, responses = frames(cluster)
        for response in responses:
            before = [r for r in requests if r["sent_ms"] < response["sent_ms"]]
            random.shuffle(before)
            found.append(((response, before), cluster))
    return tuple(found)


def cases(of_seed: int) -> tuple[Case, ...]:
    """The arguments of the learner's function."""
    return tuple(case for case, _ in make_cases(of_seed))


def show_case(response: Row, requests: list[Row]) -> Counterexample:
    """The run of this case, where the response arrives."""
    cluster = next(cluster for case, cluster in make_cases(seed()) if case == (response, requests))
    return {"run": cluster, "step": cluster.trace.frames[str(response["id"])].received_step}


def reference(response: Row, requests: list[Row]) -> str:
    """The id of the request with the same number."""
    return next(str(r["id"]) for r in requests if r["correlation_id"] == response["correlation_id"])


def _of_its_name(response: Row, requests: list[Row]) -> list[Row]:
    name = str(response["name"]).removesuffix("Response")
    return sorted((r for r in requests if r["name"] == name), key=lambda r: (r["sent_ms"], r["correlation_id"]))


def _same_line(response: Row, requests: list[Row]) -> list[Row]:
    ours = [r for r in requests if (r["sender"], r["receiver"]) == (response["receiver"], response["sender"])]
    return sorted(ours, key=lambda r: (r["sent_ms"], r["correlation_id"]))


def _id(rows: list[Row], place: int) -> str:
    return str(rows[place]["id"]) if rows else ""


MUTANTS = (
    Mutant(
        "the numbers of the names",
        "the tenth response were always that of the tenth request, and none were ever lost or late",
        lambda response, requests: str(response["id"]).replace("Response", ""),
        hint='The number in "Produce#2" is the picture\'s own: it counts frames of a name as they are sent. No node '
        "sees it.",
    ),
    Mutant(
        "the newest of that name",
        "there were one client, with one request of a kind under way",
        lambda response, requests: _id(_of_its_name(response, requests), -1),
        hint=1,
    ),
    Mutant(
        "the newest between the two",
        "two nodes had one request under way between them at a time",
        lambda response, requests: _id(_same_line(response, requests), -1),
        hint=1,
    ),
    Mutant(
        "the newest of that name between the two",
        "two nodes had one request of a kind under way between them at a time",
        lambda response, requests: _id(_of_its_name(response, _same_line(response, requests)), -1),
        hint=1,
    ),
    Mutant(
        "the oldest of that name between the two",
        "the first request were answered for ever",
        lambda response, requests: _id(_of_its_name(response, _same_line(response, requests)), 0),
        hint=1,
    ),
)


EXERCISE = Exercise(
    "L0.E2",
    lambda answer: against_mutants(answer, reference, MUTANTS, cases(seed()), FORM, show_case),
    (
        "Print one request and its response from the picture above, and compare them field by field.",
        "Frames are lost, late and doubled, and several are under way at a time: neither their times nor the numbers "
        "in their names agree. One field of a request is copied into its response.",
        "Look for the request whose correlation_id is the response's, and return its id.",
    ),
    points=3,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[:6],
    afterwards=(
        "Why: the receiver copies correlation_id from the request into its response. In Kafka each client "
        "counts for itself (Java for all its connections together, librdkafka for each), so two clients use the same "
        "numbers, and a client looks among its own requests. Next: exercise 3 asks what one fault does to the log."
    ),
)
