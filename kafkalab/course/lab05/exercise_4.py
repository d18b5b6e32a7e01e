"""L5.E4: six questions, one from each of labs 0 to 5, drawn by the number of a set; a run says what is true."""

from __future__ import annotations

from functools import cache, partial

from kafkalab.course.lab05.mixed_questions import QUESTIONS, Situation
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.mixed import Mixed, Question
from kafkalab.grading.predictions import Fact
from kafkalab.sim.cluster import ran

BELIEFS = {
    "no answer, no record": Belief(
        says="a write whose response is missing has not happened",
        hint="A missing response says nothing about the write. Is it the request or the response that is lost?",
    ),
    "a retry is recognised": Belief(
        says="a leader recognises every retry",
        hint="A leader compares sequence numbers. Does this producer send any?",
    ),
    "a retry is a copy": Belief(
        says="every retry writes a second copy",
        hint="A copy needs two arrivals, and a leader that cannot tell that they are the same.",
    ),
    "idempotence outlives the process": Belief(
        says="idempotence outlives the process",
        hint="A new process has a new producer id, and begins at sequence 0.",
    ),
    "idempotence keeps no order": Belief(
        says="a producer with several batches in flight loses the order",
        hint="The refused batch is sent again after the lost one. The leader accepts no other order.",
    ),
    "a refused batch is lost": Belief(
        says="OUT_OF_ORDER_SEQUENCE_NUMBER means that a record is lost",
        hint="The producer keeps a batch until it is acknowledged. What does it do after the refusal?",
    ),
    "defaults fit one broker": Belief(
        says="the default settings fit a cluster of one broker",
        hint="By default __transaction_state has three copies. How many brokers can hold them?",
    ),
    "the client hears the reason": Belief(
        says="a client is told why the coordinator is missing",
        hint="The broker answers COORDINATOR_NOT_AVAILABLE, and the client asks again. Until when?",
    ),
    "state dies with its broker": Belief(
        says="what a coordinator knows dies with it",
        hint="It is in __transaction_state, which has three copies. The next leader reads it.",
    ),
    "written is committed": Belief(
        says="a written record counts",
        hint="A record of a transaction is committed by a COMMIT marker. Who asks for that marker here?",
    ),
    "only the client ends it": Belief(
        says="only the client can end its transaction",
        hint="The coordinator aborts after transaction.timeout.ms, and it finishes what is decided.",
    ),
    "the client has to hear it": Belief(
        says="a commit counts only if the client gets the answer",
        hint="The decision is an entry in the coordinator's log. The answer only reports it.",
    ),
    "asking again is refused": Belief(
        says="a request for the same decision is refused the second time",
        hint="The coordinator compares the request with the state: it is the decision that it made.",
    ),
    "offsets count records": Belief(
        says="offsets count records",
        hint="An offset numbers a place, and a marker takes a place, too.",
    ),
    "a transaction begins in the log": Belief(
        says="the begin of a transaction is an entry in the log",
        hint="begin_transaction() sends nothing. Only the end of a transaction is a marker.",
    ),
    "an abort deletes": Belief(
        says="an abort removes the records",
        hint="An abort adds a marker. What is in the log stays there.",
    ),
    "a loss leaves a gap": Belief(
        says="a lost record leaves a gap in the offsets",
        hint="The next leader never had the record, so its offset is free.",
    ),
    "acknowledged is safe": Belief(
        says="an acknowledged record is safe",
        hint="With acks=1 the leader alone has acknowledged it.",
    ),
    "committed is visible": Belief(
        says="a committed record can be read at once",
        hint="A consumer stops at the last stable offset, before the oldest open transaction.",
    ),
    "the consumer keeps records back": Belief(
        says="a consumer buffers records until they are decided",
        hint="Nothing after the last stable offset is sent to it.",
    ),
    "the broker filters": Belief(
        says="the broker leaves the aborted records out",
        hint="The broker sends them with a list of aborted transactions. The consumer filters.",
    ),
    "a transaction is seen whole": Belief(
        says="a reader sees a transaction whole or not at all",
        hint="Each partition has its own marker, and its own last stable offset.",
    ),
}


@cache
def pool(of_seed: int) -> tuple[Question, ...]:
    """Return every question with what its run shows."""
    return tuple(_ask(question, of_seed) for question in QUESTIONS)


def _ask(question: Situation, of_seed: int) -> Question:
    run = partial(question.run, of_seed)
    truth, misses = question.truth(ran(run())), {word: BELIEFS[name].says for word, name in question.beliefs.items()}
    return Question(
        f"lab {question.lab}",
        Fact(
            name="", says=question.says, truth=truth, look=question.look, run=run, misses=misses, step=question.step,
            words=question.words,
        ),
    )  # fmt: skip


MIXED = Mixed(exercise="L5.E4", count=6, pool=pool, beliefs={belief.says: belief for belief in BELIEFS.values()})
open_set = MIXED.open_set
EXERCISE = Exercise(
    "L5.E4",
    MIXED.form,
    (
        "For each question, find the frame or the log entry that decides it, before you look at the choices.",
        "Three places hold everything: the partition's log with its markers, the coordinator's log, and the memory of "
        "the client. A log may hold something that a process does not know.",
        "An entry of a replicated log survives any process. What only a process knows dies with it. An offset is a "
        "place. A reader gets decided records, partition by partition.",
    ),
    points=6,
    misses=MIXED.beliefs,
    question=MIXED.ask,
    afterwards=(
        "Why: one log entry decides each of these runs, whatever a process believes. Next: lab 6 asks "
        "which of two instances may still write."
    ),
)
