"""L9.E3: which claims has a search that found nothing shown, which are refuted by a run, and which are open?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

from kafkalab.checks.all import check_all
from kafkalab.course.lab09.scenario import commit_in_doubt, lab09
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.result import NONE
from kafkalab.explore.search import explore
from kafkalab.faults.frame import Delay, Drop
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.history.export import history_of
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

SHOWN, REFUTED, OPEN = "shown", "refuted", "open"
WORDS = (SHOWN, REFUTED, OPEN)
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "open", 2: ...}}'
TORN = "torn transaction"
LOOKED_FOR = (TORN,)
MOST = 1
TWICE = "twice"
"""An order that was booked twice: no anomaly of the checks, since the shop itself has sent it twice."""


def seen_early() -> Scenario:
    """One order under version 2, and a reader that looks while the second marker is late."""
    looks = [["sleep", 2_500], ["poll", 500], ["sleep", 5_000], ["poll", 500]]
    steps = [["assign", ["payments-0", "deliveries-0"]], *looks]
    shop = lab09("4.x/TV2", orders=("tea",), cancelled=(), faults=(Delay("WriteTxnMarkers#2", 3_000),))
    return replace(shop, programs=(*shop.programs, Program("reader", "consumer_operations", {"steps": steps})))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim on a number of faults of some kinds in a scenario; and a run that may refute it."""

    says: str
    scenario: Callable[[], Scenario]
    finds: str
    faults: int = 1
    kinds: tuple[str, ...] = KINDS
    against: Callable[[], Scenario] | None = None
    look: str = ""
    misses: dict[str, str] | None = None

    @property
    def covered(self) -> bool:
        """True if the lab's search covers this claim, and that part of it finds nothing."""
        if self.finds not in LOOKED_FOR or self.faults > MOST or self.scenario() != _v2():
            return False
        return explore(self.scenario(), find=self.finds, most_faults=self.faults, kinds=self.kinds).verdict == NONE

    @property
    def truth(self) -> str:
        """The answer of the runs."""
        if self.against is not None and _shows(self.against(), self.finds):
            return REFUTED
        return SHOWN if self.covered else OPEN


def _shows(scenario: Scenario, anomaly: str) -> bool:
    """Return True if the run shows the anomaly, once every topic was read to its end."""
    cluster = ran(scenario)
    read_to_the_end(cluster)
    return _step(anomaly, cluster) >= 0


def _step(anomaly: str, cluster: Cluster) -> int:
    """Return the step at which the run shows the anomaly first, -1 if it does not."""
    if anomaly == TWICE:
        leader = cluster.controller.metadata.leader("payments-0")
        logged = [e for e in cluster.trace.of("append", "payments-0") if e.node == leader and not e.data.control]
        twice = len(set(seen := cluster.outcome().committed["payments-0"])) < len(seen)
        return logged[-1].step if twice else -1
    findings = (f for f in check_all(history_of(cluster)).findings if f.anomaly == anomaly)
    return min((f.steps[-1] for f in findings), default=-1)


def _v2() -> Scenario:
    return lab09("4.x/TV2")


CLAIMS = (
    Claim(
        says="version 1, one late frame: no transaction of the shop is torn",
        scenario=lab09,
        finds=TORN,
        kinds=("late",),
        against=lambda: lab09(faults=(Delay("EndTxn#1", 31_000),)),
        look="You have pressed the run that decides this row.",
        misses={SHOWN: "which version", OPEN: "a run is enough"},
    ),
    Claim(
        says="version 2, one late frame: no transaction of the shop is torn",
        scenario=_v2,
        finds=TORN,
        kinds=("late",),
        look="Is a late frame one of the kinds that the search tried?",
        misses={OPEN: "too careful", REFUTED: "which version"},
    ),
    Claim(
        says="version 2, one node crashes: no transaction of the shop is torn",
        scenario=_v2,
        finds=TORN,
        kinds=("crash",),
        look="Is a crash one of the kinds that the search tried?",
        misses={OPEN: "too careful", REFUTED: "which version"},
    ),
    Claim(
        says="version 2, three frames are late: no transaction of the shop is torn",
        scenario=_v2,
        finds=TORN,
        faults=3,
        kinds=("late",),
        look="How many faults at a time did the search try?",
        misses={SHOWN: "beyond the bound", REFUTED: "no run"},
    ),
    Claim(
        says="version 2, one fault: no transaction of a shop that books ten orders is torn",
        scenario=lambda: lab09("4.x/TV2", orders=tuple(f"order {n}" for n in range(10)), cancelled=()),
        finds=TORN,
        look="Which program did the search run?",
        misses={SHOWN: "beyond the bound", REFUTED: "no run"},
    ),
    Claim(
        says="version 2, one fault, another seed, and so other latencies: no transaction of the shop is torn",
        scenario=lambda: lab09("4.x/TV2", seed=2),
        finds=TORN,
        look="How many seeds did the search run?",
        misses={SHOWN: "beyond the bound", REFUTED: "no run"},
    ),
    Claim(
        says="version 2, one fault: no reader is given an order that was cancelled",
        scenario=_v2,
        finds="G1a",
        look="Which anomaly did the search look for?",
        misses={SHOWN: "not looked for", REFUTED: "no run"},
    ),
    Claim(
        says="the brokers have version 2, the client speaks version 1: no transaction is torn",
        scenario=lab09,
        finds=TORN,
        against=lambda: lab09(faults=(Delay("EndTxn#1", 31_000),)),
        look="Which version do the brokers of all runs in this lab have, and who decides which one is spoken?",
        misses={SHOWN: "brokers decide", OPEN: "brokers decide"},
    ),
    Claim(
        says="version 2, one fault: no reader sees a payment before its delivery",
        scenario=_v2,
        finds="partial visibility",
        against=seen_early,
        look="Each partition has a marker of its own. Did the search look for this?",
        misses={SHOWN: "not looked for", OPEN: "a run is enough"},
    ),
    Claim(
        says="version 2, one fault: a shop that books an order again after a time-out, with a new producer, has it "
        "once",
        scenario=lambda: commit_in_doubt("book again", "4.x/TV2"),
        finds=TWICE,
        against=lambda: commit_in_doubt("book again", "4.x/TV2").with_faults(Drop("EndTxnResponse#1")),
        look="What had happened to the first transaction when its answer was lost?",
        misses={SHOWN: "not looked for", OPEN: "a run is enough"},
    ),
)


@cache
def facts() -> tuple[Fact, ...]:
    """The claims as rows, with what the runs say of each."""
    return tuple(
        Fact(
            name=n, says=claim.says, truth=claim.truth, look=claim.look, run=claim.against, misses=claim.misses,
            step=partial(_step, claim.finds),
        )
        for n, claim in enumerate(CLAIMS, 1)
    )  # fmt: skip


BELIEFS = {
    "which version": Belief(
        says="both versions of the protocol do the same with a late EndTxn",
        hint="The late EndTxn tears a transaction under version 1 and is refused under version 2. Which version is "
        "this row about?",
    ),
    "too careful": Belief(
        says="a search proves nothing, not even within its bound",
        hint="Within its bound the search has run every case: nothing is left open there.",
    ),
    "beyond the bound": Belief(
        says="a search that finds nothing also proves what it did not try",
        hint="Nothing was found *in what was tried*. Compare the row with the search, part by part: program, seed, "
        "number of faults.",
    ),
    "no run": Belief(
        says="a claim that nobody has tried is refuted",
        hint="Only a run that breaks a claim refutes it. Which run is it here?",
    ),
    "a run is enough": Belief(
        says="one run that breaks a claim does not settle it",
        hint="One run that breaks the claim refutes it, and this lab or lab 5 has one.",
    ),
    "brokers decide": Belief(
        says="brokers of version 2 protect clients that speak version 1",
        hint="In all runs of this lab the brokers have version 2. A transaction is torn if the client speaks version "
        "1.",
    ),
    "not looked for": Belief(
        says="a search for one anomaly rules out the others, too",
        hint="The search looked for torn transactions. This row is about another anomaly.",
    ),
}


EXERCISE = Exercise(
    "L9.E3",
    rows(lambda _: facts(), WORDS, FORM, "claim", beliefs=BELIEFS),
    (
        "For each claim ask first: have you seen a run that breaks it? Then it is refuted, whatever a search says. If "
        "not: is all of it inside what the search tried?",
        "The search has one scenario (one program, one seed, version 2), one fault at a time of the kinds that it "
        "names, and looks for one anomaly. A claim about anything more is open.",
        "Two rows are shown: those about this shop, version 2, one fault, and the anomaly that was looked for. Four "
        "ask for more than that. A run contradicts each of the other four: two of these runs are in this lab, one is "
        "in lab 5, and one is the commit that times out, above.",
    ),
    points=10,
    questions=(26,),
    misses=BELIEFS,
    afterwards=(
        "Why: a search that finds nothing proves a claim only for the cases that it tried, and one run is enough to "
        "refute a claim. Version 2 keeps a transaction in one piece. It promises no snapshot, and it does not know "
        "that you book the same order again. Next: a real client that lost half of an order."
    ),
)
