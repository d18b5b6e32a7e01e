"""L0.E2: which request does a reply answer? A function that says so, run on the frames of runs full of faults."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants
from kafkalab.grading.seeds import chance, seed
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Delay, Drop, Duplicate, FrameFault
from kafkalab.sim.programs_orders import TOPIC
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = 'a function request_of(reply, requests) that returns the id of a request, such as "Produce#2"'
RUNS = 4
Row = dict[str, Any]


def row(frame: Frame) -> Row:
    """What stands on the outside of a frame."""
    return {
        "id": frame.id,
        "name": frame.name,
        "sender": frame.sender,
        "receiver": frame.receiver,
        "sent_ms": frame.sent_ms,
        "version": frame.version,
        "correlation_id": frame.correlation_id,
    }


def frames(cluster: Cluster) -> tuple[list[Row], list[Row]]:
    """The requests of the run's clients, and the replies that reached them."""
    clients = [p.node for p in cluster.scenario.programs]
    found = [f for f in cluster.trace.frames.values() if not f.copy_of]
    requests = [row(f) for f in found if f.kind == "request" and f.sender in clients]
    replies = [row(f) for f in found if f.kind == "reply" and f.receiver in clients and f.fate == "delivered"]
    return requests, replies


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
def cases(of_seed: int) -> tuple[Case, ...]:
    """(reply, requests sent before it) of some runs in which frames are lost, doubled and late."""
    random = chance("L0.E2", of_seed)
    found: list[Case] = []
    for _ in range(RUNS):
        names = random.sample(["ProduceReply#1", "ProduceReply#3", "Produce#2", "Produce#4"], 3)
        faults = (Drop(names[0]), Delay(names[1], random.randint(20, 60)), Duplicate(names[2]))
        cluster = Cluster(two_shops(random.randint(1, 999), *faults))
        cluster.run()
        requests, replies = frames(cluster)
        for reply in replies:
            before = [r for r in requests if r["sent_ms"] < reply["sent_ms"]]
            random.shuffle(before)
            found.append((reply, before))
    return tuple(found)


def reference(reply: Row, requests: list[Row]) -> str:
    """The id of the request with the same number."""
    return next(str(r["id"]) for r in requests if r["correlation_id"] == reply["correlation_id"])


def _of_its_name(reply: Row, requests: list[Row]) -> list[Row]:
    name = str(reply["name"]).removesuffix("Reply")
    return sorted((r for r in requests if r["name"] == name), key=lambda r: (r["sent_ms"], r["correlation_id"]))


def _same_line(reply: Row, requests: list[Row]) -> list[Row]:
    ours = [r for r in requests if (r["sender"], r["receiver"]) == (reply["receiver"], reply["sender"])]
    return sorted(ours, key=lambda r: (r["sent_ms"], r["correlation_id"]))


def _id(rows: list[Row], place: int) -> str:
    return str(rows[place]["id"]) if rows else ""


MUTANTS = (
    Mutant(
        name="the numbers of the names",
        says="the tenth reply were always that of the tenth request, and none were ever lost or late",
        function=lambda reply, requests: str(reply["id"]).replace("Reply", ""),
    ),
    Mutant(
        name="the newest of that name",
        says="there were one client, with one request of a kind under way",
        function=lambda reply, requests: _id(_of_its_name(reply, requests), -1),
    ),
    Mutant(
        name="the newest between the two",
        says="two nodes had one request under way between them at a time",
        function=lambda reply, requests: _id(_same_line(reply, requests), -1),
    ),
    Mutant(
        name="the newest of that name between the two",
        says="two nodes had one request of a kind under way between them at a time",
        function=lambda reply, requests: _id(_of_its_name(reply, _same_line(reply, requests)), -1),
    ),
    Mutant(
        name="the oldest of that name between the two",
        says="the first request were answered for ever",
        function=lambda reply, requests: _id(_of_its_name(reply, _same_line(reply, requests)), 0),
    ),
)


def check(answer: Any) -> str:
    """How many replies find their request, if all do; WrongAnswer shows one that does not."""
    return against_mutants(answer, reference, MUTANTS, cases(seed()), FORM)


EXERCISE = Exercise(
    "L0.E2",
    check,
    (
        "Print one request and its reply from the picture above, and compare them field by field.",
        "Frames are lost, late and doubled, and several are under way at a time: neither their times nor the numbers "
        "in their names agree. One field of a request is copied into its reply.",
        "Look for the request whose correlation_id is the reply's, and return its id.",
    ),
    points=3,
    misses={
        "the numbers of the names": 'The number in "Produce#2" is the picture\'s own: it counts frames of a '
        "name as they "
        "are sent. No node sees it.",
        "the newest of that name": 1,
        "the newest between the two": 1,
        "the newest of that name between the two": 1,
        "the oldest of that name between the two": 1,
    },
    question=lambda of_seed: cases(of_seed)[:6],
)
