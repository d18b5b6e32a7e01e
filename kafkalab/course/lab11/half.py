"""A relay of which two lines are missing, to be completed before exercise 2: how it fares when it is started again."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Line
from kafkalab.grading.schedules import LEARNER, with_program
from kafkalab.programs.booking import OUTPUT, RECEIPTS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

BOOKINGS = [
    [500, "commit", "ann 10"],
    [900, "rollback", "bob 5"],
    [1_500, "commit", "cyd 7"],
    [6_500, "commit", "dan 3"],
]
WANTED = ("receipt ann 10", "receipt cyd 7", "receipt dan 3")
STOP_MS = 9_000


def morning() -> Scenario:
    """Return a morning with one relay that crashes while it has nothing to do, and one that is started after it."""
    relays = [
        Program(f"relay-{number}", LEARNER, {"start_ms": start_ms, "stop_ms": STOP_MS})
        for number, start_ms in ((1, 0), (2, 5_000))
    ]
    return Scenario(
        title="A relay that is started again",
        brokers=1,
        topics={RECEIPTS: 1},
        programs=(Program("booker", "bookings_all_day", {"bookings": BOOKINGS}), *relays),
        faults=(Crash("relay-1", at_ms=4_000),),
    )


def try_half(relay: Any) -> Line:
    """Run the morning with this relay; return what became of its receipts. Nothing is graded."""
    cluster = Cluster(with_program(morning(), relay))
    try:
        cluster.run()
    except Exception as error:
        return Line(f"The relay stops: {error}")
    for result in cluster.results.values():
        if isinstance(result, Exception):
            return Line(f"A relay ends with {type(result).__name__}: {result}. Are both lines filled in?")
    found = Counter(cluster.outcome().committed[OUTPUT])
    for receipt in WANTED:
        if found[receipt] > 1:
            return Line(f"{receipt!r} is there {found[receipt]} times. Where does the second relay begin?")
        if not found[receipt]:
            return Line(f"{receipt!r} is missing. What is `done` after a receipt is sent?")
    return Line("Right: three receipts, each once, although the relay was started again.")
