"""A worked example before L9.E2: one order whose commit times out, with two lines left to fill in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.course.lab09.scenario import TOPICS
from kafkalab.faults.frame import Delay, Drop
from kafkalab.grading.exercise import Line
from kafkalab.programs.paid_orders import DELIVERIES, PAYMENTS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FAULTS = {
    "nothing is lost": (),
    "EndTxn#1 is lost": (Drop("EndTxn#1"),),
    "its answer is lost": (Drop("EndTxnResponse#1"),),
    "EndTxn#1 is late": (Delay("EndTxn#1", 21_500),),
}
WANTED = "1 payment, 1 delivery"


def show_runs(program: Callable[..., Any]) -> Line:
    """Run a program that books tea in four ways; return a line for each, and whether all of them are right."""
    lines = [f"{says:20}{_run(program, faults)}" for says, faults in FAULTS.items()]
    right = all(line.endswith(WANTED) for line in lines)
    return Line("\n".join(f"    {line}" for line in lines) + f"\n{'✓ right' if right else 'Not yet.'}")


def _run(program: Callable[..., Any], faults: Any) -> str:
    """Return what readers find, or how the program stops."""
    scenario = Scenario(
        title="One order, booked once", profile="4.x/TV1", topics=TOPICS, programs=(Program("shop", program),),
        faults=faults,
    )  # fmt: skip
    cluster = Cluster(scenario)
    try:
        cluster.run()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    result = cluster.results.get("shop")
    if isinstance(result, KafkaError):
        return f"{type(result).__name__}: {str(result).partition(chr(10))[0]}"
    paid, sent = (len(cluster.outcome().committed[f"{topic}-0"]) for topic in (PAYMENTS, DELIVERIES))
    return f"{_count(paid, 'payment', 'payments')}, {_count(sent, 'delivery', 'deliveries')}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
