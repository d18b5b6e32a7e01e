"""Reads of real clients, derived from their Fetch responses: their polls are calls inside a process that nobody sees.

A record counts as read when a response with it has arrived, though its application may be given it later, or never.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalab.history.export import text_of
from kafkalab.history.history import History
from kafkalab.history.operations import SERVER
from kafkalab.history.schema import Poll, Read
from kafkalab.log.aborted_filter import deliver
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import Fetch
from kafkalab.protocol.messages.join_group import JoinGroupResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.trace import Event, Frame, Trace

SHARED_IDS = ("rdkafka", "aiokafka", "kafka-python", "kafkajs", "sarama", "kgo", "client ")
"""The prefixes of client ids that a library gives to every client: they say nothing of the process."""


def with_fetches(history: History, trace: Trace) -> History:
    """Return the history with `reads` and `polls` of all clients that fetched, and with the processes that are known.

    A transactional producer and the consumer whose offsets it commits are one process: TxnOffsetCommit names the
    member of the group. Where that is not known of every such producer, reads belong to no producer's process, so that
    no check takes one client's reads for another's.
    """
    found = _Fetches(trace)
    for event in trace.events:
        found.add(event)
    reads, polls = found.reads, found.polls
    names = found.processes()
    if names is None:
        reads = [row._replace(process=f"{row.process}, consumer") for row in reads]
        polls = [row._replace(process=f"{row.process}, consumer") for row in polls]
    known = names or {}
    return replace(
        history,
        operations=tuple(row._replace(process=known.get(row.process, row.process)) for row in history.operations),
        reads=(*history.reads, *reads),
        polls=(*history.polls, *polls),
    )


class _Fetches:
    """Walks over the events once; knows where each client has read to."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reads: list[Read] = []
        self.polls: list[Poll] = []
        self._members: dict[str, str] = {}  # member id -> client
        self._groups: dict[str, str] = {}  # client -> group
        self._committers: dict[str, dict[str, None]] = {}  # producer's client -> clients whose offsets it commits
        self._next: dict[tuple[str, str], int] = {}
        self._count: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """One more event; only what reaches a broker or a client counts."""
        frame = event.data
        if event.kind != "receive" or not isinstance(frame, Frame) or frame.copy_of:
            return
        if isinstance(frame.body, TxnOffsetCommit) and not SERVER.fullmatch(frame.sender):
            whose = self._members.get(frame.body.member_id, "")
            self._committers.setdefault(frame.sender, {})[whose] = None
        elif frame.kind == "response" and not SERVER.fullmatch(frame.receiver):
            asked = self.trace.frames[frame.of]
            if isinstance(frame.body, JoinGroupResponse):
                self._joins(asked, frame)
            elif isinstance(asked.body, Fetch):
                self._on_fetch(asked, frame, event)

    def _joins(self, asked: Frame, frame: Frame) -> None:
        body: Any = frame.body
        if body.error is Error.NONE:
            self._members[body.member_id] = frame.receiver
            self._groups[frame.receiver] = asked.body.group_id
            for client, key in list(self._next):
                if client == frame.receiver:
                    self._next[client, key] = -1

    def _on_fetch(self, asked: Frame, frame: Frame, event: Event) -> None:
        client, level = frame.receiver, asked.body.isolation_level
        number = self._count[client] = self._count.get(client, 0) + 1
        same: dict[str, Any] = {"consumer": client, "process": client, "isolation_level": level, "poll": number}
        same["step"] = event.step
        index = 0
        for key, fetched in frame.body.partitions.items():
            start = asked.body.positions.get(key, -1)
            if start < 0 or fetched.error is not Error.NONE:
                continue
            known = self._next.get((client, key))
            moved = "" if known == start else "assign" if known is None else "rebalance" if known < 0 else "seek"
            records, end = deliver(key, start, fetched.batches, fetched.aborted_transactions)
            if not records and end == start and not moved:
                continue
            self._next[client, key] = end
            group = self._groups.get(client)
            self.polls.append(Poll(group=group, key=key, start=start, end=end, moved=moved, **same))
            for record in records:
                value, at_ms = text_of(record.value), event.at_ms
                row = Read(index=index, key=key, offset=record.offset, value=value, at_ms=at_ms, **same)
                self.reads.append(row)
                index += 1

    def processes(self) -> dict[str, str] | None:
        """Return by producer's client the process that it belongs to; None if that is not known of all."""
        found: dict[str, str] = {}
        for client, whose in self._committers.items():
            consumer = next(iter(whose))
            if len(whose) != 1 or not consumer or client.startswith(SHARED_IDS) or consumer.startswith(SHARED_IDS):
                return None
            found[client] = consumer
        return found
