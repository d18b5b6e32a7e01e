"""The causal chain of an incident: the frame that a rule would have treated otherwise, the state in which its receiver
was, the rule, and the record that shows the harm.

`fits_together` knows what any learner may know: where a rule acts and what its absence does. Only `explain`
looks at the incident.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kafkalab.checks.all import check_all
from kafkalab.course.lab13.evidence import list_given
from kafkalab.course.lab13.incidents import client_logs, draw_incidents, first_difference, without
from kafkalab.history.export import history_of
from kafkalab.protocol import rules
from kafkalab.protocol.rules import Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

IN_LOG, MISSING, NONE_OPEN, ONE_OPEN, UNDECIDED, ABORTED, MOVED_ON = (
    "in the log", "one missing", "none open", "one open", "undecided", "aborted", "moved on",
)  # fmt: skip
STATES = {
    IN_LOG: "the log has this batch already",
    MISSING: "an earlier batch of this producer is not in the log",
    NONE_OPEN: "the coordinator has no open transaction under this name",
    ONE_OPEN: "the coordinator has an open transaction under this name",
    UNDECIDED: "a transaction on which this depends has no marker yet",
    ABORTED: "the transaction has an ABORT marker",
    MOVED_ON: "the group has a newer generation",
}
"""The states of a frame's receiver, by the word that a chain uses for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Describe a rule in any run: the frames at which it acts, the state, the broken promise, and what to look for.

    `by` says before what the deciding frame arrived: the first step that differs, a finding's steps, or its reads.
    """

    frames: tuple[str, ...]
    state: str
    breaks: tuple[str, ...]
    look: str
    by: str = "difference"


CAUSES: dict[Rule, Cause] = {
    rules.DEDUPLICATION: Cause(
        frames=("Produce",), state=IN_LOG, breaks=("duplicate", "sequence gap"),
        look="a Produce that repeats the producer's last sequence, and is appended again",
    ),
    rules.FIVE_BATCHES: Cause(
        frames=("Produce",), state=IN_LOG, breaks=("duplicate",),
        look="a Produce that repeats an older sequence than the last, and is called out of order",
    ),
    rules.SEQUENCE_GAPS: Cause(
        frames=("Produce",), state=MISSING, breaks=("sequence gap",),
        look="a sequence in the log that does not follow the one before",
    ),
    rules.ABORT_ON_INIT: Cause(
        frames=("InitProducerId",), state=ONE_OPEN, breaks=("torn transaction",),
        look="a second InitProducerId, and no ABORT of what was open before it",
    ),
    rules.TIMEOUT_MAXIMUM: Cause(
        frames=("InitProducerId",), state=NONE_OPEN, breaks=("hanging transaction",),
        look="a timeout of more than 15 minutes that is accepted",
    ),
    rules.VERIFICATION: Cause(
        frames=("Produce",), state=NONE_OPEN, breaks=("hanging transaction",),
        look="a transactional record although the coordinator says Empty",
    ),
    rules.EPOCH_PER_TRANSACTION: Cause(
        frames=("EndTxn", "Produce", "WriteTxnMarkers"), state=UNDECIDED, breaks=("torn transaction",),
        look="two transactions with one epoch, and one marker after the records of both", by="finding",
    ),
    rules.LSO_BOUND: Cause(
        frames=("Fetch",), state=UNDECIDED, breaks=("G1a",),
        look="a read_committed reader that gets a record before its marker is written", by="reads",
    ),
    rules.ABORTED_FILTER: Cause(
        frames=("Fetch",), state=ABORTED, breaks=("G1a",),
        look="a read_committed reader that returns a record whose ABORT marker it got as well", by="reads",
    ),
    rules.GENERATION_CHECK: Cause(
        frames=("TxnOffsetCommit",), state=MOVED_ON, breaks=("exactly-once", "offset/output split"),
        look="offsets of a member that has missed a rebalance, and are accepted",
    ),
    rules.STABLE_OFFSETS: Cause(
        frames=("OffsetFetch",), state=UNDECIDED, breaks=("exactly-once", "offset/output split"),
        look="an answer to OffsetFetch while offsets of the group have no marker",
    ),
}  # fmt: skip
"""The rules of which one is missing in each incident."""
BY_NAME = {rule.name: rule for rule in CAUSES}
EFFECTS = tuple(sorted({name for cause in CAUSES.values() for name in cause.breaks}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A learner's explanation of an incident; `effect` is an anomaly and a record, like "duplicate out-0@1"."""

    frame: str
    state: str
    rule: str
    effect: str

    @property
    def api(self) -> str:
        """The request's name, also for its response."""
        return self.frame.partition("#")[0].removesuffix("Response")

    @property
    def anomaly(self) -> str:
        """The first part of the effect."""
        return self.effect.rpartition(" ")[0]


def fits_together(chain: Chain) -> str:
    """Return what in the chain contradicts the rest of it, whatever has happened; "" if nothing does."""
    cause = CAUSES[BY_NAME[chain.rule]]
    if chain.api not in cause.frames:
        return f"The rule that you name does not act on {chain.api or 'that'}. Which request does it look at?"
    if chain.state != cause.state:
        return (
            f"In the state {chain.state!r} that rule would change nothing. When does it refuse or hold back a request?"
        )
    if chain.anomaly not in cause.breaks:
        return f"Without that rule no check finds {chain.anomaly!r}. What does the rule protect?"
    return ""


@cache
def explain(case: int, number: int, rule: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the deciding frames and the effects of an incident if this rule was missing; empty if it was not."""
    scenario = draw_incidents(case)[number][1]
    if client_logs(without(scenario, BY_NAME[rule])) != list_given(case)[number]["logs"]:
        return frozenset(), frozenset()
    return truth_of(scenario, BY_NAME[rule])


def is_so(chain: Chain, case: int, number: int) -> bool:
    """Return True if the chain is what has happened in this incident."""
    frames, effects = explain(case, number, chain.rule)
    return f"{chain.api}#{chain.frame.partition('#')[2]}" in frames and chain.effect in effects


def truth_of(scenario: Scenario, rule: Rule) -> tuple[frozenset[str], frozenset[str]]:
    """Return the deciding frames, and the effects, of the scenario without this rule."""
    cause = CAUSES[rule]
    cluster, step = first_difference(scenario, rule)
    found = [
        f for f in check_all(history_of(cluster)).findings if f.policy == "forbidden" and f.anomaly in cause.breaks
    ]
    steps = [step] if cause.by == "difference" else []
    if cause.by == "finding":
        steps += [s for f in found for s in f.steps[1:]]
        keys = {key for f in found for key in f.keys}
        steps += [e.step for e in cluster.trace.of("append") if e.name in keys and e.data.control is not None]
    elif cause.by == "reads":
        steps += [s for f in found for s in f.steps if cluster.trace.events[s].kind == "complete"]
    frames = {name for s in steps if (name := _frame_before(cluster, s, cause.frames))}
    effects = {f"{f.anomaly} {key}@{offset}" for f in found for key in f.keys for offset in f.offsets}
    return frozenset(frames), frozenset(effects)


def _frame_before(cluster: Cluster, step: int, apis: tuple[str, ...]) -> str:
    """Return the request of one of these names whose arrival, or whose answer's, led to the step most directly."""
    event = cluster.trace.events[step]
    while True:
        if event.kind == "receive":
            frame = cluster.trace.frames[event.frame]
            name, _, number = frame.id.partition("#")
            if name.removesuffix("Response") in apis:
                return f"{name.removesuffix('Response')}#{number}"
        if event.cause < 0:
            return ""
        event = cluster.trace.events[event.cause]
