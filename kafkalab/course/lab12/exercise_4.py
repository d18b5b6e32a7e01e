"""L12.E4: which findings break a promise of Kafka? Each answer is what the check says of a small history."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kafkalab.checks.all import BY_NAME
from kafkalab.grading.predictions import Fact, table_exercise
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Poll, Read

WORDS = ("forbidden", "allowed", "reported")
FORM = 'a dict with one of the words "forbidden", "allowed", "reported" for each row, like {1: "allowed", 2: ...}'
A, B = "a-0", "b-0"


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

    def append(self, key: str, value: str | None = None, producer: int = 1, control: str = "", txn: bool = True) -> int:
        """A record or a marker; its offset."""
        offset = sum(r.key == key for r in self.log)
        sequence = sum(r.key == key and r.producer_id == producer and not r.control for r in self.log)
        row = LogRecord(
            key=key, offset=offset, value=value, producer_id=producer, producer_epoch=0, control=control,
            sequence=-1 if control else sequence, transactional=txn, step=self._next(),
        )  # fmt: skip
        self.log.append(row)
        return offset

    def send(self, key: str, value: str, producer: int = 1, txn: bool = True) -> None:
        """A client sends a record, and it is appended and acknowledged."""
        sequence = sum(r.key == key and r.producer_id == producer and not r.control for r in self.log)
        same: dict[str, Any] = {
            "process": f"p{producer}", "client": f"p{producer}", "function": "send", "producer_id": producer,
            "producer_epoch": 0, "transaction": 1 if txn else -1, "key": key, "sequence": sequence, "value": value,
        }  # fmt: skip
        index = len(self.operations)
        self.operations.append(Operation(**same, index=index, type="invoke", step=self._next()))
        offset = self.append(key, value, producer, txn=txn)
        ended: dict[str, Any] = {"index": index + 1, "type": "ok", "invocation": index, "offset": offset}
        self.operations.append(Operation(**same, **ended, step=self._next()))

    def poll(self, key: str, *offsets: int, start: int = -1, moved: str = "") -> None:
        """The consumer is given the records at these offsets."""
        place: dict[str, Any] = {
            "consumer": "c", "process": "c", "isolation_level": "read_committed", "key": key, "step": self._next(),
            "poll": 1 + sum(p.key == key for p in self.polls),
        }  # fmt: skip
        first = offsets[0] if offsets and start < 0 else start
        self.polls.append(Poll(**place, start=first, end=max(offsets, default=start - 1) + 1, moved=moved))
        values = {(r.key, r.offset): r.value for r in self.log}
        self.reads += [Read(**place, index=i, offset=o, value=values[key, o]) for i, o in enumerate(offsets)]

    def history(self) -> History:
        return History(
            log=tuple(self.log), operations=tuple(self.operations), reads=tuple(self.reads), polls=tuple(self.polls)
        )


def _crossed(tale: _Tale) -> None:
    for key, producer in ((A, 1), (A, 2), (B, 2), (B, 1)):
        tale.send(key, f"{key} {producer}", producer)
    for key, producer in ((A, 1), (B, 1), (A, 2), (B, 2)):
        tale.append(key, None, producer, "COMMIT")


def _between(tale: _Tale) -> None:
    tale.send(A, "x")
    tale.send(A, "another's", 2, txn=False)
    tale.send(A, "y")
    tale.append(A, None, 1, "COMMIT")


def _half_seen(tale: _Tale) -> None:
    tale.send(A, "x")
    tale.send(B, "y")
    tale.append(A, None, 1, "COMMIT")
    tale.poll(B, start=0)
    tale.poll(A, 0)
    tale.append(B, None, 1, "COMMIT")


def _three(tale: _Tale) -> None:
    for value in ("x", "y", "z"):
        tale.send(A, value, txn=False)
    tale.poll(A, 0)


def _skipped(tale: _Tale) -> None:
    _three(tale)
    tale.poll(A, 2)


def _skipped_across_a_rebalance(tale: _Tale) -> None:
    _three(tale)
    tale.poll(A, 2, moved="rebalance")


def _went_back(tale: _Tale) -> None:
    _three(tale)
    tale.poll(A, 0, 1, moved="seek")


def _sent_again(tale: _Tale) -> None:
    tale.send(A, "x", txn=False)
    tale.send(A, "x", txn=False)


def _appended_again(tale: _Tale) -> None:
    tale.send(A, "x", txn=False)
    tale.append(A, "x", txn=False)


def _aborted(tale: _Tale) -> None:
    tale.send(A, "x")
    tale.append(A, None, 1, "ABORT")
    tale.poll(A, 0)


def _late(tale: _Tale) -> None:
    _three(tale)


ROWS: tuple[tuple[str, str, Callable[[_Tale], None], str], ...] = (
    ("G0", "two transactions commit; on one partition the first wrote before the second, on another after it",
     _crossed, "Does Kafka put transactions into one order that holds on all partitions?"),
    ("int-send-skip", "between two records of one transaction lies a record of another producer",
     _between, "What does a leader do with the other producers while a transaction is open?"),
    ("partial visibility", "a reader sees one partition's part of a committed transaction, and not yet the other's",
     _half_seen, "Each partition gets its marker by a request of its own. Who waits for all of them?"),
    ("poll-skip", "a consumer with assign() goes on one committed record too far",
     _skipped, "Who but this consumer could have read what lies in between?"),
    ("poll-skip", "a consumer with subscribe() goes on further, after a rebalance",
     _skipped_across_a_rebalance, "Who but this consumer could have read what lies in between?"),
    ("nonmonotonic-poll", "a consumer is given a record for the second time, after a seek",
     _went_back, "Whose decision was it to go back?"),
    ("duplicate", "the application itself called send() twice with one value",
     _sent_again, "How could a leader know that the second record is not meant?"),
    ("duplicate", "an idempotent producer sent a value once, and the log has it twice",
     _appended_again, "How could a leader know that the second record is not meant?"),
    ("G1a", "a read_committed poll returns a record whose transaction was aborted",
     _aborted, "What is isolation.level for?"),
    ("unseen", "the newest committed records have not been polled by the end of the history",
     _late, "What would a history say that is one minute longer?"),
)  # fmt: skip

MISSES = {"forbidden": "every finding is a bug", "allowed": "nothing is promised", "reported": "nobody can tell"}


@cache
def facts() -> tuple[Fact, ...]:
    """The rows with what the checks say of them."""
    found = []
    for number, (name, says, tell, look) in enumerate(ROWS, 1):
        tale = _Tale()
        tell(tale)
        (policy,) = {finding.policy for finding in BY_NAME[name](tale.history()).findings}
        found.append(Fact(name=number, says=f"{name}: {says}", truth=policy, look=look, misses=MISSES))
    return tuple(found)


EXERCISE = table_exercise(
    "L12.E4",
    FORM,
    WORDS,
    lambda _: facts(),
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
    misses={"every finding is a bug": 1, "nothing is promised": 1, "nobody can tell": 2},
)
