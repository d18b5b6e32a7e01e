"""Small histories by hand, for tests of checks and for exercises: every call adds rows a step later than the last."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Self

from kafkalab.history.history import History
from kafkalab.history.schema import (
    ROWS,
    HistoryRow,
    Label,
    Leader,
    LogRecord,
    Operation,
    Poll,
    Read,
    TxnEntry,
    Watermark,
)

TABLE_OF = {row_class: table for table, row_class in ROWS.items()}
COLUMN_OF = {"pid": "producer_id", "epoch": "producer_epoch", "seq": "sequence", "txn": "transactional"}
"""The short names of columns of the log."""


class HistoryBuilder:
    """Rows by table; every method returns the builder, so that a history is one expression.

    `HistoryBuilder().send("p", "out-0", "x", n=1).marker("out-0", "ABORT").poll("r", "out-0", (0, "x")).history()`
    is an aborted read.
    """

    def __init__(self) -> None:
        self.step = 0
        self.rows: defaultdict[str, list[Any]] = defaultdict(list)
        self._polls: Counter[str] = Counter()

    def history(self) -> History:
        """Return the history that has these rows."""
        return History(**{table: tuple(rows) for table, rows in self.rows.items()})

    def add(self, row: HistoryRow) -> Self:
        """Add a row to its table as it is."""
        self.rows[TABLE_OF[type(row)]].append(row)
        return self

    def log(self, key: str, value: str | None = None, offset: int | None = None, **given: Any) -> Self:
        """Append a record, at the key's next offset unless one is given; `given` has columns, or names of COLUMN_OF."""
        at = self._next_offset(key) if offset is None else offset
        row = {COLUMN_OF.get(name, name): content for name, content in given.items()}
        step = self._next_step()
        return self.add(LogRecord(key=key, offset=at, value=value, step=step, at_ms=step, **row))

    def marker(self, key: str, control: str, pid: int = 1, epoch: int = 0, **given: Any) -> Self:
        """Append a COMMIT or ABORT marker."""
        return self.log(key, pid=pid, epoch=epoch, control=control, txn=True, **given)

    def operation(self, function: str, type: str = "ok", **given: Any) -> Self:
        """Add a client's call and, a step later, its end of this type, if any; `given` has the columns of both."""
        return self._end(self._invoke(function, **given), type)

    def send(
        self, client: str, key: str, value: str, pid: int = 1, epoch: int = 0, seq: int = 0, n: int = -1,
        type: str = "ok", offset: int | None = None, logged: bool = True, told: bool = True,
        headers: tuple[str, ...] = (),
    ) -> Self:  # fmt: skip
        """Send a record in the client's transaction number `n`, append it if `logged`, and end the call.

        The acknowledgement has the offset if `told`.
        """
        call = self._invoke(
            "send", client=client, process=client, transactional_id=f"id of {client}" if n > 0 else None,
            producer_id=pid, producer_epoch=epoch, sequence=seq, key=key, value=value, transaction=n, headers=headers,
        )  # fmt: skip
        at = self._next_offset(key) if offset is None else offset
        if logged:
            self.log(key, value, at, pid=pid, epoch=epoch, seq=seq, txn=n > 0, headers=headers)
        return self._end(call, type, at if told and type == "ok" else -1)

    def end(self, client: str, function: str, n: int, type: str = "ok") -> Self:
        """Call commit or abort of a client's transaction number `n`."""
        who = {"client": client, "process": client, "transactional_id": f"id of {client}"}
        return self.operation(function, type, transaction=n, **who)

    def poll(
        self, consumer: str, key: str, *reads: tuple[int, str], level: str = "read_committed", start: int = -1,
        end: int = -1, moved: str = "", process: str = "", known: bool = True, group: str | None = None,
    ) -> Self:  # fmt: skip
        """Poll one key and return `reads`, each an offset and a value; unless `known`, the poll itself is no row."""
        step = self._next_step()
        self._polls[consumer] += 1
        same: dict[str, Any] = {
            "consumer": consumer, "process": process or consumer, "isolation_level": level, "key": key, "step": step,
            "poll": self._polls[consumer],
        }  # fmt: skip
        if known:
            self.add(Poll(**same, group=group, start=start, end=end, moved=moved))
        for index, (offset, value) in enumerate(reads):
            self.add(Read(**same, index=index, offset=offset, value=value, at_ms=step))
        return self

    def entry(self, state: str, *partitions: str, tid: str = "t", pid: int = 1, epoch: int = 0, **given: Any) -> Self:
        """Append an entry of the transaction log."""
        step, offset = self._next_step(), len(self.rows["transactions"])
        row = {"at_ms": step, "start_ms": step, "timeout_ms": 60_000, **given}
        row |= {"transactional_id": tid, "producer_id": pid, "producer_epoch": epoch}
        key = "__transaction_state-1"
        return self.add(TxnEntry(key=key, offset=offset, state=state, partitions=partitions, step=step, **row))

    def watermark(self, key: str, stable: int, node: str = "b1", leads: bool = True, epoch: int = 0) -> Self:
        """Move the last stable offset of a replica."""
        step = self._next_step()
        row = {"high_watermark": 99, "last_stable_offset": stable, "step": step, "at_ms": step}
        return self.add(Watermark(key=key, node=node, leads=leads, leader_epoch=epoch, **row))

    def leader(self, key: str, leader: str) -> Self:
        """Let the controller make a node the leader."""
        return self.add(Leader(key=key, leader=leader, step=self._next_step()))

    def label(self, name: str, value: object) -> Self:
        """Say something of the whole history; the label `end_ms` is its length."""
        return self.add(Label(name=name, value=str(value)))

    def _next_step(self) -> int:
        self.step += 1
        return self.step

    def _next_offset(self, key: str) -> int:
        return max((row.offset + 1 for row in self.rows["log"] if row.key == key), default=0)

    def _invoke(self, function: str, **given: Any) -> Operation:
        index = len(self.rows["operations"])
        call = Operation(index=index, type="invoke", function=function, step=self._next_step(), **given)
        self.add(call)
        return call

    def _end(self, call: Operation, type: str, offset: int | None = None) -> Self:
        if not type:
            return self
        index, at = len(self.rows["operations"]), call.offset if offset is None else offset
        step = self._next_step()
        return self.add(call._replace(index=index, type=type, invocation=call.index, offset=at, step=step))
