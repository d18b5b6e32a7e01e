"""L9.E5: transaction.version rises from 0 to 2; what does each service still need? Its runs decide."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import view_of
from kafkalab.course.lab09.scenario import TOPICS
from kafkalab.faults.cluster import Upgrade
from kafkalab.faults.frame import Delay
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.history.export import history_of
from kafkalab.programs.paid_orders import SHOP, one_order, paid_orders
from kafkalab.sim.app import App
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

NOTHING, CLIENT, PRODUCERS = MEASURES = ("nothing", "new client", "new producers")
"""From the least on: keep it, install the library's newest version, make a new producer for each transaction."""
FORM = "a function plan(services) that returns a dict from each name to one of " + ", ".join(map(repr, MEASURES))
NEWEST = {"Java": (4, 4), "librdkafka": (2, 16), "aiokafka": (0, 14)}
IN_USE = (
    ("Java", (3, 6)), ("Java", (3, 9)), ("Java", (4, 0)), ("Java", (4, 3)),
    ("librdkafka", (2, 3)), ("librdkafka", (2, 16)), ("aiokafka", (0, 14)),
)  # fmt: skip
"""librdkafka 2.16 and aiokafka 0.14 were run (the saved sessions of labs 9 and 10), and Java 4.3; the protocol of the
older ones follows from KIP-890, which came with Kafka 4.0."""
NAMES = ("billing", "stock", "mail", "audit", "prices", "returns")
CASES = 12
RAISED_MS = 1_000
Service = dict[str, Any]


def protocol(library: str, version: tuple[int, int]) -> int:
    """Return the newest client protocol that this version of a library speaks."""
    return 2 if library == "Java" and version >= (4, 0) else 1


async def one_producer_each(app: App, orders: list[str], cancelled: list[str]) -> str:
    """Book each order with a new producer."""
    for order in orders:
        producer = app.producer(transactional_id=SHOP, linger_ms=0)
        await producer.init_transactions()
        await one_order(app, producer, order, order in cancelled)
    return "booked"


def scenarios(speaks: int, apart: bool, of_seed: int) -> Iterator[Scenario]:
    """Yield days on which the level rises in the first transaction, and one frame of a later one is late."""
    orders = {"orders": ["tea", "jam", "pot", "cup"], "cancelled": ["jam", "cup"]}
    for frame in ("EndTxn#1", "EndTxn#2", "EndTxn#3", "WriteTxnMarkers#2", "WriteTxnMarkers#4"):
        yield Scenario(
            title=f"transaction.version rises; {frame} is late",
            profile=f"4.x/TV{speaks}",
            seed=of_seed,
            topics=TOPICS,
            programs=(Program("shop", one_producer_each if apart else paid_orders, orders),),
            config={"transaction_version": 0},
            faults=(Upgrade(at_ms=RAISED_MS), Delay(frame, 31_000)),
        )


@cache
def find_torn(speaks: int, apart: bool, of_seed: int) -> tuple[Scenario, int] | None:
    """Return the first of these runs that tears an order, and the step that shows it; None if there is none."""
    for scenario in scenarios(speaks, apart, of_seed):
        cluster = ran(scenario)
        assert cluster.results["shop"] == "booked"
        if found := torn_transaction(view_of(history_of(cluster))).findings:
            return scenario, found[0].steps[-1]
    return None


def measure(service: Service, of_seed: int) -> str:
    """Return the least measure after which no run of the service tears an order."""
    newest = protocol(service["library"], service["newest"])
    tries = (
        (NOTHING, protocol(service["library"], service["version"]), False),
        (CLIENT, newest, False),
        (PRODUCERS, newest, True),
    )
    return next(name for name, speaks, apart in tries if find_torn(speaks, apart, of_seed) is None)


def truth(services: list[Service]) -> dict[str, str]:
    """Return the least measure of each service."""
    return {service["name"]: measure(service, seed()) for service in services}


def draw_services(random: Random) -> list[Service]:
    """Three to five services."""
    found = []
    for name in random.sample(NAMES, random.randint(3, 5)):
        library, version = random.choice(IN_USE)
        found.append({"name": name, "library": library, "version": version, "newest": NEWEST[library]})
    return found


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """The services of some companies."""
    random = random_for("L9.E5", of_seed)
    return tuple((draw_services(random),) for _ in range(CASES))


def _as_if(services: list[Service], *, of: str) -> dict[str, str]:
    """Return the plan of somebody who believes this."""

    def one(service: Service) -> str:
        speaks = protocol(service["library"], service["version"])
        newer = service["version"] < service["newest"]
        match of:
            case "the level protects all":
                return NOTHING
            case "the newest is enough":
                return CLIENT if newer else NOTHING
            case "always the newest":
                return CLIENT if newer else NOTHING if speaks == 2 else PRODUCERS
            case _:
                return NOTHING if speaks == 2 else PRODUCERS

    return {service["name"]: one(service) for service in services}


MUTANTS = (
    Mutant(
        "the level protects all", "the brokers' level protected every client",
        partial(_as_if, of="the level protects all"),
        hint="A client of protocol 1 gets version 1 from brokers of level 2. Which run of this lab shows it?",
    ),
    Mutant(
        "the newest is enough", "the newest version of every library spoke protocol 2",
        partial(_as_if, of="the newest is enough"),
        hint="Which libraries speak protocol 2 in any version? The saved session is of librdkafka's 2.16.",
    ),
    Mutant(
        "always the newest", "Java 4.0 were too old", partial(_as_if, of="always the newest"),
        hint="A client that speaks protocol 2 already follows the level with its next transaction.",
    ),
    Mutant(
        "never the client", "a newer Java client were no help", partial(_as_if, of="never the client"),
        hint="A new producer for each transaction costs a request and a wait. When is there a smaller step?",
    ),
)  # fmt: skip


def _run_of(services: list[Service]) -> Counterexample:
    """Show the run of a service that needs something as long as it has nothing."""
    needy = [s for s in services if measure(s, seed()) != NOTHING]
    found = find_torn(protocol(needy[0]["library"], needy[0]["version"]), False, seed()) if needy else None
    return {"run": found[0], "step": found[1]} if found else {}


EXERCISE = Exercise(
    "L9.E5",
    lambda answer: against_mutants(answer, truth, MUTANTS, cases(seed()), FORM, _run_of),
    (
        "For each service: which protocol does its client speak on brokers of level 2? Only protocol 2 gives each "
        "transaction an epoch of its own.",
        "Java speaks protocol 2 since 4.0. The other two speak 1 in every version so far, so a newer one does not "
        "help.",
        'Java from (4, 0) on: "nothing". Older Java: "new client". Everything else: "new producers", one for each '
        "transaction, with the same transactional.id.",
    ),
    points=5,
    questions=(39, 43),
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[0][0],
    afterwards=(
        "Why: brokers only offer the level. In the runs behind this check it rises in the middle of a transaction, and "
        "no call fails: a client of protocol 2 ends that transaction as it began it, and the next one has its own "
        "epoch. Next: lab 10 puts the reading of the order into the transaction, too."
    ),
)
