"""L1.E1: batches sent by hand to one leader; what becomes of each? The answers are found by running them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from kafkalab.grading.counterexamples import answer_step
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.grading.seeds import LEARNER_SEED, random_for
from kafkalab.programs.orders import PARTITION, TOPIC
from kafkalab.programs.steps import idempotent, produce_idempotent
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

APPENDED, KNOWN = "appended", "known"
ERRORS = ("OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH")
WORDS = (APPENDED, KNOWN, *ERRORS)
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "appended", 2: ...}}'
OUT_OF_ORDER, OLD_EPOCH = ERRORS
MISSES = {
    2: dict.fromkeys(ERRORS, "a retry is an error"),
    4: {APPENDED: "sequences count batches"},
    5: {OUT_OF_ORDER: "sequences count batches"},
    6: dict.fromkeys(ERRORS, "an unknown producer must begin at 0"),
    7: {OUT_OF_ORDER: "a new epoch goes on", KNOWN: "epochs do not count"},
    8: {APPENDED: "epochs do not count", OUT_OF_ORDER: "epochs do not count"},
    9: {KNOWN: "the first sequence is enough"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One batch: who sends it, its epoch, the sequence of its first record, how many records it has."""

    producer: str
    epoch: int
    sequence: int
    count: int

    def __str__(self) -> str:
        records = "record" if self.count == 1 else "records"
        return f"producer {self.producer}, epoch {self.epoch}, sequence {self.sequence}, {self.count} {records}"


LOOK = {
    1: "The leader knows nothing of A. With which sequence does a producer begin?",
    2: "Has this batch been here before? Which answer does its sender need?",
    3: "Which sequence does the leader expect next? Which batches are missing before this one?",
    4: "Does a sequence count batches or records?",
    5: "Write the sequence of each record of A's batches below each other: which one is next?",
    6: "What does the leader remember of B? Read again what a leader does with an unknown producer.",
    7: "A new epoch: where does the numbering begin?",
    8: "Which epoch does this batch have, and which is the newest epoch of A here?",
    9: "Is there a remembered batch with exactly these sequences, from the first to the last?",
}


@cache
def arrivals(of_seed: int = LEARNER_SEED) -> dict[int, Arrival]:
    """The nine rows; the numbers of records follow from the seed, what becomes of the rows does not."""
    random = random_for("L1.E1", of_seed)
    first, second, third = random.randint(3, 5), random.randint(2, 4), random.randint(2, 3)
    rows = (
        ("A", 0, 0, first),
        ("A", 0, 0, first),
        ("A", 0, first + second, 1),
        ("A", 0, 1, second),
        ("A", 0, first, second),
        ("B", 0, random.randint(4, 9), 1),
        ("A", 1, 0, third),
        ("A", 0, first + second, 1),
        ("A", 1, 0, third - 1),
    )
    return {n: Arrival(producer=p, epoch=e, sequence=s, count=c) for n, (p, e, s, c) in enumerate(rows, 1)}


def first_like(row: Arrival, of_seed: int) -> int:
    """Return the number of the first row with the same batch: one that comes again has the same records."""
    return next(number for number, other in arrivals(of_seed).items() if other == row)


def scenario(of_seed: int = LEARNER_SEED, rows: int = 9) -> Scenario:
    """A client that sends the first so many rows, one after the other, by hand."""
    steps = [idempotent("A"), idempotent("B")]
    for row in list(arrivals(of_seed).values())[:rows]:
        values = [f"{first_like(row, of_seed)}{letter}" for letter in "abcde"[: row.count]]
        epoch = f"+{row.epoch}" if row.epoch else ""
        steps.append(produce_idempotent(row.producer, PARTITION, row.sequence, *values, epoch=epoch))
    program = Program("by hand", "raw_requests", {"steps": steps})
    return Scenario(title="Batches by hand", seed=of_seed, topics={TOPIC: 1}, programs=(program,))


@cache
def truth(of_seed: int) -> dict[int, str]:
    """Return what the leader does with each row, as the run's log and answers have it."""
    cluster = ran(scenario(of_seed))
    errors = [error for api, error in cluster.results["by hand"] if api == "Produce"]
    written = [r.value for b in cluster.log_of(PARTITION).batches for r in b.records]
    told = {}
    for (number, row), error in zip(arrivals(of_seed).items(), errors, strict=True):
        first = f"{first_like(row, of_seed)}a"
        told[number] = error if error != "NONE" else APPENDED if first in written else KNOWN
        if told[number] == APPENDED:
            written.remove(first)
    return told


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """The rows with what is true of them, and the run up to each."""
    return tuple(
        Fact(
            name=n,
            says=str(row),
            truth=truth(of_seed)[n],
            look=LOOK[n],
            run=partial(scenario, of_seed, n),
            misses=MISSES.get(n),
            step=lambda cluster: answer_step(cluster.trace, "by hand"),
        )
        for n, row in arrivals(of_seed).items()
    )


BELIEFS = {
    "a retry is an error": Belief(
        says="a batch that arrives again is an error",
        hint="Its sender has no answer, and asks again. Which answer does it need?",
    ),
    "sequences count batches": Belief(says="a sequence number counts batches, not records", hint=1),
    "an unknown producer must begin at 0": Belief(
        says="a leader accepts an unknown producer only at sequence 0",
        hint="A leader forgets a producer that was idle for a day. If it insisted on 0, that producer could never "
        "continue.",
    ),
    "a new epoch goes on": Belief(
        says="under a new epoch a producer continues its old sequence numbers",
        hint="Look at the first batch that A sends under epoch 1. Which sequence does it begin with?",
    ),
    "epochs do not count": Belief(
        says="a leader compares sequence numbers only, whatever the epoch",
        hint="Two producers may have the same id. Which field tells the leader which of the two is the newer one?",
    ),
    "the first sequence is enough": Belief(
        says="a batch is known as soon as its first sequence number is known",
        hint="The leader compares the first and the last sequence with those of the batches that it remembers.",
    ),
}


EXERCISE = Exercise(
    "L1.E1",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Keep a small table while you read: for A and for B the epoch, and the sequences of each batch that the leader "
        "has. Only an appended batch changes it.",
        'A batch that is there already, from the first sequence to the last, is "known": the leader answers NONE and '
        "appends nothing. A sequence counts records, so after a batch of three that begins at 0, the next sequence is "
        "3.",
        "Ask in this order: is it one of the remembered batches? Is its epoch lower than the newest? Is the epoch new "
        "(then the next sequence is 0)? Is the producer unknown here (then any sequence is accepted)? Is the sequence "
        "the next one?",
    ),
    points=9,
    questions=(20, 21),
    misses=BELIEFS,
    afterwards=(
        "Why: the leader compares four numbers with what it remembers: producer id, epoch, first and last "
        "sequence. It never looks at a value. Next: write that decision yourself."
    ),
)  # fmt: skip
