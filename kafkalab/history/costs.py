"""The costs of a run: frames, bytes, log entries, round trips and virtual milliseconds, by API or by phase.

Left out is what goes on whether or not there are transactions: the followers' fetches, and the controller's work. What
is appended to a leader's log is counted once, though every follower copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.run.run import Run
from kafkalab.run.source import Source, run_of
from kafkalab.trace import Event, Frame, Trace

PHASES = {
    "start": ("FindCoordinator", "InitProducerId", "ApiVersions", "Metadata"),
    "read": ("Fetch", "ListOffsets", "OffsetFetch", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    "write": ("Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "OffsetCommit"),
    "decide": ("EndTxn",),
    "markers": ("WriteTxnMarkers",),
}
"""The purpose of each request, in the order in which a transaction comes to it."""
PHASE_OF = {api: phase for phase, apis in PHASES.items() for api in apis}
COLUMNS = ("frames", "bytes", "entries", "round_trips", "ms")
START = "start"
"""The phase that a client pays for once, not for each transaction."""
BY = ("api", "phase")
SizeOf = Callable[[Run, Frame], int]
"""The function that returns a frame's bytes on the wire; -1 where that is not known."""


@dataclass(frozen=True, slots=True)
class Trip:
    """One request and its response: their steps, times and bytes, -1 for what did not happen or is not known."""

    api: str
    sent_step: int
    sent_ms: int
    request_bytes: int
    answered_step: int = -1
    answered_ms: int = -1
    response_bytes: int = -1
    received_step: int = -1
    received_ms: int = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """An append of a leader: its step, how many offsets it took, and the API whose request led to it."""

    api: str
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class Costs:
    """All that is counted, with its steps, so that it can be cut at any of them."""

    trips: tuple[Trip, ...]
    entries: tuple[Entry, ...]
    decided: tuple[int, ...]
    """The steps at which a decision was appended: one for each transaction that ended."""

    def rows(self, by: str = "api", step: int | None = None) -> list[dict[str, Any]]:
        """Return a row for each API or phase, in the order in which it was first sent, and a row "all".

        A row has a `name` and the columns of COLUMNS; `bytes` is None where a frame's size is not known. `round_trips`
        counts those that could only come one after another; `ms` is how long at least one of them was under way. With
        `step` it is what had been spent by then. ValueError for any other `by`.
        """
        if by not in BY:
            raise ValueError(f"by is 'api' or 'phase', not {by!r}")
        ends = [0, *(t.received_step for t in self.trips), *(e.step for e in self.entries)]
        last = max(ends) if step is None else step
        trips = [t for t in self.trips if t.sent_step <= last]
        entries = [e for e in self.entries if e.step <= last]
        now_ms = max((ms for t in trips for at, ms in _moments(t) if at <= last), default=0)

        def name(api: str) -> str:
            return api if by == "api" else PHASE_OF.get(api, "other")

        both: list[Trip | Entry] = [*trips, *entries]
        names = dict.fromkeys(name(one.api) for one in sorted(both, key=_step))
        found = []
        for one in names:
            its = [t for t in trips if name(t.api) == one], [e for e in entries if name(e.api) == one]
            found.append({"name": one, **_row(*its, last, now_ms)})
        if by == "phase":
            found.sort(key=lambda row: [*PHASES, "other"].index(str(row["name"])))
        return [*found, {"name": "all", **_row(trips, entries, last, now_ms)}]

    def per_transaction(self, step: int | None = None) -> dict[str, Any]:
        """Return the columns for one transaction on average, without the phase "start"; {} before the first ended."""
        count = self.transactions(step)
        later = Costs(tuple(t for t in self.trips if PHASE_OF.get(t.api) != START), self.entries, self.decided)
        spent = later.rows("phase", step)[-1]
        return {k: None if spent[k] is None else round(spent[k] / count, 1) for k in COLUMNS} if count else {}

    def transactions(self, step: int | None = None) -> int:
        """Return how many transactions were decided, by `step` if it is given."""
        return sum(step is None or at <= step for at in self.decided)


def costs_of(source: Source, size_of: SizeOf | None = None) -> Costs:
    """Count what this run has cost; without `size_of` no bytes are known."""
    return _CostReader(run_of(source), size_of or (lambda run, frame: -1)).costs


def _moments(trip: Trip) -> Iterator[tuple[int, int]]:
    yield trip.sent_step, trip.sent_ms
    yield trip.answered_step, trip.answered_ms
    yield trip.received_step, trip.received_ms


def _step(one: Trip | Entry) -> int:
    return one.sent_step if isinstance(one, Trip) else one.step


def _row(trips: list[Trip], entries: list[Entry], last: int, now_ms: int) -> dict[str, Any]:
    answered = [t for t in trips if 0 <= t.answered_step <= last]
    sizes = [t.request_bytes for t in trips] + [t.response_bytes for t in answered]
    whole = [0 <= t.received_step <= last for t in trips]
    spans = sorted((t.received_ms if w else now_ms, t.sent_ms, w) for t, w in zip(trips, whole, strict=True))
    free_ms, rounds = -1, 0
    for end, begin, is_whole in spans:
        if is_whole and begin >= free_ms:
            free_ms, rounds = end, rounds + 1
    spent, until = 0, -1
    for begin, end in sorted((begin, end) for end, begin, _ in spans):
        spent += max(0, end - max(begin, until))
        until = max(until, end)
    return {
        "frames": len(sizes),
        "bytes": None if -1 in sizes else sum(sizes),
        "entries": sum(e.count for e in entries),
        "round_trips": rounds,
        "ms": spent,
    }


class _CostReader:
    """Reads a trace once."""

    def __init__(self, run: Run, size_of: SizeOf) -> None:
        self.run, self.size_of = run, size_of
        self.trace: Trace = run.trace

    @cached_property
    def costs(self) -> Costs:
        trips = tuple(self._trip(frame) for frame in self.trace.frames.values() if _counts(frame))
        appends = [e for e in self.trace.events if e.kind == "append" and e.cause >= 0]
        entries = [(api, e) for e in appends if (api := self._api_of(e))]
        decided = tuple(e.step for _, e in entries if _decides(e))
        counted = tuple(Entry(api, e.step, e.data.last_offset - e.data.base_offset + 1) for api, e in entries)
        return Costs(trips, counted, decided)

    @cached_property
    def _answers(self) -> dict[str, Frame]:
        return {frame.of: frame for frame in self.trace.frames.values() if frame.kind == "response"}

    def _trip(self, request: Frame) -> Trip:
        answer = self._answers.get(request.id)
        size = self.size_of(self.run, request)
        if answer is None:
            return Trip(request.name, request.sent_step, request.sent_ms, size)
        return Trip(
            request.name, request.sent_step, request.sent_ms, size, answer.sent_step, answer.sent_ms,
            self.size_of(self.run, answer), answer.received_step, answer.received_ms,
        )  # fmt: skip

    def _api_of(self, event: Event) -> str:
        """The request that led to this append; "" for a follower's copy, and for what no request led to."""
        while event.cause >= 0:
            event = self.trace.events[event.cause]
            if event.kind == "receive":
                frame = self.trace.frames[event.frame]
                if frame.category == "verification" and frame.kind == "response":  # the leader goes on with a Produce
                    event = self.trace.events[self.trace.frames[frame.of].sent_step]
                    continue
                return "" if frame.category == "replication" else frame.name.removesuffix("Response")
        return ""


def _counts(frame: Frame) -> bool:
    return frame.kind == "request" and frame.category != "replication"


def _decides(event: Event) -> bool:
    if topic_of(event.name) != TRANSACTION_TOPIC or not event.data.records:
        return False
    state = getattr(event.data.records[0].value, "state", None)
    return getattr(state, "name", "") in ("PREPARE_COMMIT", "PREPARE_ABORT")
