"""L5.E4: six questions over labs 0 to 5, drawn by seed; every truth is computed by a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from kafkalab.course.lab05.mixed_questions import QUESTIONS
from kafkalab.grading.exercise import BlankAnswer, Exercise
from kafkalab.grading.predictions import Fact, rows, table
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import ran

ASKED = 6
WORDS = tuple(dict.fromkeys(word for question in QUESTIONS for word in question.words))
FORM = "a dict from each question's number to one of its choices"

# name: (what is believed, what helps against it)
BELIEFS: Mapping[str, tuple[str, str]] = {
    "no answer, no record": (
        "a write whose response is missing has not happened",
        "A missing response says nothing about the write. Is it the request or the response that is lost?",
    ),
    "a retry is recognised": (
        "a leader recognises every retry",
        "A leader compares sequence numbers. Does this producer send any?",
    ),
    "a retry is a copy": (
        "every retry writes a second copy",
        "A copy needs two arrivals, and a leader that cannot tell that they are the same.",
    ),
    "idempotence outlives the process": (
        "idempotence outlives the process",
        "A new process has a new producer id, and begins at sequence 0.",
    ),
    "idempotence keeps no order": (
        "a producer with several batches under way loses the order",
        "The refused batch is sent again after the lost one. The leader accepts no other order.",
    ),
    "a refused batch is lost": (
        "OUT_OF_ORDER_SEQUENCE_NUMBER means that a record is lost",
        "The producer keeps a batch until it is acknowledged. What does it do after the refusal?",
    ),
    "defaults fit one broker": (
        "the default settings fit a cluster of one broker",
        "By default __transaction_state has three copies. How many brokers can hold them?",
    ),
    "the client hears the reason": (
        "a client is given the reason why the coordinator is missing",
        "The broker answers COORDINATOR_NOT_AVAILABLE, which a client asks again after. Until when?",
    ),
    "state dies with its broker": (
        "what a coordinator knows dies with it",
        "It is in __transaction_state, which has three copies. The next leader reads it.",
    ),
    "written is committed": (
        "a written record counts",
        "A record of a transaction counts after a COMMIT marker. Who asks for one here?",
    ),
    "only the client ends it": (
        "only the client can end its transaction",
        "The coordinator aborts after transaction.timeout.ms, and it finishes what is decided.",
    ),
    "the client has to hear it": (
        "a commit counts only if the client gets the answer",
        "The decision is an entry in the coordinator's log. The answer is only news of it.",
    ),
    "asking again is refused": (
        "a request for the same decision is refused the second time",
        "The coordinator compares the request with the state: it is the decision that it made.",
    ),
    "offsets count records": (
        "offsets count records",
        "An offset numbers a place, and a marker takes a place, too.",
    ),
    "a transaction begins in the log": (
        "the begin of a transaction is an entry in the log",
        "begin_transaction() sends nothing. Only the end of a transaction is a marker.",
    ),
    "an abort deletes": (
        "an abort removes the records",
        "An abort adds a marker. What is in the log stays there.",
    ),
    "a loss leaves a gap": (
        "a lost record leaves a gap in the offsets",
        "The next leader never had the record, so its offset is free.",
    ),
    "acknowledged is safe": (
        "an acknowledged record is safe",
        "With acks=1 the leader alone has acknowledged it.",
    ),
    "committed is visible": (
        "a committed record can be read at once",
        "A consumer stops at the last stable offset, before the oldest open transaction.",
    ),
    "the consumer keeps records back": (
        "a consumer keeps records back until they are decided",
        "Nothing after the last stable offset is sent to it.",
    ),
    "the broker filters": (
        "the broker leaves the aborted records out",
        "The broker sends them with a list of aborted transactions. The consumer filters.",
    ),
    "a transaction is seen whole": (
        "a reader sees a transaction whole or not at all",
        "Each partition has its own marker, and its own last stable offset.",
    ),
}


@cache
def bank(of_seed: int) -> tuple[Fact, ...]:
    """Every question, numbered from 1, with what its run shows."""
    return tuple(
        Fact(
            name=number,
            says=question.says,
            truth=question.truth(ran(question.run(of_seed))),
            look=question.look,
            run=partial(question.run, of_seed),
            misses=question.beliefs,
            step=question.step,
            words=question.words,
        )
        for number, question in enumerate(QUESTIONS, 1)
    )


def drawn(of_seed: int) -> tuple[Fact, ...]:
    """Return the questions that this seed asks, in the order of the labs."""
    numbers = random_for("L5.E4", of_seed).sample(range(len(QUESTIONS)), ASKED)
    return tuple(bank(of_seed)[number] for number in sorted(numbers))


def ask(of_seed: int) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return each drawn question's text and choices, by its number."""
    return {fact.name: (fact.says, tuple(fact.words)) for fact in drawn(of_seed)}


def answered(answer: Mapping[Any, Any]) -> tuple[Fact, ...]:
    """Return the facts of the questions that the answer names: another seed may have drawn them; else those drawn."""
    facts = tuple(fact for fact in bank(seed()) if fact.name in answer)
    return facts if len(facts) == len(answer) == ASKED else drawn(seed())


def check(answer: object) -> str:
    """ "6 of 6 questions" if each has the right choice; WrongAnswer names the belief that a wrong one shows."""
    if isinstance(answer, Mapping) and not answer:
        raise BlankAnswer(f"All questions are still blank. Give {FORM}.")
    facts = answered(answer) if isinstance(answer, Mapping) else drawn(seed())
    return table(answer, facts, WORDS, FORM, "question")


EXERCISE = Exercise(
    "L5.E4",
    replace(rows(drawn, WORDS, FORM, "question"), check=check),
    (
        "For each question, find the frame or the log entry that decides it, before you look at the choices.",
        "Three places hold everything: the partition's log with its markers, the coordinator's log, and the memory of "
        "the client. What a process knows is never the same as what is in a log.",
        "Nothing that is in a replicated log goes away with a process, and nothing that only a process knows survives "
        "it. An offset is a place. A reader gets what is decided, and it gets it partition by partition.",
    ),
    points=6,
    misses={name: helps for name, (_, helps) in BELIEFS.items()},
    question=ask,
    afterwards=(
        "Why: each of these runs is decided by one log entry, and not by what a process believes. Next: lab 6 asks "
        "which of two instances may still write."
    ),
)
