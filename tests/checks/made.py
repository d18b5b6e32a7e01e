"""Histories made by hand, row by row: every call is one step later than the one before."""

from __future__ import annotations

from typing import Any

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import Result
from kafkalab.history.history import History
from kafkalab.history.schema import FrameRow, Label, Leader, LogRecord, Operation, Poll, Read, TxnEntry, Watermark

Read_ = tuple[int, str]


class Made:
    """Rows so far. `log` and `send` give the next offset of the key unless one is named."""

    def __init__(self) -> None:
        self.step = 0
        self.rows: dict[str, list[Any]] = {}
        self.ends: dict[str, int] = {}
        self.polls: dict[str, int] = {}

    def _next(self) -> int:
        self.step += 1
        return self.step

    def _add(self, table: str, row: Any) -> Any:
        self.rows.setdefault(table, []).append(row)
        return row

    def log(self, key: str, value: str | None = None, offset: int | None = None, **given: Any) -> LogRecord:
        """A record; with `pid` idempotent, with `txn=True` transactional."""
        at = self.ends.get(key, 0) if offset is None else offset
        self.ends[key] = max(self.ends.get(key, 0), at + 1)
        renamed = {"pid": "producer_id", "epoch": "producer_epoch", "seq": "sequence", "txn": "transactional"}
        row = {renamed.get(name, name): v for name, v in given.items()}
        step = row.pop("step", None) or self._next()
        record: LogRecord = self._add("log", LogRecord(key=key, offset=at, value=value, step=step, at_ms=step, **row))
        return record

    def marker(self, key: str, control: str, pid: int = 1, epoch: int = 0, **given: Any) -> LogRecord:
        """COMMIT or ABORT."""
        return self.log(key, pid=pid, epoch=epoch, control=control, txn=True, **given)

    def operation(self, function: str, type: str = "ok", **given: Any) -> Operation:
        """An invoke and its end, in two steps."""
        rows = self.rows.setdefault("operations", [])
        offset = given.pop("offset", -1)
        start = Operation(index=len(rows), type="invoke", function=function, step=self._next(), **given)
        rows.append(start)
        if type:
            step = self._next()
            end = {**given, "index": len(rows), "type": type, "offset": offset, "invocation": start.index}
            rows.append(Operation(function=function, step=step, **end))
        return start

    def send(
        self, client: str, key: str, value: str, pid: int = 1, epoch: int = 0, seq: int = 0, n: int = -1,
        type: str = "ok", offset: int | None = None, logged: bool = True, told: bool = True,
        headers: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """A send with its record; `n` is the client's transaction. Not `told`: acknowledged without an offset."""
        tid = f"id of {client}" if n > 0 else None
        at = self.ends.get(key, 0) if offset is None else offset
        if logged:
            at = self.log(key, value, offset, pid=pid, epoch=epoch, seq=seq, txn=n > 0, headers=headers).offset
        self.operation(
            "send", type, client=client, process=client, transactional_id=tid, producer_id=pid, producer_epoch=epoch,
            sequence=seq, key=key, value=value, transaction=n, offset=at if told and type == "ok" else -1,
            headers=headers,
        )  # fmt: skip

    def end(self, client: str, function: str, n: int, type: str = "ok") -> None:
        """commit or abort of a client's transaction."""
        self.operation(function, type, client=client, process=client, transaction=n, transactional_id=f"id of {client}")

    def poll(
        self, consumer: str, key: str, *reads: Read_, level: str = "read_committed", start: int = -1, end: int = -1,
        moved: str = "", process: str = "", known: bool = True, group: str | None = None,
    ) -> None:  # fmt: skip
        """A poll of one key; without `known` only its reads are in the history."""
        step, number = self._next(), self.polls.get(consumer, 0) + 1
        self.polls[consumer] = number
        same: dict[str, Any] = {
            "consumer": consumer, "process": process or consumer, "isolation_level": level, "poll": number, "key": key
        }  # fmt: skip
        if known:
            self._add("polls", Poll(**same, group=group, start=start, end=end, moved=moved, step=step))
        for index, (offset, value) in enumerate(reads):
            self._add("reads", Read(**same, index=index, offset=offset, value=value, step=step, at_ms=step))

    def entry(self, state: str, *partitions: str, tid: str = "t", pid: int = 1, epoch: int = 0, **given: Any) -> None:
        """An entry of the transaction log."""
        step = self._next()
        row = {"at_ms": step, "start_ms": step, "timeout_ms": 60_000, **given}
        offset = len(self.rows.get("transactions", ()))
        self._add(
            "transactions",
            TxnEntry(
                key="__transaction_state-1", offset=offset, transactional_id=tid, state=state, producer_id=pid,
                producer_epoch=epoch, partitions=partitions, step=step, **row,
            ),
        )  # fmt: skip

    def mark(self, key: str, stable: int, node: str = "b1", leads: bool = True, epoch: int = 0) -> None:
        """The last stable offset moved."""
        self._add(
            "watermarks",
            Watermark(
                key=key, node=node, leads=leads, leader_epoch=epoch, high_watermark=99, last_stable_offset=stable,
                step=self._next(), at_ms=self.step,
            ),
        )  # fmt: skip

    def leader(self, key: str, leader: str) -> None:
        """The controller's decision."""
        self._add("leaders", Leader(key=key, leader=leader, step=self._next()))

    def frame(self, id: str, sender: str) -> None:
        """A request on the wire."""
        self._add("frames", FrameRow(id=id, name=id.partition("#")[0], kind="request", sender=sender))

    def label(self, name: str, value: str) -> None:
        """Something that is true of the whole history."""
        self._add("labels", Label(name=name, value=value))

    def ends_at(self, end_ms: int) -> None:
        """Set how long the history lasts."""
        self.label("end_ms", str(end_ms))

    def history(self) -> History:
        return History(**{name: tuple(rows) for name, rows in self.rows.items()})

    def check(self, name: str) -> Result:
        """Return what one check says."""
        return BY_NAME[name](self.history())


def verdict(made: Made, name: str) -> tuple[str, list[str]]:
    """The verdict, and the policy of each finding."""
    result = made.check(name)
    return result.verdict, [finding.policy for finding in result.findings]


OK: tuple[str, list[str]] = ("ok", [])
VIOLATED = ("violated", ["forbidden"])
UNKNOWN: tuple[str, list[str]] = ("unknown", [])
SEEN = ("ok", ["allowed"])
