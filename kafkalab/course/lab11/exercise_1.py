"""L11.E1: four patterns, and a crash in each of their six gaps: 24 cells, each a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from kafkalab.course.lab11.scenario import DUP, GAPS, LOST, OK, WORDS, lab11, verdict
from kafkalab.grading.exercise import Belief, Exercise, WrongType, describe, is_blank
from kafkalab.grading.predictions import Fact, rows
from kafkalab.programs.booking import PATTERNS
from kafkalab.sim.cluster import Cluster, ran

FORM = (
    f"a dict with a list of six words for each of {', '.join(PATTERNS)}, like "
    '{"Kafka first": ["ok", "ok", "lost", ...], ...}; the words are ok, lost and dup'
)
LOOK = "What is committed by now, in Kafka and in the database, and where will the next booker continue?"
MISSES: dict[tuple[str, str], str] = {
    ("Kafka first", OK): "the offsets are committed",
    ("Kafka first", LOST): "not committed yet",
    ("Kafka first", DUP): "which comes twice",
    ("database first", OK): "the booking is in the database",
    ("database first", DUP): "not committed yet",
    ("database first", LOST): "what is read again is not lost",
    ("unique key", DUP): "the key refuses it",
    ("unique key", LOST): "what is read again is not lost",
    ("outbox", OK): "sent and still in the outbox",
    ("outbox", DUP): "position and booking are one",
    ("outbox", LOST): "the outbox keeps it",
}
"""The misconception behind a wrong word in a row of this pattern."""


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every cell, and what its run shows."""
    found = []
    for pattern, calls in PATTERNS.items():
        for gap, (_, says) in zip(GAPS, calls, strict=True):
            run = partial(lab11, pattern, gap, of_seed)
            truth = verdict(ran(run()), pattern)
            misses = {word: MISSES[pattern, word] for word in WORDS if word != truth and (pattern, word) in MISSES}
            if gap == GAPS[-1]:
                misses = dict.fromkeys(misses, "all is committed")
            found.append(
                Fact(
                    name=(pattern, gap),
                    says=f"{pattern}, a crash after call {gap}, {says}",
                    truth=truth,
                    look=LOOK,
                    run=run,
                    misses=misses,
                    step=_crash,
                )
            )
    return tuple(found)


def _crash(cluster: Cluster) -> int:
    """Return the step of the crash."""
    return cluster.trace.of("crash", "booker")[0].step


def _by_cell(answer: object) -> Any:
    """Return the answer with a key for each cell."""
    if is_blank(answer) or not isinstance(answer, Mapping):
        return answer
    found: dict[tuple[Any, int], Any] = {}
    for pattern, words in answer.items():
        if not isinstance(words, (list, tuple)) or len(words) > len(GAPS):
            raise WrongType(f"Give {FORM}; for {pattern!r} there is {describe(words)}.")
        found |= {(pattern, gap): word for gap, word in zip(GAPS, words, strict=False)}
    return found


BELIEFS = {
    "the offsets are committed": Belief(
        says="a payment that was not booked is read again, even if its offset is committed",
        hint="Kafka's transaction has committed the position. Who reads this payment again?",
    ),
    "not committed yet": Belief(
        says="a crash keeps what no side has committed",
        hint="A crash undoes only what neither side has committed. Is anything committed at this call, and on which "
        "side?",
    ),
    "which comes twice": Belief(
        says="a payment can be booked twice if the offsets are committed first",
        hint="To book a payment twice, a booker must read it again. Where does the next booker continue?",
    ),
    "the booking is in the database": Belief(
        says="the abort of Kafka's transaction undoes the booking, too",
        hint="The SQL transaction is over; Kafka's is not. What does the abort of Kafka's transaction do to the "
        "database?",
    ),
    "what is read again is not lost": Belief(
        says="a crash loses the payment that is being booked",
        hint="The position is committed last here. What does the next booker do with a payment whose position is not "
        "committed?",
    ),
    "the key refuses it": Belief(
        says="a unique key does not stop the second booking",
        hint="The payment is read again, and inserted again. What does UNIQUE do with it?",
    ),
    "sent and still in the outbox": Belief(
        says="a receipt that was sent has left the outbox",
        hint="The receipt is committed in Kafka, and its row is still in the outbox. What does the next booker do with "
        "that row?",
    ),
    "position and booking are one": Belief(
        says="the database can have the booking without the position",
        hint="Booking and position are in one SQL transaction. Can one be there without the other?",
    ),
    "all is committed": Belief(
        says="a crash after the last call still changes something",
        hint="After the last call both sides have committed all they have to. What is left to lose, or to do twice?",
    ),
    "the outbox keeps it": Belief(
        says="a receipt in the outbox is lost in a crash",
        hint="The receipt to send is a row, in the same SQL transaction as the booking. Who deletes it, and when?",
    ),
}


EXERCISE = Exercise(
    "L11.E1",
    rows(facts, WORDS, FORM, "cell", _by_cell, BELIEFS),
    (
        "Take one pattern, and write beside each call whether a crash undoes it. A crash undoes what is inside an open "
        "transaction, on either side, and nothing that is committed.",
        "Then ask where the next booker continues: at the offset that Kafka's transaction has committed, or for the "
        "outbox at the position in the database. It never reads again what is before that, and reads everything from "
        "there on.",
        "Lost: the position is committed, and the booking is not. Twice: a booking, or a receipt, is committed, and "
        "the note that it is done is not. Each pattern has its two commits; look only at the gaps between them.",
    ),
    points=12,
    questions=(31, 32),
    misses=BELIEFS,
    afterwards=(
        "Why: there is a gap between two commits, even if one annotation covers both. Move the position into the "
        "database's transaction, or let a unique key make the repetition harmless. Next: exercise 2 closes the "
        "outbox's gap."
    ),
)
