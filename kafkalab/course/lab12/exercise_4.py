"""L12.E4: which findings break a promise of Kafka? Each answer is what the check says of a small history."""

from __future__ import annotations

from functools import cache, partial

from kafkalab.checks.all import BY_NAME
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.grading.tables import Table
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Poll

WORDS = ("forbidden", "allowed", "reported")
FORM = 'a dict with one of the words "forbidden", "allowed", "reported" for each row, like {1: "allowed", 2: ...}'
A, B = "a-0", "b-0"
COLUMNS = ("step", "where", "what", "by")


def show_history(history: History, name: str) -> Table:
    """Return the history of a row, step by step; the step to look at first is the one that proves the finding."""
    events = {r.step: _describe_entry(r) for r in history.log}
    events |= {o.step: _describe_send(o) for o in history.operations}
    events |= {p.step: _describe_poll(p, history) for p in history.polls}
    steps = sorted(events)
    (finding,) = BY_NAME[name](history).findings
    proof = next((i for i, step in enumerate(steps) if step >= max(finding.steps, default=0)), len(steps) - 1)
    rows = tuple((step, *events[step]) for step in steps)
    return Table(title=f"The history of this row, in which {name} is found", columns=COLUMNS, rows=rows, at=proof)


def _describe_entry(row: LogRecord) -> tuple[str, str, str]:
    what = f"{row.control} marker" if row.control else f"{row.value!r}, sequence {row.sequence}"
    return (f"log of {row.key}", f"offset {row.offset}: {what}", f"producer {row.producer_id}")


def _describe_send(row: Operation) -> tuple[str, str, str]:
    told = f"is acknowledged at offset {row.offset}" if row.type == "ok" else "is sent"
    return (row.process, f"{row.value!r} to {row.key} {told}", f"producer {row.producer_id}")


def _describe_poll(poll: Poll, history: History) -> tuple[str, str, str]:
    values = [r.value for r in history.reads if (r.key, r.poll) == (poll.key, poll.poll)]
    moved = f", moved there by a {poll.moved}" if poll.moved else ""
    what = f"from {poll.start} to {poll.end}{moved}: {values}"
    return (f"poll {poll.poll} of {poll.key}", what, poll.isolation_level)


def _poll_one_of_three() -> HistoryBuilder:
    m = HistoryBuilder().send("p1", A, "x").send("p1", A, "y", seq=1).send("p1", A, "z", seq=2)
    return m.poll("c", A, (0, "x"), start=0, end=1)


ROWS: tuple[tuple[str, str, HistoryBuilder, str], ...] = (
    ("G0", "two transactions commit; on one partition the first wrote before the second, on another after it",
     HistoryBuilder().send("p1", A, "a", n=1).send("p2", A, "b", pid=2, n=1).send("p2", B, "c", pid=2, n=1)
     .send("p1", B, "d", n=1).marker(A, "COMMIT").marker(B, "COMMIT").marker(A, "COMMIT", pid=2)
     .marker(B, "COMMIT", pid=2),
     "Does Kafka put transactions into one order that holds on all partitions?"),
    ("int-send-skip", "between two records of one transaction lies a record of another producer",
     HistoryBuilder().send("p1", A, "x", n=1).send("p2", A, "another's", pid=2).send("p1", A, "y", seq=1, n=1)
     .marker(A, "COMMIT"),
     "What does a leader do with the other producers while a transaction is open?"),
    ("partial visibility", "a reader sees one partition's part of a committed transaction, and not yet the other's",
     HistoryBuilder().send("p1", A, "x", n=1).send("p1", B, "y", n=1).marker(A, "COMMIT")
     .poll("c", B, start=0, end=0).poll("c", A, (0, "x"), start=0, end=1).marker(B, "COMMIT"),
     "Each partition gets its marker by a request of its own. Who waits for all of them?"),
    ("poll-skip", "a consumer with assign() skips one committed record",
     _poll_one_of_three().poll("c", A, (2, "z"), start=2, end=3),
     "Who but this consumer could have read what lies in between?"),
    ("poll-skip", "a consumer with subscribe() skips records, after a rebalance",
     _poll_one_of_three().poll("c", A, (2, "z"), start=2, end=3, moved="rebalance"),
     "Who but this consumer could have read what lies in between?"),
    ("nonmonotonic-poll", "a consumer is given a record for the second time, after a seek",
     _poll_one_of_three().poll("c", A, (0, "x"), (1, "y"), start=0, end=2, moved="seek"),
     "Whose decision was it to go back?"),
    ("duplicate", "the application itself called send() twice with one value",
     HistoryBuilder().send("p1", A, "x").send("p1", A, "x", seq=1),
     "How could a leader know that the second record is not meant?"),
    ("duplicate", "an idempotent producer sent a value once, and the log has it twice",
     HistoryBuilder().send("p1", A, "x").log(A, "x", pid=1, epoch=0, seq=1),
     "How could a leader know that the second record is not meant?"),
    ("G1a", "a read_committed poll returns a record whose transaction was aborted",
     HistoryBuilder().send("p1", A, "x", n=1).marker(A, "ABORT").poll("c", A, (0, "x"), start=0, end=1),
     "What is isolation.level for?"),
    ("unseen", "the newest committed records have not been polled by the end of the history",
     _poll_one_of_three(), "What would a history show that is one minute longer?"),
)  # fmt: skip

MISSES = {"forbidden": "every finding is a bug", "allowed": "nothing is promised", "reported": "nobody can tell"}


@cache
def facts() -> tuple[Fact, ...]:
    """The rows with what the checks say of them."""
    found = []
    for number, (name, says, builder, look) in enumerate(ROWS, 1):
        history = builder.history()
        (policy,) = {finding.policy for finding in BY_NAME[name](history).findings}
        run, says = partial(show_history, history, name), f"{name}: {says}"
        misses = {word: belief for word, belief in MISSES.items() if word != policy}
        found.append(Fact(name=number, says=says, truth=policy, look=look, run=run, misses=misses))
    return tuple(found)


BELIEFS = {
    "every finding is a bug": Belief(says="whatever a check finds is a bug of Kafka", hint=1),
    "nothing is promised": Belief(says="Kafka promises nothing here", hint=1),
    "nobody can tell": Belief(
        says="more time would settle it",
        hint="`reported` is for a finding that may disappear with time. Could a longer history make this row right?",
    ),
}


EXERCISE = Exercise(
    "L12.E4",
    rows(lambda _: facts(), WORDS, FORM, beliefs=BELIEFS),
    (
        "Ask of each row: which promise does it break? A finding that breaks no promise is no bug.",
        "Kafka promises: no duplicates inside one producer's session, nothing aborted for read_committed, an order "
        "inside a partition, an atomic outcome. It does not promise a snapshot, one order over several partitions, or "
        "that transactions do not interleave.",
        "What an application does itself (a second send, a seek) and what a rebalance does are not Kafka's. One row "
        "breaks no promise yet: it may disappear later.",
    ),
    points=10,
    questions=(34,),
    misses=BELIEFS,
    afterwards=(
        "Why: a finding is a bug only where Kafka promises the contrary: no duplicates within a producer's "
        "session, nothing aborted under read_committed, order inside a partition, an atomic outcome. Next: change "
        "the seed of the night and run your queries again."
    ),
)
