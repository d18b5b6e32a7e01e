"""Which output was made from which input: what the exactly-once check needs, without a header in the application."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from kafkalab.checks.exactly_once import INPUT
from kafkalab.checks.transactions import link_sends
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.source_header import SOURCE, place_of
from kafkalab.testing.record import TopicRecord

Identity = Callable[[TopicRecord], Hashable]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An application that makes of each record of `source` one record of `target`, with the same identity."""

    source: str
    target: str
    source_id: Identity
    target_id: Identity

    def declared(self, history: History, records: Callable[[str, str], Iterable[TopicRecord]]) -> History:
        """Return the history with the header that names its input on every record of `target`.

        `records` returns what a topic holds for an isolation level. ValueError if two committed inputs have one
        identity, or an output, aborted or not, has none of any input.
        """
        inputs: dict[Hashable, str] = {}
        for record in records(self.source, READ_COMMITTED):
            name = self.source_id(record)
            if name in inputs:
                self._refuse(f"{inputs[name]} and {_place(record)} have the same identity {name!r}")
            inputs[name] = _place(record)
        for record in records(self.source, READ_UNCOMMITTED):
            inputs.setdefault(self.source_id(record), _place(record))
        headers: dict[tuple[str, int], str] = {}
        for record in records(self.target, READ_UNCOMMITTED):
            name = self.target_id(record)
            if name not in inputs:
                self._refuse(f"{_place(record)} has the identity {name!r}, which no record of {self.source} has")
            headers[f"{record.topic}-{record.partition}", record.offset] = f"{SOURCE}={inputs[name]}"
        labels = (*history.labels, Label(name=INPUT, value=self.source))
        return _with_headers(replace(history, labels=labels), headers)

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{why}: pipeline({self.source!r}, {self.target!r}, source_id=..., target_id=...)")


def _place(record: TopicRecord) -> str:
    return place_of(f"{record.topic}-{record.partition}", record.offset)


def _with_headers(history: History, headers: dict[tuple[str, int], str]) -> History:
    sent: dict[int, tuple[str, ...]] = {}
    for send in link_sends(history):
        for header in {headers[r.key, r.offset]: None for r in send.records if (r.key, r.offset) in headers}:
            for operation in (send.invoke, send.end):
                if operation is not None:
                    sent[operation.index] = (*sent.get(operation.index, ()), header)
    log = [
        row._replace(headers=(*row.headers, headers[row.key, row.offset]))
        if not row.control and row.removed != "truncated" and (row.key, row.offset) in headers else row
        for row in history.log
    ]  # fmt: skip
    operations = [row._replace(headers=(*row.headers, *sent.get(row.index, ()))) for row in history.operations]
    return replace(history, operations=tuple(operations), log=tuple(log))
