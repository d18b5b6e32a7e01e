"""L3.E3: committed or aborted, by what a crash has left? The learner's function beside the runs, and mutants of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Event

FORM = 'a function fate(moment) that returns "committed" or "aborted"'
COMMIT, ABORT = "commit_transaction", "abort_transaction"
RUNS, ABORTED = 7, (3, 6)
"""So many runs at least; in these of them app calls abort_transaction()."""

SETTLED_MS = 1_000
"""The time by which a crashed sender's frames have arrived or never will; no new coordinator is elected yet."""

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The arguments of the learner's function, the run with these crashes, and the outcome of its transaction."""

    facts: Facts
    scenario: Scenario
    truth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """A run in which nothing crashes, and where to look in it."""

    scenario: Scenario
    cluster: Cluster
    name: str
    call: str

    @property
    def log(self) -> str:
        return f"{TRANSACTION_TOPIC}-{partition_for(self.name)}"

    @property
    def replicas(self) -> tuple[str, ...]:
        """The brokers with a copy of the coordinator's log; the first is the coordinator."""
        return tuple(self.cluster.controller.metadata.partitions[self.log].replicas)

    def first(self, found: Callable[[Event], bool]) -> int:
        return next(e.step for e in self.cluster.trace.events if found(e))

    def entry(self, node: str, prefix: str) -> int:
        """The step at which this broker's copy has the first entry of a state that begins so."""
        return self.first(lambda e: (e.kind, e.node, e.name) == ("append", node, self.log) and any(
            r.key == self.name and r.value.state.label.startswith(prefix) for r in e.data.records))  # fmt: skip


def _whole(random: Random, call: str) -> _Whole:
    """Some name, some latencies, either version of the protocol; one transaction over two partitions."""
    name = f"payments-{random.randrange(60)}"
    profile, of_seed = random.choice(("4.x/TV1", "4.x/TV2")), random.randint(1, 10_000)
    sends = [["send", "accounts", value, None, partition] for partition, value in enumerate(("-10", "+10"))]
    steps = [["init_transactions"], ["begin_transaction"], *sends, ["flush"], [call]]
    scenario = Scenario(
        title=f"{call}(), and a crash",
        profile=profile,
        seed=of_seed,
        topics={"accounts": 2},
        programs=(Program("app", "operations", {"transactional_id": name, "steps": steps}),),
    )
    cluster = ran(scenario)
    return _Whole(scenario=scenario, cluster=cluster, name=name, call=call)


def _between(whole: _Whole, random: Random) -> tuple[int, tuple[str, ...]]:
    """A step at which one copy has the decision and another has not yet; app and coordinator crash."""
    boss, *others = whole.replicas
    copied = sorted(whole.entry(node, "Prepare") for node in others)
    return random.randint(copied[0], copied[1] - 1), ("app", boss)


def _crashes(whole: _Whole, random: Random) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Steps of the run, and who crashes there: before the question, on its way, and after the end."""
    boss, *others = whole.replicas
    called = whole.first(lambda e: (e.kind, e.name) == ("invoke", whole.call))
    arrived = whole.first(lambda e: (e.kind, e.frame) == ("receive", "EndTxn#1"))
    written = whole.entry(boss, "Prepare")
    copied = sorted(whole.entry(node, "Prepare") for node in others)
    over = max(whole.entry(node, "Complete") for node in whole.replicas)
    yield called, ("app",)
    yield random.randint(arrived, copied[1]), ("app",)
    yield random.randint(called, copied[1]), (boss,)
    yield random.choice((arrived, written)), ("app", boss)
    yield random.randint(copied[1], copied[1] + 4), ("app", boss)
    yield random.randint(called, copied[1]), ("app", random.choice(others))
    yield over, ("app", boss)


def _moment(whole: _Whole, step: int, crashed: tuple[str, ...]) -> Moment:
    """The run with these crashes, and what a witness of the moment would write down."""
    scenario = whole.scenario.with_faults(*(Crash(node, at_step=step) for node in crashed))
    cluster = ran(scenario)
    asked = cluster.trace.frames.get("EndTxn#1")
    in_time = asked is not None and 0 <= asked.received_step <= step
    arrived = in_time or (asked is not None and "app" in crashed and asked.received_step >= 0)
    events = cluster.trace.events
    settled = events[step].at_ms + SETTLED_MS if whole.replicas[0] in crashed else -1
    seen = [e for e in events if e.step <= step or e.at_ms <= settled]
    facts = {
        "call": whole.call,
        "crashed": list(crashed),
        "arrived": arrived,
        "replicas": list(whole.replicas),
        "copies": {node: _newest(seen, node, whole) for node in whole.replicas},
    }
    return Moment(facts=facts, scenario=scenario, truth=cluster.outcome().verdict)


def _newest(events: Sequence[Event], node: str, whole: _Whole) -> str:
    """The newest state of the transaction in this broker's copy of the coordinator's log."""
    appends = (e for e in events if (e.kind, e.node, e.name) == ("append", node, whole.log))
    states: list[str] = [r.value.state.label for e in appends for r in e.data.records if r.key == whole.name]
    return states[-1]


@cache
def moments(of_seed: int) -> tuple[Moment, ...]:
    """Moments of some runs, no two alike; with crashes in which one living copy lacks the decision, each in turn."""
    random = random_for("L3.E3", of_seed)
    found: list[Moment] = []
    parted: set[str] = set()
    runs = 0
    while runs < RUNS or len(parted) < 2:
        runs += 1
        whole = _whole(random, ABORT if runs in ABORTED else COMMIT)
        between = _moment(whole, *_between(whole, random))
        first, second = (between.facts["copies"][node] for node in whole.replicas[1:])
        if whole.call == COMMIT and first != second:
            parted.add(first)
        found.append(between)
        if runs <= RUNS:
            found += (_moment(whole, *crash) for crash in _crashes(whole, random))
    chosen = list({repr(moment.facts): moment for moment in found}.values())
    random.shuffle(chosen)
    return tuple(chosen)


def decide(
    moment: Facts,
    *,
    call_decides: bool = False,
    arrival_decides: bool = False,
    dead_copy: bool = False,
    copies: Callable[..., bool] | None = None,
    dies_with_broker: bool = False,
    dies_with_app: bool = False,
    any_prepare: bool = False,
    complete: bool = True,
) -> str:
    """Return the transaction's outcome with some of the rules switched; with none it is what the runs show."""
    crashed, replicas = moment["crashed"], moment["replicas"]
    living = [node for node in replicas if node not in crashed]
    words = ["PrepareCommit", "CompleteCommit"] if complete else ["PrepareCommit"]
    words += ["PrepareAbort", "CompleteAbort"] if any_prepare else []
    there = {node: moment["copies"][node] in words for node in (replicas if dead_copy else living)}
    commits = any_prepare or moment["call"] == COMMIT
    coordinator_lives = living[0] == replicas[0]
    if call_decides:
        return "committed" if commits else "aborted"
    if (dies_with_app and "app" in crashed) or (dies_with_broker and not coordinator_lives):
        return "aborted"
    asked = "app" not in crashed or (moment["arrived"] and (coordinator_lives or arrival_decides))
    read = copies(there.values()) if copies else there[replicas[0] if dead_copy else living[0]]
    return "committed" if read or (asked and commits) else "aborted"


MUTANTS = (
    Mutant(
        "the call decides", "the call itself were the decision; no broker knows of it yet",
        partial(decide, call_decides=True), hint=0,
    ),
    Mutant(
        "arrival decides", "EndTxn were the decision; a request that a broker has only received is gone when it "
        "crashes",
        partial(decide, arrival_decides=True), hint=1,
    ),
    Mutant(
        "the first copy decides", "the crashed coordinator's own copy still counted; the next one reads another",
        partial(decide, dead_copy=True),
        hint="The crashed broker stays down: no broker can read an entry that only it has. Which copy does the next "
        "coordinator read?",
    ),
    Mutant(
        "any copy decides", "it were enough that some living broker has the decision; one of them leads",
        partial(decide, copies=any), hint=1,
    ),
    Mutant(
        "every copy is asked", "each copy had to have the decision; the next leader asks no other broker",
        partial(decide, copies=all),
        hint="A coordinator can *promise* the decision once every copy has it. But one broker's copy decides how the "
        "transaction ends: which one?",
    ),
    Mutant(
        "dies with its coordinator", "the transaction died with its coordinator; the log survives",
        partial(decide, dies_with_broker=True),
        hint="Another broker leads the log after nine seconds. What does it find there, and who asks it?",
    ),
    Mutant(
        "dies with its application", "nothing could commit once app is dead", partial(decide, dies_with_app=True),
        hint=1,
    ),
    Mutant(
        "every Prepare commits", "every prepared transaction committed; an abort is prepared, too",
        partial(decide, any_prepare=True),
        hint="PrepareAbort is a decision, too. Look at `call`, or at the second half of the word.",
    ),
    Mutant(
        "Complete is no commit", "CompleteCommit were no commit any more", partial(decide, complete=False),
        hint="CompleteCommit is written after PrepareCommit. Can a transaction that was committed become aborted?",
    ),
)  # fmt: skip


def truth(of_seed: int) -> Callable[[Facts], str]:
    """Return the outcome of each moment in its run."""
    return lambda facts: _moment_of(of_seed, facts).truth


def _moment_of(of_seed: int, facts: Facts) -> Moment:
    return next(moment for moment in moments(of_seed) if moment.facts == facts)


def cases(of_seed: int) -> tuple[Case, ...]:
    """The moments as arguments of the learner's function."""
    return tuple((moment.facts,) for moment in moments(of_seed))


def _run_of(facts: Facts) -> Counterexample:
    return {"run": _moment_of(seed(), facts).scenario}


EXERCISE = Exercise(
    "L3.E3",
    lambda answer: against_mutants(answer, truth(seed()), MUTANTS, cases(seed()), FORM, _run_of),
    (
        "Three questions, one after the other. What does app want? Which living node knows that? And if none does: "
        "what does the log of the coordinator say, the old one or the next?",
        "A live app asks until it has an answer. A live coordinator that has received EndTxn needs no other node. "
        "Otherwise look at one copy only: that of the first broker in `replicas` which has not crashed.",
        "Let `leader` be the first of `replicas` that is not in `crashed`. It ends committed if copies[leader] is "
        "PrepareCommit or CompleteCommit; or if a commit was called and app lives; or if a commit was called, EndTxn "
        "has arrived, and `leader` still is the first of `replicas`. In all other cases it ends aborted.",
    ),
    points=8,
    misses=hints_of(MUTANTS),
    questions=(24,),
    question=lambda of_seed: tuple(moment for (moment,) in cases(of_seed)),
    afterwards=(
        "Why: the decision is one entry in one log, and it is final once every in-sync replica has it. Before that, "
        "the copy of the next leader decides. Next: lab 4 shows what the markers do to offsets and lag."
    ),
)
