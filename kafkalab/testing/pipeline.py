"""The input of each output, which the exactly-once check needs, without a header in the application."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from kafkalab.checks.exactly_once import EFFECTS, INPUT
from kafkalab.checks.transactions import link_sends
from kafkalab.history.history import History
from kafkalab.history.positions import Positions, with_positions
from kafkalab.history.schema import Label
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.source_header import SOURCE, place_of
from kafkalab.testing.record import TopicRecord

Identity = Callable[[TopicRecord], Hashable]
Identities = Callable[[TopicRecord], Hashable | list[Hashable] | set[Hashable]]
Effects = int | Callable[[TopicRecord], int]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An application that makes records of `target` of each record of `source`: see `KafkaLab.pipeline`."""

    source: str
    target: str
    source_id: Identity
    target_id: Identities
    effects: Effects
    positions: Positions | Callable[[], Positions] | None = None

    def read_positions(self) -> Pipeline:
        """Return the pipeline with the positions of now. Call it before anything is read from Kafka.

        Then all that the application wrote before it stored them is in what is read; the other way round an input may
        look lost whose output came in between.
        """
        return replace(self, positions=self.positions()) if callable(self.positions) else self

    def declare_inputs(self, history: History, records: Callable[[str, str], Iterable[TopicRecord]]) -> History:
        """Return the history with the headers that name its inputs on every record of `target`, and with labels.

        `records` returns what a topic holds for an isolation level. ValueError if two committed inputs have one
        identity, if an output, aborted or not, has one of no input, or if `effects` or `positions` are not what they
        have to be.
        """
        inputs: dict[Hashable, str] = {}
        labels = [Label(name=INPUT, value=self.source)]
        for record in records(self.source, READ_COMMITTED):
            name = self.source_id(record)
            if name in inputs:
                self._refuse(f"{inputs[name]} and {_place(record)} have the same identity {name!r}")
            inputs[name] = _place(record)
            labels.append(Label(name=EFFECTS, value=f"{inputs[name]}={self._effects_of(record)}"))
        for record in records(self.source, READ_UNCOMMITTED):
            inputs.setdefault(self.source_id(record), _place(record))
        headers: dict[tuple[str, int], tuple[str, ...]] = {}
        for record in records(self.target, READ_UNCOMMITTED):
            names = self.target_id(record)
            for name in (several := names if isinstance(names, list | set) else [names]):
                if name not in inputs:
                    self._refuse(f"{_place(record)} has the identity {name!r}, which no record of {self.source} has")
            made_of = sorted(f"{SOURCE}={inputs[name]}" for name in several)
            headers[f"{record.topic}-{record.partition}", record.offset] = tuple(made_of)
        self._check_other_numbers(history, labels)
        found = _with_headers(replace(history, labels=(*history.labels, *labels)), headers)
        return found if self.positions is None or callable(self.positions) else self._mark(found, self.positions)

    def _effects_of(self, record: TopicRecord) -> int:
        number = self.effects(record) if callable(self.effects) else self.effects
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            self._refuse(f"effects of {_place(record)} is {number!r}, not a whole number from 0 on")
        return number

    def _mark(self, history: History, positions: Positions) -> History:
        try:
            return with_positions(history, self.source, positions)
        except ValueError as error:
            self._refuse(str(error))

    def _check_other_numbers(self, history: History, labels: Iterable[Label]) -> None:
        """Refuse another number of effects of the same input: effects are counted for each topic, expected for all."""
        told = dict(value.rsplit("=", 1) for value in history.label(EFFECTS))
        for label in labels:
            place, _, number = label.value.rpartition("=")
            if label.name == EFFECTS and told.get(place, number) != number:
                self._refuse(f"another pipeline expects {told[place]} effects of {place}, this one {number}")

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{why}: pipeline({self.source!r}, {self.target!r}, source_id=..., target_id=...)")


def _place(record: TopicRecord) -> str:
    return place_of(f"{record.topic}-{record.partition}", record.offset)


def _with_headers(history: History, headers: dict[tuple[str, int], tuple[str, ...]]) -> History:
    sent: dict[int, tuple[str, ...]] = {}
    for send in link_sends(history):
        for header in {h: None for r in send.records for h in headers.get((r.key, r.offset), ())}:
            for operation in (send.invoke, send.end):
                if operation is not None:
                    sent[operation.index] = (*sent.get(operation.index, ()), header)
    log = [
        row._replace(headers=(*row.headers, *headers[row.key, row.offset]))
        if not row.control and row.removed != "truncated" and (row.key, row.offset) in headers else row
        for row in history.log
    ]  # fmt: skip
    operations = [row._replace(headers=(*row.headers, *sent.get(row.index, ()))) for row in history.operations]
    return replace(history, operations=tuple(operations), log=tuple(log))
