"""L1.E3: a shop that sends an order again when it hears nothing, where idempotence cannot help; it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.frame import Drop
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, describe
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.orders import PARTITION, TOPIC
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame

FORM = "an async function stubborn(app, orders) that returns how many orders it sent again"
MENU = ("soup", "bread", "rice", "tea", "cake", "fish", "figs", "plums")
SETTINGS = {"linger_ms": 0, "delivery_timeout_ms": 30_000}
"""A producer that gives up when its first request has no answer after 30 seconds."""


def evening(of_seed: int) -> tuple[list[str], list[str], list[str]]:
    """The orders of one evening, and those whose answer, or whose request, will be lost."""
    random = random_for("L1.E3", of_seed)
    orders = random.sample(MENU, random.randint(6, 8))
    places = sorted(random.sample(range(0, len(orders), 2), random.randint(2, 3)))  # a broken connection takes the next
    answers = [orders[place] for place in places]
    rest = [order for order in orders if order not in answers]
    return orders, answers, sorted(random.sample(rest, 2), key=orders.index)


def check(answer: object) -> str:
    """Return how many orders of how many are there twice, if those with a lost answer are and counted; else why not."""
    if answer is ... or answer is None:
        raise BlankAnswer(f"The function is still blank. Give {FORM}.")
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    orders, answers, requests = evening(seed())
    calm = _run(answer, orders)
    if not any(f.name == "Produce" for f in calm.trace.frames.values()) and calm.results.get("shop") in (None, ...):
        raise BlankAnswer(f"The function is still blank: it sends nothing. Give {FORM}.")
    _expect(calm, orders, [], "An evening on which nothing is lost")
    _expect(
        _losing(calm, answer, orders, requests, of_response=False), orders, [], "Here requests are lost on their way"
    )
    lost = _losing(calm, answer, orders, answers, of_response=True)
    _expect(lost, orders, answers, "Here answers are lost on their way")
    return f"{len(answers)} of {len(orders)} orders are in the log twice, as often as an answer was lost"


def _run(answer: Callable[..., Any], orders: Sequence[str], *faults: Drop) -> Cluster:
    """The learner's shop on this evening, to its end; WrongAnswer if it has none, or breaks."""
    program = Program("shop", answer, {"orders": list(orders)})
    scenario = Scenario(title="Sent again", seed=seed(), topics={TOPIC: 1}, programs=(program,), faults=faults)
    try:
        cluster = Cluster(scenario)
        cluster.run()
    except (StuckError, RunawayError):
        raise WrongAnswer("Your function never ends. Does every loop of it come to an end?", miss="endless") from None
    except TypeError as error:
        if "not an async function" in str(error):
            raise BlankAnswer(f"The function is still blank, or not an async one. Give {FORM}.") from None
        raise WrongAnswer(f"Your function stops with TypeError: {error}") from None
    except Exception as error:
        raise WrongAnswer(f"Your function stops with {type(error).__name__}: {error}") from None
    return cluster


def _losing(
    calm: Cluster, answer: Callable[..., Any], orders: Sequence[str], values: Sequence[str], of_response: bool
) -> Cluster:
    """The run in which the first Produce with each of these orders is lost, or the answer to it."""
    cluster, faults = calm, []
    for value in values:
        frame = _first(cluster, value, of_response)
        _not_ended(cluster, "Here a frame is lost on its way")
        if frame is None:
            raise WrongAnswer(f"No request of your shop brings {value!r} and is answered.", run=cluster)
        faults.append(Drop(frame.id))
        cluster = _run(answer, orders, *faults)
    return cluster


def _first(cluster: Cluster, value: str, of_response: bool) -> Frame | None:
    frames = cluster.trace.frames.values()
    sent = (f for f in frames if f.name == "Produce" and value in [r.value for r in f.body.batches[PARTITION].records])
    first = next(sent, None)
    if first is None or not of_response:
        return first
    return next((f for f in frames if f.of == first.id), None)


def _expect(cluster: Cluster, orders: Sequence[str], twice: Sequence[str], when: str) -> None:
    """Every order is in the log once, those of `twice` twice, and the shop returns how many; else WrongAnswer."""
    _not_ended(cluster, when)
    result = cluster.results.get("shop")
    found = Counter(r.value for b in cluster.log_of(PARTITION).batches for r in b.records)
    wanted = Counter([*orders, *twice])
    if found != wanted:
        wrong = next(o for o in [*orders, *found] if found[o] != wanted[o])
        raise WrongAnswer(
            f"{when}. The log has {wrong!r} {_times(found[wrong])}; it should have it {_times(wanted[wrong])}.",
            run=cluster,
            miss="too often" if found[wrong] >= wanted[wrong] else "recognised" if found[wrong] else "lost",
        )
    if result != len(twice) and twice:
        raise WrongAnswer(
            f"{when}. {len(twice)} orders are in the log twice, and your function returns {result!r}.",
            run=cluster,
            miss="count",
        )


def _not_ended(cluster: Cluster, when: str) -> None:
    result = cluster.results.get("shop")
    if isinstance(result, KafkaError):
        raise WrongAnswer(
            f"{when}, and your shop ends with {type(result).__name__}: {result}.", run=cluster, miss="gives up"
        )


def _times(count: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(count, f"{count} times")


EXERCISE = Exercise(
    "L1.E3",
    check,
    (
        "`metadata = await producer.send(...)` gives a promise; `await metadata` waits for the answer, and raises "
        "a KafkaError when the producer has given up.",
        "For each order: send it, and wait for the answer; at a KafkaError count, and send it again. With "
        "delivery_timeout_ms=30_000 and linger_ms=0 the producer gives up after one request without an answer.",
        "The loop for one order is `while True:` with a `try:` in it: send, await the promise, `break`; "
        "`except KafkaError:` adds one to what you return in the end.",
    ),
    points=9,
    questions=(19,),
    misses={
        "gives up": 0,
        "lost": 1,
        "recognised": "The producer itself sent the order again, and the leader recognised it. Use the settings of the "
        "exercise: then the producer gives up, and your program sends again.",
        "too often": "Send an order again only when its own answer did not come.",
        "count": "Count the sends that you make after a KafkaError, and return that number.",
        "endless": "Leave the loop of one order as soon as its promise brings an answer. Is there a way out of each "
        "of your loops?",
    },
    afterwards=(
        "Why: each call of send() takes a new sequence, so the leader sees a new record. Idempotence covers a batch "
        "that the producer repeats by itself. It does not cover a second call by your program. So leave retries to the "
        'producer, and read its failure as "unknown". Next: lab 2 gives a producer a name that outlives it.'
    ),
)
