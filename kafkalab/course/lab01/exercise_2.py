"""L1.E2: a leader's decision about one batch, run beside the one that the brokers use, and beside mutants of it."""

from __future__ import annotations

from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.grading.counterexamples import answer_step
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.log.producer_state.append import Origin
from kafkalab.log.producer_state.entry import CACHED_BATCHES, CachedBatch, ProducerEntry
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.programs.orders import PARTITION, TOPIC
from kafkalab.programs.steps import idempotent, produce_idempotent
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import SEQUENCE_MAX, Batch, Record, sequence_after
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

FORM = "a function accept(state, batch) that returns (appended, error)"
PRODUCER_ID = 2000
GAP, OLD_EPOCH = Error.OUT_OF_ORDER_SEQUENCE_NUMBER.name, Error.INVALID_PRODUCER_EPOCH.name
STREAMS, LENGTH = 16, 20

State = dict[str, Any]
Decision = tuple[int, str]


def reference(state: State, batch: dict[str, int]) -> Decision:
    """Return what a leader with this memory does, by the code that the brokers of this package run."""
    states = ProducerStates()
    entry = ProducerEntry(producer_epoch=state["epoch"])
    for first, last in state["batches"]:
        delta = (last - first) & SEQUENCE_MAX
        entry.batches.append(CachedBatch(last, 100, delta, 0))
    if state["epoch"] >= 0:
        states.entries[PRODUCER_ID] = entry
    records = (Record(None, ""),) * batch["count"]
    arriving = Batch(
        records=records, producer_id=PRODUCER_ID, producer_epoch=batch["epoch"], base_sequence=batch["first"]
    )
    found = states.analyze(arriving, Origin.CLIENT)
    if isinstance(found, CachedBatch):
        return 0, "NONE"
    return (batch["count"], "NONE") if found is Error.NONE else (0, found.name)


def decide(
    state: State,
    batch: dict[str, int],
    *,
    window: int = CACHED_BATCHES,
    gaps: bool = True,
    per_record: bool = True,
    epochs: bool = True,
    new_epoch_at_zero: bool = True,
    unknown_at_zero: bool = False,
    duplicates: bool = True,
    exact: bool = True,
    wraps: bool = True,
) -> Decision:
    """The decision with some of its rules switched; with none switched it is the reference, which a test says."""
    epoch, batches = state["epoch"], state["batches"][-window:] if window else []
    first, count = batch["first"], batch["count"]
    last = sequence_after(first, count - 1) if wraps else first + count - 1
    known = (first, last) in batches or (not exact and any(f <= first and last <= e for f, e in batches))
    if duplicates and known and (not epochs or batch["epoch"] == epoch):
        return 0, "NONE"
    if epochs and batch["epoch"] < epoch:
        return 0, OLD_EPOCH
    if not gaps:
        return count, "NONE"
    if epoch == -1:
        return (0, GAP) if unknown_at_zero and first else (count, "NONE")
    if epochs and batch["epoch"] > epoch:
        return (0, GAP) if new_epoch_at_zero and first else (count, "NONE")
    due = _due(batches or state["batches"], per_record, wraps)
    return (count, "NONE") if first == due else (0, GAP)


def _due(batches: list[tuple[int, int]], per_record: bool, wraps: bool) -> int:
    if not batches:
        return 0
    first, last = batches[-1]
    newest = last if per_record else first
    return sequence_after(newest, 1) if wraps else newest + 1


MUTANTS = (
    Mutant(
        "no gap check", "a batch could be written before the one that precedes it", partial(decide, gaps=False),
        hint=0,
    ),
    Mutant(
        "sequence per batch", "a sequence counted batches; it counts records", partial(decide, per_record=False), hint=1
    ),
    Mutant(
        "window of one", "the leader remembered only its newest batch", partial(decide, window=1),
        hint="Five requests may be in flight. If the oldest of them is sent again, the leader may have four newer "
        "batches already: look at all of state['batches'].",
    ),
    Mutant(
        "epoch ignored", "there were no epochs", partial(decide, epochs=False),
        hint="The epoch is compared twice: a lower one is INVALID_PRODUCER_EPOCH, and a higher one begins a new "
        "count.",
    ),
    Mutant(
        "new epoch anywhere", "a new epoch could begin with any sequence", partial(decide, new_epoch_at_zero=False),
        hint="A producer that takes a new epoch begins a new count. With which sequence?",
    ),
    Mutant(
        "unknown must begin at 0", "an idle producer could never continue after the leader forgot it",
        partial(decide, unknown_at_zero=True),
        hint="Epoch -1 means that the leader remembers nothing of this producer. Can it tell which sequence comes "
        "next?",
    ),
    Mutant(
        "retry is an error", "a retry were an error; its sender needs the first answer",
        partial(decide, duplicates=False), hint=1,
    ),
    Mutant(
        "part of a batch is known", "an overlap of sequences made a duplicate; first and last must agree",
        partial(decide, exact=False), hint=1,
    ),
    Mutant(
        "no wrap", "sequences had no largest number; after 2147483647 comes 0", partial(decide, wraps=False),
        hint="A batch that begins at 2147483647 and has two records ends with sequence 0. Does your `last` say so?",
    ),
)  # fmt: skip


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """States and batches as they come up at a leader: retries of all ages, gaps, new and old epochs, unknown ids."""
    random = random_for("L1.E2", of_seed)
    found: list[Case] = []
    for stream in range(STREAMS):
        near_the_end = SEQUENCE_MAX - random.randint(0, 5)
        first = (0, near_the_end, random.randint(1, 99), near_the_end)[stream % 4]
        state: State = {"epoch": -1, "batches": []}
        sent: list[tuple[int, int, int]] = []
        for _ in range(LENGTH):
            batch = _next(random, state, sent, first)
            found.append(({"epoch": state["epoch"], "batches": list(state["batches"])}, batch))
            appended, _ = decide(state, batch)
            if appended:
                sent.append((batch["epoch"], batch["first"], batch["count"]))
                _remember(state, batch)
    return tuple(found)


def _next(random: Random, state: State, sent: list[tuple[int, int, int]], first: int) -> dict[str, int]:
    """A batch that goes on, in seven of ten; else a retry, a gap, a part of a batch, another epoch."""
    count = random.randint(1, 4)
    epoch = max(state["epoch"], 0)
    due = _due(state["batches"], True, True) if state["batches"] else (first if state["epoch"] == -1 else 0)
    kind = random.choice(("next", "next", "next", "next", "retry", "retry", "gap", "part", "epoch", "old"))
    if kind == "retry" and sent:
        epoch, due, count = random.choice(sent[-8:])
    elif kind == "gap":
        due = sequence_after(due, random.randint(1, 3))
    elif kind == "part" and state["batches"]:
        start, _ = state["batches"][-1]
        due, count = start, max(1, count - 1)
    elif kind == "epoch":
        epoch, due = epoch + 1, random.choice((0, 0, due))
    elif kind == "old" and epoch:
        epoch -= 1
    return {"epoch": epoch, "first": due, "count": count}


def _remember(state: State, batch: dict[str, int]) -> None:
    if batch["epoch"] != state["epoch"]:
        state["epoch"], state["batches"] = batch["epoch"], []
    last = sequence_after(batch["first"], batch["count"] - 1)
    state["batches"] = [*state["batches"], (batch["first"], last)][-CACHED_BATCHES:]


def scenario(state: State, batch: dict[str, int]) -> Scenario:
    """A client that brings a leader into this state, by hand, and then sends the batch. A retry has its records."""
    remembered = [(state["epoch"], f, ((last - f) & SEQUENCE_MAX) + 1) for f, last in state["batches"]]
    steps = [idempotent("A")]
    sent = [*remembered, (batch["epoch"], batch["first"], batch["count"])]
    for epoch, first, count in sent:
        values = [f"{sent.index((epoch, first, count)) + 1}{letter}" for letter in "abcde"[:count]]
        steps.append(produce_idempotent("A", PARTITION, first, *values, epoch=f"+{epoch}" if epoch else ""))
    program = Program("by hand", "raw_requests", {"steps": steps})
    return Scenario(title="The leader of the case", topics={TOPIC: 1}, programs=(program,))


def show_case(state: State, batch: dict[str, int]) -> Counterexample:
    """The run of this case, where the leader's answer arrives."""
    cluster = ran(scenario(state, batch))
    return {"run": cluster, "step": answer_step(cluster.trace, "by hand")}


EXERCISE = Exercise(
    "L1.E2",
    lambda answer: against_mutants(answer, reference, MUTANTS, cases(seed()), FORM, show_case),
    (
        "Five questions, and their order matters: known batch? old epoch? unknown producer? new epoch? next sequence?",
        "A batch is known if its epoch is the state's and (first, last) is in the state's batches; last is first + "
        "count - 1. An epoch of -1 in the state means that the leader does not know this producer.",
        "The next sequence is 0 in a new epoch, else the last sequence of the newest batch plus one. After 2147483647 "
        "comes 0: calculate modulo 2**31, for `last` too. Unknown producer: any sequence is right.",
    ),
    points=9,
    misses=hints_of(MUTANTS),
    questions=(20, 21),
    afterwards=(
        "Why: a leader asks only these five questions about a batch, in this order. Nine leaders with one rule missing "
        "failed where your function passed. Next: exercise 3 shows what they cannot prevent."
    ),
)
