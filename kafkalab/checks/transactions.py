"""The log records that each send of a client led to, and the transactions that they belong to.

The log alone cannot tell: up to transaction version 1 all transactions of a producer share one epoch. What the client
meant is in its operations; records without one are grouped by producer id, epoch and the decisions before them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, TxnEntry
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of

Place = tuple[str, int]


@dataclass(slots=True, eq=False)
class Send:
    """One send (or commit of an offset): its invoke, its end if it has one, and the records that it led to, those too
    that were truncated."""

    invoke: Operation
    end: Operation | None
    records: list[LogRecord] = field(default_factory=list)

    @property
    def acknowledged(self) -> bool:
        return self.end is not None and self.end.type == "ok"

    @property
    def type(self) -> str:
        """The type of its end; empty if it has no end."""
        return self.end.type if self.end is not None else ""

    @property
    def end_step(self) -> int:
        return self.end.step if self.end is not None else -1

    @property
    def offset(self) -> int:
        """The record's offset as the client was told, -1 if it was not told."""
        return self.end.offset if self.end is not None and self.end.type == "ok" else -1


@dataclass(slots=True, eq=False)
class ClientTxn:
    """A transaction as its client meant it. `ends` are the completions of commit and abort, in order."""

    id: str
    process: str = ""
    client: str = ""
    number: int = -1
    records: list[LogRecord] = field(default_factory=list)
    end_step: int = -1
    ends: list[Operation] = field(default_factory=list)

    def has_ended(self, function: str, *types: str) -> bool:
        """Return True if a commit or abort of it ended in one of these ways."""
        return any(o.function == function and o.type in types for o in self.ends)

    @property
    def definitely_aborted(self) -> bool:
        """The client was told that it is aborted, and never asked for a commit that might have happened."""
        return self.has_ended("abort", "ok") and not self.has_ended("commit", "ok", "info")


def link_sends(history: History) -> list[Send]:
    """All sends in the order of their invocation."""
    ends = {o.invocation: o for o in history.operations if o.type != "invoke"}
    by_identity: dict[tuple[object, ...], list[LogRecord]] = {}
    by_place: dict[Place, list[LogRecord]] = {}
    for record in history.log:
        if not record.control:
            by_place.setdefault((record.key, record.offset), []).append(record)
            if record.producer_id >= 0:
                by_identity.setdefault(_identity(record), []).append(record)
    sends = []
    for operation in history.operations:
        if operation.function != "send" or operation.type != "invoke":
            continue
        send = Send(operation, ends.get(operation.index))
        if operation.producer_id >= 0:
            send.records = list(by_identity.get(_identity(operation), ()))
            if send.end is not None and _identity(send.end) != _identity(operation):
                send.records += by_identity.get(_identity(send.end), [])  # numbered anew (KIP-360)
        elif send.offset >= 0:
            here = by_place.get((operation.key, send.offset), ())
            send.records = [r for r in here if r.value == operation.value]
        sends.append(send)
    return sends


def _identity(row: LogRecord | Operation) -> tuple[object, ...]:
    return row.key, row.producer_id, row.producer_epoch, row.sequence, row.value


def transactions_of(
    history: History,
    sends: list[Send],
    logs: dict[str, list[LogRecord]],
    entries: list[TxnEntry],
    forgotten: Mapping[int, int],
) -> tuple[list[ClientTxn], dict[Place, ClientTxn], dict[Place, Send]]:
    """All transactions, those of clients first; of each transactional record its transaction, and its send if known."""
    found: dict[tuple[str, int], ClientTxn] = {}
    owner: dict[Place, ClientTxn] = {}
    there = {(r.key, r.offset): r for records in logs.values() for r in records}
    for operation in history.operations:
        if operation.transaction < 1:
            continue
        transaction = found.get((operation.client, operation.transaction))
        if transaction is None:
            client, number = operation.client, operation.transaction
            transaction = ClientTxn(f"{client}, transaction {number}", operation.process, client, number)
            found[client, number] = transaction
        note(transaction, operation)
    sent: dict[Place, Send] = {}
    for claims in (_offset_claims(history, there), _send_claims(sends, there)):
        for attempt, record in sorted(_match_claims(claims, there), key=_order):
            if _own(owner, found[attempt.invoke.client, attempt.invoke.transaction], record):
                sent[record.key, record.offset] = attempt
    return [*found.values(), *_of_no_client(there.values(), owner, entries, forgotten)], owner, sent


def _offset_claims(history: History, there: dict[Place, LogRecord]) -> dict[Place, list[Send]]:
    """For each offset record of a transaction the commits of that group, partition, offset, producer id and epoch."""
    same: dict[tuple[object, ...], list[Place]] = {}
    for place, record in there.items():
        if record.record_key and record.transactional and topic_of(record.key) == OFFSETS_TOPIC:
            what = (record.record_key, record.value, record.producer_id, record.producer_epoch)
            same.setdefault(what, []).append(place)
    claims: dict[Place, list[Send]] = {}
    if not same:
        return claims
    ends = {o.invocation: o for o in history.operations if o.type != "invoke"}
    for o in history.operations:
        if o.function == "offsets" and o.type == "invoke" and o.transaction >= 1:
            for place in same.get((f"{o.value}/{o.key}", str(o.offset), o.producer_id, o.producer_epoch), ()):
                attempt = Send(o, ends.get(o.index))
                if claim(there[place].step, attempt.invoke.step, attempt.type, attempt.end_step):
                    claims.setdefault(place, []).append(attempt)
    return claims


def _send_claims(sends: list[Send], there: dict[Place, LogRecord]) -> dict[Place, list[Send]]:
    claims: dict[Place, list[Send]] = {}
    for send in sends:
        if send.invoke.transaction >= 1:
            for r in send.records:
                if r.transactional and there.get((r.key, r.offset)) is r:
                    claims.setdefault((r.key, r.offset), []).append(send)
    return claims


def _order(claimed: tuple[Send, LogRecord]) -> tuple[int, str, int, int]:
    attempt, record = claimed
    return attempt.invoke.index, record.key, record.step, record.offset


def _match_claims(claims: dict[Place, list[Send]], there: dict[Place, LogRecord]) -> list[tuple[Send, LogRecord]]:
    """Return each record with the attempt that wrote it: of the highest `claim` the newest, of claim 0 the first."""
    found = []
    for place, attempts in claims.items():
        if len(attempts) == 1:
            found.append((attempts[0], there[place]))
            continue
        step = there[place].step
        ranks = [claim(step, a.invoke.step, a.type, a.end_step) for a in attempts]
        best = max(ranks)
        chosen = [a for a, rank in zip(attempts, ranks, strict=True) if rank == best]
        found.append((chosen[-1 if best else 0], there[place]))
    return found


def claim(step: int, invoked: int, type: str, ended: int) -> int:
    """Return how well an attempt explains an equal record appended at `step`: 3 it was acknowledged after the append,
    2 nobody knows how it ended, 1 it was acknowledged before (a copy came late), 0 it came later or was refused."""
    if step < invoked or type == "fail":
        return 0
    if type != "ok":
        return 2
    return 3 if step <= ended else 1


def note(transaction: ClientTxn, operation: Operation) -> None:
    if operation.function in ("commit", "abort"):
        if operation.type == "invoke":
            transaction.end_step = operation.step
        else:
            transaction.ends.append(operation)


def _own(owner: dict[Place, ClientTxn], transaction: ClientTxn, record: LogRecord) -> bool:
    if (record.key, record.offset) in owner:
        return False
    owner[record.key, record.offset] = transaction
    transaction.records.append(record)
    return True


def _of_no_client(
    records: Iterable[LogRecord],
    owner: dict[Place, ClientTxn],
    entries: list[TxnEntry],
    forgotten: Mapping[int, int],
) -> list[ClientTxn]:
    """Transactions of records without an operation: one for each producer id, epoch and time between decisions."""
    decided: dict[int, list[int]] = {}
    for entry in entries:
        if entry.state.startswith("Prepare"):
            decided.setdefault(entry.producer_id, []).append(entry.step)
    found: dict[tuple[int, int, int], ClientTxn] = {}
    for record in records:
        if not record.transactional or record.control or (record.key, record.offset) in owner:
            continue
        before = bisect_left(decided.get(record.producer_id, []), record.step)
        before += forgotten.get(record.producer_id, 0)
        place = (record.producer_id, record.producer_epoch, before)
        name = f"producer {record.producer_id}, epoch {record.producer_epoch}, transaction {before + 1}"
        _own(owner, found.setdefault(place, ClientTxn(name)), record)
    return list(found.values())
