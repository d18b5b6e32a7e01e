"""A view of a history that all checks share: how records ended, whose transaction they belong to, what was read.

Outcomes follow from markers in the log: "committed", "aborted", "open"; "plain" outside transactions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkalab.checks.transactions import ClientTxn, Send, link_sends, transactions_of
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Poll, Read, TxnEntry
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC, topic_of

COMMITTED, ABORTED, OPEN, PLAIN = "committed", "aborted", "open", "plain"
Place = tuple[str, int]  # key and offset
END_MS = "end_ms"
"""The name of the label that says when a history ends."""
LACKS = "lacks"
"""The name of a label whose value is a table that this history lacks: not empty, but never recorded."""
TIMED = ("operations", "log", "reads", "transactions")
"""The tables whose rows tell the time of their step."""
PREPARED = {"PrepareCommit": "COMMIT", "PrepareAbort": "ABORT"}


@dataclass(slots=True, eq=False)
class Stretch:
    """One poll of one consumer on one key: what it went over, and what it returned.

    `expected` is where the consumer was before it, -1 if that is not known; `before` the step of its poll before.
    """

    consumer: str
    poll: int
    key: str
    isolation_level: str
    step: int
    start: int = -1
    end: int = -1
    moved: str = ""
    reads: list[Read] = field(default_factory=list)
    expected: int = -1
    before: int = -1


@dataclass(slots=True, eq=False)
class View:
    """All that checks look at. `logs` holds each key's records in offset order, without those that were truncated.

    `unknown` says for each of them of how many offsets before it the history knows nothing.
    `markers` has the marker that ended a record, `ended` the first record that a marker ended. `prepares` are the
    decisions by producer id and epoch, `commits` those to commit by producer id alone.
    """

    history: History
    logs: dict[str, list[LogRecord]] = field(default_factory=dict)
    unknown: dict[str, list[int]] = field(default_factory=dict)
    at: dict[Place, LogRecord] = field(default_factory=dict)
    outcomes: dict[Place, str] = field(default_factory=dict)
    markers: dict[Place, LogRecord] = field(default_factory=dict)
    ended: dict[Place, LogRecord] = field(default_factory=dict)
    open: list[LogRecord] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    transactions: list[ClientTxn] = field(default_factory=list)
    transaction_of: dict[Place, ClientTxn] = field(default_factory=dict)
    send_of: dict[Place, Send] = field(default_factory=dict)
    stretches: dict[tuple[str, str], list[Stretch]] = field(default_factory=dict)
    known: dict[str, list[int]] = field(default_factory=dict)
    entries: list[TxnEntry] = field(default_factory=list)
    prepares: dict[tuple[int, int], list[TxnEntry]] = field(default_factory=dict)
    commits: dict[int, list[TxnEntry]] = field(default_factory=dict)
    end_ms: int = 0

    def data(self, key: str) -> list[LogRecord]:
        """The records of a key without its markers."""
        return [r for r in self.logs.get(key, ()) if not r.control]

    @property
    def data_keys(self) -> list[str]:
        """The keys that are not internal, in order."""
        return [key for key in self.logs if topic_of(key) not in INTERNAL_TOPICS]

    @property
    def offset_commits(self) -> list[LogRecord]:
        """The records that hold a group's committed offset, however they ended."""
        offsets = [records for key, records in self.logs.items() if topic_of(key) == OFFSETS_TOPIC]
        return [record for records in offsets for record in records if record.record_key]

    def outcome(self, read: Read) -> str:
        """Return how the record ended that this read returned; empty where the log does not hold it any more."""
        record = self.at.get((read.key, read.offset))
        return self.outcomes[read.key, read.offset] if record is not None and record.value == read.value else ""

    def committed_between(self, key: str, start: int, end: int) -> list[int]:
        """The offsets in [start, end) that hold a committed value which nothing has removed."""
        known = self.known.get(key, [])
        return known[bisect_left(known, start) : bisect_left(known, end)]

    def decision(self, marker: LogRecord) -> TxnEntry | None:
        """The newest PREPARE of this outcome, producer id and epoch before the marker that names its key."""
        prepared = self.prepares.get((marker.producer_id, marker.producer_epoch), [])
        for number in range(bisect_right(prepared, marker.step, key=lambda t: t.step) - 1, -1, -1):
            entry = prepared[number]
            if PREPARED[entry.state] == marker.control and marker.key in entry.partitions:
                return entry
        return None

    def find_contradicted(self, marker: LogRecord) -> TxnEntry | None:
        """Return the newest COMMIT decision for records that this ABORT marker ended; None if there is none.

        The decision names the marker's key and producer id, and was made between the first of these records and the
        marker. Its epoch may be a later one: transaction version 2 raises it with the decision.
        """
        ended = self.ended.get((marker.key, marker.offset))
        if marker.control != "ABORT" or ended is None:
            return None
        for entry in reversed(self.commits.get(marker.producer_id, ())):
            if ended.step < entry.step < marker.step and marker.key in entry.partitions:
                return entry
        return None


def view_of(history: History, forgotten: Mapping[int, int] | None = None) -> View:
    """The view; linear in the rows but for sorting.

    `forgotten` says of a producer id how many decisions it had before those that the history still has, if any.
    """
    view = View(history)
    for record in sorted((r for r in history.log if r.removed != "truncated"), key=lambda r: (r.key, r.offset)):
        view.logs.setdefault(record.key, []).append(record)
        view.at[record.key, record.offset] = record
    for key, records in view.logs.items():
        view.unknown[key] = [record.offset - number for number, record in enumerate(records)]
        _end_transactions(view, records)
        view.known[key] = [r.offset for r in records if not r.control and not r.removed and _is_final(view, r)]
    view.entries = [t for t in history.transactions if t.removed != "truncated"]
    for entry in view.entries:
        if entry.state in PREPARED:
            view.prepares.setdefault((entry.producer_id, entry.producer_epoch), []).append(entry)
            if PREPARED[entry.state] == "COMMIT":
                view.commits.setdefault(entry.producer_id, []).append(entry)
    view.sends = link_sends(history)
    found = transactions_of(history, view.sends, view.logs, view.entries, forgotten or {})
    view.transactions, view.transaction_of, view.send_of = found
    for stretch in _stretches(history):
        view.stretches.setdefault((stretch.consumer, stretch.key), []).append(stretch)
    for stretches in view.stretches.values():
        _place(stretches)
    view.end_ms = ended_ms(history)
    return view


def ended_ms(history: History) -> int:
    """Return when a history ends: as its label says, else the time of its last step; 0 if no row has a time.

    The largest time would not do: a client may stamp a record with any time, and a clock may be set back.
    """
    if said := history.label(END_MS):
        return max(map(int, said))
    times = [(row.step, row.at_ms) for table in TIMED for row in history.table(table)]  # type: ignore[union-attr]
    return max((time for time in times if time[1] >= 0), default=(0, 0))[1]


def _is_final(view: View, record: LogRecord) -> bool:
    return view.outcomes[record.key, record.offset] in (COMMITTED, PLAIN)


def _end_transactions(view: View, records: list[LogRecord]) -> None:
    """Give every record its outcome: that of the first marker of its producer id behind it."""
    ongoing: dict[int, list[LogRecord]] = {}
    for record in records:
        place = (record.key, record.offset)
        if record.control:
            outcome = COMMITTED if record.control == "COMMIT" else ABORTED
            for ended in ongoing.pop(record.producer_id, ()):
                view.outcomes[ended.key, ended.offset] = outcome
                view.markers[ended.key, ended.offset] = record
                view.ended.setdefault(place, ended)
        elif record.transactional:
            view.outcomes[place] = OPEN
            ongoing.setdefault(record.producer_id, []).append(record)
        else:
            view.outcomes[place] = PLAIN
    for still in ongoing.values():
        view.open += still


def _stretches(history: History) -> list[Stretch]:
    """Every poll of every key, in the order of a consumer's polls; positions where the history knows them."""
    found: dict[tuple[str, int, str], Stretch] = {}
    row: Poll | Read
    for row in history.polls:
        found[row.consumer, row.poll, row.key] = Stretch(
            row.consumer, row.poll, row.key, row.isolation_level, row.step, row.start, row.end, row.moved
        )
    for row in history.reads:
        place = (row.consumer, row.poll, row.key)
        if place not in found:
            found[place] = Stretch(row.consumer, row.poll, row.key, row.isolation_level, row.step)
        found[place].reads.append(row)
    for stretch in found.values():
        stretch.reads.sort(key=lambda r: r.index)
    return sorted(found.values(), key=lambda s: (s.consumer, s.key, s.poll))


def _place(stretches: list[Stretch]) -> None:
    """Say where a consumer was on a key before each of its polls."""
    expected, before = -1, stretches[0].step
    for stretch in stretches:
        stretch.expected, stretch.before, before = expected, before, stretch.step
        if stretch.reads:
            expected = stretch.reads[-1].offset + 1
        elif stretch.start >= 0 and (expected < 0 or stretch.moved):
            expected = stretch.start
        expected = max(expected, stretch.end)
