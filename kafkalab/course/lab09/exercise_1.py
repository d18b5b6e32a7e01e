"""L9.E1: the fewest presses for a value read that was aborted, a value lost, and a transaction only torn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkalab.checks.check import VIOLATED
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import view_of
from kafkalab.course.lab09.scenario import lab09
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.presses import Goal, Miss, judge_presses
from kafkalab.grading.seeds import seed
from kafkalab.history.export import history_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame

G1A, LOST, TORN = "G1a", "lost write", "torn"
NAMED = (G1A, LOST, TORN)
MOST, PAR = 2, 1
ALLOWED = ("Drop", "Duplicate", "Delay", "Hold", "Release", "Reorder")
EXAMPLE = (Delay("EndTxn#2", 1_000),)
FORM = f"a dict with a list of presses for each of {', '.join(map(repr, NAMED))}"


def scenario(of_seed: int = 1) -> Scenario:
    """Three orders under version 1: the second is cancelled."""
    return lab09(orders=("tea", "jam", "pot"), cancelled=("jam",), seed=of_seed)


def shown_by(cluster: Cluster) -> tuple[str, ...]:
    """Return what happened to the orders: a cancelled one is read, a committed one is lost in part, one is torn."""
    seen = cluster.outcome().committed
    orders: list[str] = cluster.scenario.programs[0].args["orders"]
    cancelled: list[str] = cluster.scenario.programs[0].args["cancelled"]
    read = any(order in values for order in cancelled for values in seen.values())
    lost = any(order not in values for order in orders if order not in cancelled for values in seen.values())
    torn = torn_transaction(view_of(history_of(cluster))).verdict == VIOLATED
    return tuple(name for name, found in ((G1A, read), (LOST, lost), (TORN, torn)) if found)


def shows(cluster: Cluster, wanted: str) -> bool:
    """Return True if the shop came to its end, and this happened; "torn" counts only alone."""
    if cluster.results.get("shop") != "booked":
        return False
    return shown_by(cluster) == (TORN,) if wanted == TORN else wanted in shown_by(cluster)


def late(cluster: Cluster) -> tuple[Frame, ...]:
    """The EndTxn requests that arrive after one that was sent later."""
    ends = [f for f in cluster.trace.frames.values() if f.name == "EndTxn" and f.received_step >= 0]
    return tuple(f for f in ends if any(f.sent_step < o.sent_step and o.received_step < f.received_step for o in ends))


def _ended_something(cluster: Cluster) -> bool:
    """Return True if a decision of the coordinator goes back to a late EndTxn."""
    decisions = [e for e in cluster.trace.of("state", "transaction") if e.data["state"].startswith("Prepare")]
    return not {_cause(cluster, e.step) for e in decisions}.isdisjoint({f.id for f in late(cluster)})


def _cause(cluster: Cluster, step: int) -> str:
    """The EndTxn that an event goes back to, "" for none."""
    while step >= 0:
        event = cluster.trace.events[step]
        if event.kind == "receive" and event.frame.startswith("EndTxn#"):
            return event.frame
        step = event.cause
    return ""


def _step(cluster: Cluster) -> int:
    """Return the step at which the first late EndTxn arrives, or the first of all; -1 for none."""
    ends = late(cluster) or tuple(f for f in cluster.trace.frames.values() if f.name == "EndTxn")
    return ends[0].received_step if ends else -1


def _has_waited(cluster: Cluster) -> bool:
    """Return True if no EndTxn was sent again: the shop had its answer in time."""
    return not any(f.name == "EndTxn" and f.attempt > 1 for f in cluster.trace.frames.values())


def _misses(of_other: str) -> tuple[Miss, ...]:
    return (
        Miss(
            "too early",
            "No EndTxn was sent a second time. If the shop gets an answer within 30 seconds, it sends only one EndTxn "
            "for each transaction.",
            _has_waited,
            hint="The shop gives a request up after 30 seconds and sends it again. The first one must arrive after "
            "that: how late is it then, at least?",
            step=_step,
        ),
        Miss(
            "between",
            "An EndTxn arrived twice, and the late one ended nothing: no transaction was open when it arrived, or none "
            "had written yet.",
            lambda cluster: not _ended_something(cluster),
            hint="Each order is open for two seconds, between its payment and its delivery. Look in the picture when "
            "the order that you mean writes its payment, and let the late EndTxn arrive after that.",
            step=_step,
        ),
        Miss(
            "another order",
            f"The late EndTxn ended another transaction than you meant. {of_other}",
            lambda cluster: True,
            hint=0,
            step=_step,
        ),
    )


OTHERS = {
    G1A: "To have readers get an aborted value, the late request must be a commit that ends a transaction which is "
    "aborted afterwards.",
    LOST: "To lose a committed value, the late request must be an abort that ends a transaction which is committed "
    "afterwards.",
    TORN: "To have a transaction only torn, the late request must decide the same as the shop, but before the second "
    "half is written.",
}
SAYS = {G1A: "aborted value that is read", LOST: "committed value that is lost", TORN: "transaction that is torn only"}


def _goal(name: str) -> Goal:
    return Goal(
        says=SAYS[name],
        reached=lambda cluster: shows(cluster, name),
        misses=_misses(OTHERS[name]),
        example=EXAMPLE,
    )


GOALS = {name: _goal(name) for name in NAMED}


def check(answer: object) -> str:
    """ "3 of 3 found, in 3 presses" if each list of presses shows its anomaly; WrongAnswer is about the first."""
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    for name in answer:
        if name not in NAMED:
            raise WrongValue(f"There is no {name!r} here. Give {FORM}.")
    given = {name: answer.get(name, ...) for name in NAMED}
    if all(is_blank(presses) or presses in ([], ()) for presses in given.values()):
        raise BlankAnswer(f"All three are still blank. Give {FORM}.")
    found, presses = 0, 0
    for name, value in given.items():
        try:
            judge_presses(value, scenario(seed()), GOALS[name], MOST, PAR, ALLOWED)
        except WrongAnswer as error:
            raise WrongAnswer(
                f"{found} of {len(NAMED)} are found. {name}: {error}",
                run=error.run, step=error.step, miss=error.miss, part=found / len(NAMED),
            ) from None  # fmt: skip
        found, presses = found + 1, presses + _count(value)
    enough = "" if presses <= PAR * len(NAMED) else f"; {PAR * len(NAMED)} would be enough"
    return f"{found} of {len(NAMED)} found, in {presses} presses{enough}"


def _count(value: object) -> int:
    given: Any = getattr(getattr(value, "cluster", value), "scenario", value)
    faults: tuple[Fault, ...] = given.faults if isinstance(given, Scenario) else tuple(given)
    return len(faults)


EXERCISE = Exercise(
    "L9.E1",
    check,
    (
        "In each case one EndTxn comes late, into a transaction that is not its own. Ask two things: does it say "
        "commit or abort, and what does the shop want for the transaction that it meets?",
        "Tea and pot are committed, jam is aborted. A late commit that meets jam, a late abort that meets pot, a late "
        "commit that meets pot: which is which? A frame that is late by 30 seconds and a bit meets the next order.",
        "`Delay(\"EndTxn#1\", 31_000)` lets tea's commit arrive while jam is open. The abort of jam is EndTxn#2, and "
        "pot is open two seconds later than jam: for each of the others change the frame, or add two seconds and a "
        "bit.",
    ),
    points=6,
    questions=(25,),
    misses=GOALS[G1A].hints,
    afterwards=(
        "Why: under version 1 an EndTxn names a producer id and an epoch, and both are the same for every transaction "
        "of this shop. It ends the transaction that is open when it arrives. Next: a shop that is safe although its "
        "client speaks version 1."
    ),
)  # fmt: skip
