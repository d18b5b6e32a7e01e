"""All that is known from the text: facts by kind, each kind in bounded memory, and what no reader knew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kafkalab.diagnose.facts import (
    AbortCommand,
    DescribedTransaction,
    GroupRow,
    HangingRow,
    LeaderRow,
    ListedTransaction,
    ProducerRow,
    Said,
    Source,
    StateRecord,
)
from kafkalab.diagnose.log_view import LogView

Fact = TypeVar("Fact")

FEW = 500
"""Facts of a kind that are kept from the beginning, and as many from the end."""
VIEWS = 2_000
"""Partitions of which a log is kept."""
STATES = 20_000
"""Transactional ids of which records are kept, and as many patterns of log lines by id."""
SAMPLES = 5
"""Unknown lines that are shown."""


class Few(Generic[Fact]):
    """The first FEW and the last FEW facts of a kind, and how many there were."""

    def __init__(self, few: int = FEW) -> None:
        self.few = few
        self.first: list[Fact] = []
        self.last: list[Fact] = []
        self.count = 0

    def add(self, fact: Fact) -> None:
        """Add a fact; forget one from the middle if there are too many."""
        self.count += 1
        if len(self.first) < self.few:
            self.first.append(fact)
            return
        self.last.append(fact)
        if len(self.last) > 2 * self.few:
            del self.last[: -self.few]

    def __iter__(self) -> Iterator[Fact]:
        yield from self.first
        yield from self.last

    def __len__(self) -> int:
        return self.count


@dataclass(slots=True)
class Unknown:
    """The lines of one file: how many there are, how many a reader took, and some of those that none did."""

    lines: int = 0
    used: int = 0
    passed: int = 0
    """Lines of a form that is known, with nothing in them for any rule."""
    unknown: int = 0
    cut: int = 0
    """Lines that are too long to be read whole."""
    samples: list[Source] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A saved scenario that was run, or a capture: the verdict, its sentence, and what tells more (`ask`).

    `findings` are the forbidden ones: the anomaly, the step, and the sentence of each.
    """

    file: str
    verdict: str
    sentence: str
    ask: str
    findings: tuple[tuple[str, int, str], ...]


@dataclass(slots=True)
class Evidence:
    """Hold all that the files say. `views` are logs by partition; a dump that names no partition is "(FILE)"."""

    files: dict[str, Unknown] = field(default_factory=dict)
    views: dict[str, LogView] = field(default_factory=dict)
    states: dict[str, Few[StateRecord]] = field(default_factory=dict)
    listed: Few[ListedTransaction] = field(default_factory=lambda: Few(10_000))
    described: Few[DescribedTransaction] = field(default_factory=Few)
    producers: Few[ProducerRow] = field(default_factory=Few)
    hanging: Few[HangingRow] = field(default_factory=Few)
    asked_hanging: list[Source] = field(default_factory=list)
    """The headers of `find-hanging`: it printed a table, perhaps an empty one."""
    leaders: Few[LeaderRow] = field(default_factory=Few)
    aborts: Few[AbortCommand] = field(default_factory=Few)
    groups: Few[GroupRow] = field(default_factory=Few)
    said: dict[str, Few[Said]] = field(default_factory=dict)
    undecoded: dict[str, Source] = field(default_factory=dict)
    """Partitions of internal topics whose dump was made without the decoder, with a line of it."""
    runs: list[SavedRun] = field(default_factory=list)
    captures: list[str] = field(default_factory=list)
    """Folders of captures, whose records only an audit reads."""
    left_out: int = 0
    """Facts that were left out since there were too many partitions or ids."""

    def view_of(self, partition: str) -> LogView:
        """Return the view of this partition, a new one at first; beyond VIEWS partitions it is not kept."""
        found = self.views.get(partition)
        if found is None:
            if len(self.views) >= VIEWS:
                self.left_out += 1
                return LogView(partition)
            found = self.views[partition] = LogView(partition)
        return found

    def add_state(self, record: StateRecord) -> None:
        """Add a record of the transaction log."""
        few = self.states.get(record.transactional_id)
        if few is None:
            if len(self.states) >= STATES:
                self.left_out += 1
                return
            few = self.states[record.transactional_id] = Few(50)
        few.add(record)

    def add_said(self, said: Said) -> None:
        """Add what a log line says."""
        few = self.said.get(said.name)
        if few is None:
            few = self.said[said.name] = Few()
        few.add(said)

    def all_said(self, *names: str) -> Iterator[Said]:
        """Yield what lines of these patterns say, pattern by pattern."""
        for name in names:
            yield from self.said.get(name, ())

    def records_of(self, transactional_id: str) -> list[StateRecord]:
        """Return the kept records of a transactional id, in the order of the log."""
        return sorted(self.states.get(transactional_id, ()), key=lambda record: record.offset)
