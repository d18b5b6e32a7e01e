"""L12.E4: which findings break a promise of Kafka? Each answer is what the check says of a small history."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from kafkalab.checks.all import BY_NAME
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.grading.tables import Table
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Poll, Read

WORDS = ("forbidden", "allowed", "reported")
FORM = 'a dict with one of the words "forbidden", "allowed", "reported" for each row, like {1: "allowed", 2: ...}'
A, B = "a-0", "b-0"
COLUMNS = ("step", "where", "what", "by")


class _Tale:
    """Rows of a history, each one step later than the one before."""

    def __init__(self) -> None:
        self.step = 0
        self.log: list[LogRecord] = []
        self.operations: list[Operation] = []
        self.reads: list[Read] = []
        self.polls: list[Poll] = []

    def _next(self) -> int:
        self.step += 1
        return self.step

    def _sequence(self, key: str, producer: int) -> int:
        return sum(r.key == key and r.producer_id == producer and not r.control for r in self.log)

    def append(self, key: str, value: str | None, producer: int = 1, control: str = "", txn: bool = True) -> _Tale:
        """Append a record or a marker."""
        row = LogRecord(
            key=key, offset=sum(r.key == key for r in self.log), value=value, producer_id=producer, producer_epoch=0,
            control=control, sequence=-1 if control else self._sequence(key, producer), transactional=txn,
            step=self._next(),
        )  # fmt: skip
        self.log.append(row)
        return self

    def send(self, key: str, value: str, producer: int = 1, txn: bool = True) -> _Tale:
        """A client sends a record, and it is appended and acknowledged."""
        same: dict[str, Any] = {
            "process": f"p{producer}", "client": f"p{producer}", "function": "send", "producer_id": producer,
            "producer_epoch": 0, "transaction": 1 if txn else -1, "key": key,
            "sequence": self._sequence(key, producer), "value": value,
        }  # fmt: skip
        index = len(self.operations)
        self.operations.append(Operation(**same, index=index, type="invoke", step=self._next()))
        offset = self.append(key, value, producer, txn=txn).log[-1].offset
        ended: dict[str, Any] = {"index": index + 1, "type": "ok", "invocation": index, "offset": offset}
        self.operations.append(Operation(**same, **ended, step=self._next()))
        return self

    def poll(self, key: str, *offsets: int, start: int = -1, moved: str = "") -> _Tale:
        """The consumer is given the records at these offsets."""
        place: dict[str, Any] = {
            "consumer": "c", "process": "c", "isolation_level": "read_committed", "key": key, "step": self._next(),
            "poll": 1 + sum(p.key == key for p in self.polls),
        }  # fmt: skip
        first = offsets[0] if offsets and start < 0 else start
        self.polls.append(Poll(**place, start=first, end=max(offsets, default=start - 1) + 1, moved=moved))
        values = {(r.key, r.offset): r.value for r in self.log}
        self.reads += [Read(**place, index=i, offset=o, value=values[key, o]) for i, o in enumerate(offsets)]
        return self

    def end(self, control: str, *keys: str, producer: int = 1) -> _Tale:
        """Append the markers of a producer's transaction."""
        for key in keys:
            self.append(key, None, producer, control)
        return self

    def history(self) -> History:
        return History(
            log=tuple(self.log), operations=tuple(self.operations), reads=tuple(self.reads), polls=tuple(self.polls)
        )


def show_tale(tale: _Tale, name: str) -> Table:
    """Return the history of a row, step by step; the step to look at first is the one that proves the finding."""
    events = {r.step: _describe_entry(r) for r in tale.log}
    events |= {o.step: _describe_send(o) for o in tale.operations}
    events |= {p.step: _describe_poll(p, tale) for p in tale.polls}
    steps = sorted(events)
    (finding,) = BY_NAME[name](tale.history()).findings
    proof = next((i for i, step in enumerate(steps) if step >= max(finding.steps, default=0)), len(steps) - 1)
    rows = tuple((step, *events[step]) for step in steps)
    return Table(title=f"The history of this row, in which {name} is found", columns=COLUMNS, rows=rows, at=proof)


def _describe_entry(row: LogRecord) -> tuple[str, str, str]:
    what = f"{row.control} marker" if row.control else f"{row.value!r}, sequence {row.sequence}"
    return (f"log of {row.key}", f"offset {row.offset}: {what}", f"producer {row.producer_id}")


def _describe_send(row: Operation) -> tuple[str, str, str]:
    told = f"is acknowledged at offset {row.offset}" if row.type == "ok" else "is sent"
    return (row.process, f"{row.value!r} to {row.key} {told}", f"producer {row.producer_id}")


def _describe_poll(poll: Poll, tale: _Tale) -> tuple[str, str, str]:
    values = [r.value for r in tale.reads if (r.key, r.poll) == (poll.key, poll.poll)]
    moved = f", moved there by a {poll.moved}" if poll.moved else ""
    what = f"from {poll.start} to {poll.end}{moved}: {values}"
    return (f"poll {poll.poll} of {poll.key}", what, poll.isolation_level)


def _three_polled_once() -> _Tale:
    return _Tale().send(A, "x", txn=False).send(A, "y", txn=False).send(A, "z", txn=False).poll(A, 0)


ROWS: tuple[tuple[str, str, _Tale, str], ...] = (
    ("G0", "two transactions commit; on one partition the first wrote before the second, on another after it",
     _Tale().send(A, "a", 1).send(A, "b", 2).send(B, "c", 2).send(B, "d", 1)
     .end("COMMIT", A, B, producer=1).end("COMMIT", A, B, producer=2),
     "Does Kafka put transactions into one order that holds on all partitions?"),
    ("int-send-skip", "between two records of one transaction lies a record of another producer",
     _Tale().send(A, "x").send(A, "another's", 2, txn=False).send(A, "y").end("COMMIT", A),
     "What does a leader do with the other producers while a transaction is open?"),
    ("partial visibility", "a reader sees one partition's part of a committed transaction, and not yet the other's",
     _Tale().send(A, "x").send(B, "y").end("COMMIT", A).poll(B, start=0).poll(A, 0).end("COMMIT", B),
     "Each partition gets its marker by a request of its own. Who waits for all of them?"),
    ("poll-skip", "a consumer with assign() goes on one committed record too far",
     _three_polled_once().poll(A, 2), "Who but this consumer could have read what lies in between?"),
    ("poll-skip", "a consumer with subscribe() goes on further, after a rebalance",
     _three_polled_once().poll(A, 2, moved="rebalance"),
     "Who but this consumer could have read what lies in between?"),
    ("nonmonotonic-poll", "a consumer is given a record for the second time, after a seek",
     _three_polled_once().poll(A, 0, 1, moved="seek"), "Whose decision was it to go back?"),
    ("duplicate", "the application itself called send() twice with one value",
     _Tale().send(A, "x", txn=False).send(A, "x", txn=False),
     "How could a leader know that the second record is not meant?"),
    ("duplicate", "an idempotent producer sent a value once, and the log has it twice",
     _Tale().send(A, "x", txn=False).append(A, "x", txn=False),
     "How could a leader know that the second record is not meant?"),
    ("G1a", "a read_committed poll returns a record whose transaction was aborted",
     _Tale().send(A, "x").end("ABORT", A).poll(A, 0), "What is isolation.level for?"),
    ("unseen", "the newest committed records have not been polled by the end of the history",
     _three_polled_once(), "What would a history say that is one minute longer?"),
)  # fmt: skip

MISSES = {"forbidden": "every finding is a bug", "allowed": "nothing is promised", "reported": "nobody can tell"}


@cache
def facts() -> tuple[Fact, ...]:
    """The rows with what the checks say of them."""
    found = []
    for number, (name, says, tale, look) in enumerate(ROWS, 1):
        (policy,) = {finding.policy for finding in BY_NAME[name](tale.history()).findings}
        run, says = partial(show_tale, tale, name), f"{name}: {says}"
        found.append(Fact(name=number, says=says, truth=policy, look=look, run=run, misses=MISSES))
    return tuple(found)


EXERCISE = Exercise(
    "L12.E4",
    rows(lambda _: facts(), WORDS, FORM),
    (
        "Ask of each row: who promised the contrary? A finding without a promise is no bug.",
        "Kafka promises: no duplicates inside one producer's session, nothing aborted for read_committed, an order "
        "inside a partition, an atomic outcome. It does not promise a snapshot, one order over several partitions, or "
        "that transactions do not interleave.",
        "What an application does itself (a second send, a seek) and what a rebalance does are not Kafka's. One row is "
        "neither broken nor fine: it only waits.",
    ),
    points=10,
    questions=(34,),
    misses={
        "every finding is a bug": 1,
        "nothing is promised": 1,
        "nobody can tell": "`reported` is for what time alone may settle. Could a longer history make this row right?",
    },
    afterwards=(
        "Why: a finding is a bug only where Kafka promises the contrary: no duplicates within a producer's "
        "session, nothing aborted under read_committed, order inside a partition, an atomic outcome. Next: change "
        "the seed of the night and run your queries again."
    ),
)
