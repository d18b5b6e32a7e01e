"""The operations of clients, as Jepsen has them: what was set out to do, and how it ended: ok, fail, or nobody knows.

Calls of transactions come from the events of the client library; sends and offsets come from frames, so that a program
by hand has a history, too. A retried batch is one operation: of the library, while it holds the same records, also
under other numbers (KIP-360); by hand, while transaction, producer id, epoch, sequence and value are the same. Also of
another library a record without an answer that is sent again under a raised epoch is the same operation: its time, in
milliseconds, and its value say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kafkalab.history.schema import Operation
from kafkalab.protocol.batch_bytes import CorruptBatchError
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import Produce, ProduceResponse
from kafkalab.protocol.records import Batch, sequence_after
from kafkalab.protocol.source_header import header_texts
from kafkalab.trace import Event, Frame, Trace

SERVER = re.compile(r"b\d+|controller")
CALLS = {
    "init_transactions": "init",
    "begin_transaction": "begin",
    "commit_transaction": "commit",
    "abort_transaction": "abort",
}
UNCERTAIN = (
    Error.REQUEST_TIMED_OUT,
    Error.NETWORK_EXCEPTION,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.UNKNOWN_SERVER_ERROR,
)
"""After these a batch may be in the log all the same: a leader that lost its place says so of what it has appended."""
UNCERTAIN_OFFSETS = (Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.UNKNOWN_SERVER_ERROR)
"""The same for committed offsets: what a group coordinator says of an append that timed out, or whose log it lost."""
BY_HAND = {"InitProducerId": "init", "EndTxn": "", "TxnOffsetCommit": "offsets", "OffsetCommit": "offsets"}
JOINS = ("Produce", "AddPartitionsToTxn", "TxnOffsetCommit", "AddOffsetsToTxn")


@dataclass(slots=True, eq=False)
class _Call:
    """One operation: its first row, and what is known of its end."""

    row: Operation
    frames: list[str] = field(default_factory=list)
    type: str = ""
    error: str = ""
    offset: int = -1
    end_step: int = -1
    end_ms: int = -1
    doubtful: bool = False
    place: int = 0  # the record's place in its batch
    answered: list[str] = field(default_factory=list)
    identity: tuple[int, int, int] = (-1, -1, -1)  # producer id, epoch and sequence under which it was sent last


def operations_of(trace: Trace) -> tuple[Operation, ...]:
    """All operations, invoke and completion apart, in the order of their steps."""
    found = _Operations(trace)
    for event in trace.events:
        found.add(event)
    found.finish()
    rows: list[tuple[int, int, bool, Operation]] = []
    for number, call in enumerate(found.calls):
        rows.append((call.row.step, number, False, call.row))
        end = call.row._replace(
            type=call.type, error=call.error, offset=call.offset, step=call.end_step, at_ms=call.end_ms
        )
        if call.row.function == "send":
            pid, epoch, sequence = call.identity
            end = end._replace(producer_id=pid, producer_epoch=epoch, sequence=sequence)
        rows.append((call.end_step, number, True, end))
    rows.sort()  # step, number and end differ in any two rows
    invoked = {number: index for index, (_, number, end, _) in enumerate(rows) if not end}
    return tuple(
        row._replace(index=i, invocation=invoked[number] if end else -1) for i, (_, number, end, row) in enumerate(rows)
    )


def _with_raised_epochs(trace: Trace) -> set[tuple[str, int]]:
    """Return the clients, and their producer ids, that have sent batches under more than one epoch."""
    epochs: dict[tuple[str, int], int] = {}
    found = set()
    for frame in trace.frames.values():
        if isinstance(frame.body, Produce):
            for batch in frame.body.batches.values():
                who = (frame.sender, batch.producer_id)
                if batch.producer_id >= 0 and epochs.setdefault(who, batch.producer_epoch) != batch.producer_epoch:
                    found.add(who)
    return found


class _Operations:
    """Walks over the events; knows which operation each frame belongs to."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.calls: list[_Call] = []
        self.library = {(e.node, e.data.get("transactional_id")) for e in trace.of("invoke")}
        self.producers = {e.node for e in trace.of("state", "producer")}
        self.sends: dict[tuple[Any, ...], _Call] = {}
        self.raised = _with_raised_epochs(trace)
        self.timed: dict[tuple[Any, ...], _Call] = {}
        self.of_frame: dict[str, list[tuple[str, _Call]]] = {}
        self.open_calls: dict[tuple[str, str], _Call] = {}
        self.transaction: dict[tuple[str, str | None], int] = {}
        self.ended: dict[tuple[str, str | None], bool] = {}

    def add(self, event: Event) -> None:
        """One more event."""
        if event.kind in ("send", "receive"):
            frame: Frame = event.data
            if event.kind == "send" and frame.kind == "request" and not SERVER.fullmatch(frame.sender):
                self._request(frame, event)
            elif event.kind == "receive" and frame.kind == "response" and not frame.copy_of:
                self._response(frame, event)
        elif event.kind == "invoke" and event.name in CALLS:
            self._on_invoke(event)
        elif event.kind == "complete" and event.name in CALLS:
            self._on_complete(event)
        elif event.kind == "complete" and event.name == "poll":
            self._on_poll(event)

    def finish(self) -> None:
        """End what has no answer in "info": the outcome is not known."""
        for call in self.calls:
            lost = any(frame not in call.answered for frame in call.frames)
            if not call.type:
                self._close(call, "info", "NONE", self.trace.events[-1], call.offset)
            elif call.type == "fail" and (call.doubtful or lost):
                call.type = "info"

    # calls of the client library

    def _on_invoke(self, event: Event) -> None:
        tid, function = event.data["transactional_id"], CALLS[event.name]
        if function == "begin":
            self.transaction[event.node, tid] = self.transaction.get((event.node, tid), 0) + 1
        number = self.transaction.get((event.node, tid), -1) if function != "init" else -1
        row = self._row(event, function, client=f"{event.node}/{tid}", transactional_id=tid, transaction=number)
        if function == "begin":
            self._add_done(row, event, -1)
        else:
            self.open_calls[event.node, event.name] = self._add_call(row)

    def _on_complete(self, event: Event) -> None:
        call = self.open_calls.pop((event.node, event.name), None)
        if call is not None:
            self._close(call, event.data["outcome"], event.data["error"], event)

    def _on_poll(self, event: Event) -> None:
        consumer = event.data["consumer"]
        for key, why in event.data["moved"].items():
            row = self._row(event, why, client=consumer, key=key, offset=event.data["from"][key])
            self._add_done(row, event, row.offset)
        self._add_done(self._row(event, "poll", client=consumer), event, -1)

    def _add_done(self, row: Operation, event: Event, offset: int) -> None:
        self._close(self._add_call(row), "ok", "NONE", event, offset)

    def _add_call(self, row: Operation, **known: Any) -> _Call:
        self.calls.append(_Call(row, **known))
        return self.calls[-1]

    # frames

    def _request(self, frame: Frame, event: Event) -> None:
        tid = getattr(frame.body, "transactional_id", None)
        place = (frame.sender, tid)
        if frame.name in JOINS and tid is not None and place not in self.library and self.ended.get(place, True):
            self.transaction[place], self.ended[place] = self.transaction.get(place, 0) + 1, False
        if isinstance(frame.body, Produce):
            for key, batch in frame.body.batches.items():
                self._note_send(frame, event, tid, key, batch)
        elif frame.name in BY_HAND and (place not in self.library or BY_HAND[frame.name] == "offsets"):
            self._note_request(frame, event, tid)

    def _note_send(self, frame: Frame, event: Event, tid: str | None, key: str, batch: Batch) -> None:
        number = self.transaction.get((frame.sender, tid), -1)
        is_raised = (frame.sender, batch.producer_id) in self.raised and frame.sender not in self.producers
        times = _times(batch) if is_raised else []
        for i, record in enumerate(batch.records):
            sequence = sequence_after(batch.base_sequence, i)
            identity: tuple[Any, ...] = (id(record),)  # the library sends the same object again, and the trace keeps it
            if frame.sender not in self.producers:
                numbered = (batch.producer_id, batch.producer_epoch, sequence)
                identity = (frame.sender, key, number, *numbered, record.value)
                if batch.producer_id < 0:
                    identity = (*identity, batch.timestamp_ms, i)
            call = self.sends.get(identity)
            timed = (frame.sender, key, number, batch.producer_id, record.value, times[i]) if times else ()
            if call is None and (before := self.timed.get(timed)) is not None and not before.answered:
                call = before if batch.producer_epoch > before.identity[1] else None
            if call is None:
                row = self._row(
                    event,
                    "send",
                    client=f"{frame.sender}/{batch.producer_id if tid is None else tid}",
                    transactional_id=tid,
                    producer_id=batch.producer_id,
                    producer_epoch=batch.producer_epoch,
                    transaction=number,
                    key=key,
                    sequence=sequence,
                    value=record.value if record.value is None else str(record.value),
                    headers=header_texts(record.headers),
                )
                call = self._add_call(row)
            self.sends[identity] = call
            if times:
                self.timed[timed] = call
            call.frames.append(frame.id)
            call.place, call.identity = i, (batch.producer_id, batch.producer_epoch, sequence)
            self.of_frame.setdefault(frame.id, []).append((key, call))

    def _note_request(self, frame: Frame, event: Event, tid: str | None) -> None:
        function = BY_HAND[frame.name] or ("commit" if frame.body.committed else "abort")
        if frame.name in ("EndTxn", "InitProducerId"):
            self.ended[frame.sender, tid] = True
        number = self.transaction.get((frame.sender, tid), -1) if function != "init" else -1
        row = self._row(
            event,
            function,
            client=f"{frame.sender}/{tid}" if tid is not None else frame.sender,
            transactional_id=tid,
            producer_id=getattr(frame.body, "producer_id", -1),
            producer_epoch=getattr(frame.body, "producer_epoch", -1),
            transaction=number,
        )
        for key, offset in getattr(frame.body, "offsets", {"": -1}).items():
            value = getattr(frame.body, "group_id", None)
            row = row._replace(key=key, offset=offset, value=value)
            call = self._add_call(row, offset=offset)
            self.of_frame.setdefault(frame.id, []).append((key, call))

    def _response(self, frame: Frame, event: Event) -> None:
        for key, call in self.of_frame.get(frame.of, ()):
            call.answered.append(frame.of)
            if call.type == "ok":
                continue
            if isinstance(frame.body, ProduceResponse):
                self._on_produced(frame.body, key, call, event)
            else:
                errors = getattr(frame.body, "errors", {})
                name = errors[key].name if key in errors else frame.error
                call.doubtful = call.doubtful or errors.get(key) in UNCERTAIN_OFFSETS
                self._close(call, "ok" if name == "NONE" else "fail", name, event, call.offset)

    def _on_produced(self, body: ProduceResponse, key: str, call: _Call, event: Event) -> None:
        produced = body.partitions[key]
        known = produced.base_offset >= 0
        if produced.error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
            self._close(call, "ok", produced.error.name, event, produced.base_offset + call.place if known else -1)
        else:
            call.doubtful = call.doubtful or produced.error in UNCERTAIN
            self._close(call, "fail", produced.error.name, event)

    def _close(self, call: _Call, type: str, error: str, event: Event, offset: int = -1) -> None:
        call.type, call.error, call.offset = type, error, offset
        call.end_step, call.end_ms = event.step, event.at_ms

    def _row(self, event: Event, function: str, **given: Any) -> Operation:
        return Operation(
            type="invoke", function=function, process=event.node, step=event.step, at_ms=event.at_ms, **given
        )


def _times(batch: Batch) -> list[int]:
    """Return the time of each record; none for bytes that are no records, which a client may send, too."""
    try:
        return batch.timestamps()
    except CorruptBatchError:
        return []
