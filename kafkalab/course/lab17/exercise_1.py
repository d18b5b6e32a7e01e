"""L17.E1: the fate of an input by its outputs and a position outside Kafka; the truth is what the check says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from kafkalab.checks.check import UNKNOWN
from kafkalab.checks.exactly_once import DUPLICATED, IN_FLIGHT, INPUT, LOST, ONCE, effects
from kafkalab.checks.view import ABORTED, COMMITTED, OPEN, view_of
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.positions import with_positions
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.source_header import SOURCE, place_of

WORDS = (ONCE, LOST, DUPLICATED, IN_FLIGHT, UNKNOWN)
FORM = f"a function fate_of(offset, position, outputs) that returns one of {', '.join(map(repr, WORDS))}"
KEY, OUT = "in-0", "out-0"
SHOWN, MORE = 4, 12
ENDINGS: tuple[tuple[str, ...], ...] = (
    (), (ABORTED,), (OPEN,), (COMMITTED,), (ABORTED, COMMITTED), (COMMITTED, COMMITTED), (OPEN, COMMITTED),
    (ABORTED, OPEN), (ABORTED, ABORTED),
)  # fmt: skip
"""The endings of the transactions in which outputs of one input were written."""


def truth(offset: int, position: int | None, outputs: Sequence[str]) -> str:
    """Return what `exactly-once` makes of the input at `offset`, the newest of its log."""
    made = HistoryBuilder()
    for number in range(offset + 1):
        made.log(KEY, str(number))
    for number, ending in enumerate(outputs, 1):
        client, source = f"job-{number}", (f"{SOURCE}={place_of(KEY, offset)}",)
        made.send(client, OUT, "made", pid=number, n=1, headers=source)
        if ending != OPEN:
            control = "COMMIT" if ending == COMMITTED else "ABORT"
            made.end(client, control.lower(), 1).marker(OUT, control, pid=number)
    topic = topic_of(KEY)
    history = made.label(INPUT, topic).history()
    history = with_positions(history, topic, "unknown" if position is None else {KEY: position})
    return next(effect.verdict for effect in effects(view_of(history)) if effect.offset == offset)


def cases(of_seed: int) -> tuple[Case, ...]:
    """Return every kind of outputs with each kind of position, and some more."""
    random = random_for("L17.E1", of_seed)
    found: list[Case] = []
    for outputs, past in product(ENDINGS, (None, -1, 0, 1)):
        offset = random.randrange(1, 5)
        found.append((offset, None if past is None else offset + past, list(outputs)))
    for _ in range(MORE):
        outputs = random.choice(ENDINGS)
        found.append((random.randrange(4), random.randrange(6), list(outputs)))
    random.shuffle(found)
    return tuple(found)


def judge(
    offset: int,
    position: int | None,
    outputs: Sequence[str],
    *,
    counted: tuple[str, ...] = (COMMITTED,),
    waits: bool = True,
    next_is_done: bool = False,
    none_is: str = UNKNOWN,
    position_first: bool = False,
    by_output: bool = False,
) -> str:
    """Return the fate with some of the reasons switched; with none of them it is what the check says."""
    if position is None and position_first:
        return UNKNOWN
    many = sum(ending in counted for ending in outputs)
    if many > 1:
        return DUPLICATED
    if many == 1:
        return ONCE
    if position is None:
        return none_is
    if by_output:
        return LOST
    if waits and OPEN in outputs:
        return IN_FLIGHT
    return LOST if position > offset or (next_is_done and position == offset) else IN_FLIGHT


MUTANTS = (
    Mutant(
        "no output is a loss", "an input without an output were lost, whatever the position is",
        partial(judge, by_output=True),
        hint="The job may come to this input later. When will it never come to it?",
    ),
    Mutant(
        "the position is done", "the input at the position were done already", partial(judge, next_is_done=True),
        hint="A position is the next offset to read. Is the input at this offset done?",
    ),
    Mutant(
        "open is a loss", "an open transaction were as good as aborted", partial(judge, waits=False),
        hint="Nobody has decided about an open transaction. Can its output still take effect?",
    ),
    Mutant(
        "aborted counts", "aborted outputs took effect", partial(judge, counted=(COMMITTED, ABORTED)),
        hint="Which of these outputs does a read_committed reader get?",
    ),
    Mutant(
        "no position, no loss", "an unknown position meant that the job is not there yet",
        partial(judge, none_is=IN_FLIGHT),
        hint="Without its position: how do you know that the job will come back to this input?",
    ),
    Mutant(
        "no position, nothing known", "without a position nothing were known", partial(judge, position_first=True),
        hint="Some fates need no position: what is committed is committed. Look at the outputs first.",
    ),
)  # fmt: skip


EXERCISE = Exercise(
    "L17.E1",
    lambda answer: against_mutants(answer, truth, MUTANTS, cases(seed()), FORM),
    (
        "Begin with what Kafka shows: how many outputs are committed? Two or more, or exactly one, are certain without "
        "any position.",
        "Without a committed output only the position is left. If nobody knows it, say so. An open transaction may "
        "still be committed, so the input is not lost yet.",
        'Count "committed": above 1 "duplicated", 1 "once". Else: position None, "unknown"; an "open" output, '
        '"in flight"; position > offset, "lost"; otherwise "in flight".',
    ),
    points=5,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: list(cases(of_seed)[:SHOWN]),
    afterwards=(
        "Why: a position says what the job will not read again, and a marker what readers get. A loss needs both. "
        "Next: what to do with the transaction of a job that stopped."
    ),
)
