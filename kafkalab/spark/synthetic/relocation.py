"""The windows of every anomaly: what a scene's run shows, cut to what a synthetic history has, and made relocatable.

The checks say what there is to find in a window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kafkalab.checks.all import check_all
from kafkalab.checks.check import Finding
from kafkalab.history.history import History
from kafkalab.history.schema import ROWS, HistoryRow, Label
from kafkalab.protocol.partitions import (
    INTERNAL_TOPICS,
    OFFSETS_TOPIC,
    TRANSACTION_TOPIC,
    topic_of,
    transaction_partition,
)
from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.names import NULL, name_of
from kafkalab.spark.synthetic.windows import COMMITS_KEY, MOST_ROLES, MOST_VALUES, Numbers, Start, Truth, Window


class Ref(NamedTuple):
    """A number: so much more than where something starts."""

    start: int
    plus: int = 0


@cache
def windows_of(anomaly: str, bump: int) -> tuple[Window, ...]:
    """Return the windows that inject this anomaly; `bump` is 1 for transaction version 2, else 0."""
    return tuple(window_of(scene.history(bump)) for scene in SCENES[anomaly])


def window_of(whole: History) -> Window:
    """Return the window of a run, with what the checks find in it."""
    history, last = _compact(_essential(whole))
    place = _Places(history)
    tables = {name: [place.columns(row) for row in history.table(name)] for name in ROWS if name != "labels"}
    lists = [[place.text(key) for key in entry.partitions] for entry in history.transactions]
    frames = sum(frame.kind == "request" for frame in history.frames)
    ends = {key: 1 + max((r.offset for r in history.log if r.key == key), default=-1) for key in AB}
    return Window(
        length=(max(last, 8 * frames) // 8 + 2) * 8,
        rows=(ends[AB[0]], ends[AB[1]]),
        tables={n: {c: _numbers(row[c] for row in rows) for c in rows[0]} for n, rows in tables.items() if rows},
        partitions=(np.array([len(one) for one in lists], np.int64), _numbers(r for one in lists for r in one)),
        truths=tuple(place.truth(finding) for finding in check_all(history).findings),
    )


def _numbers(refs: Iterable[Ref]) -> Numbers:
    starts, plus = np.array(list(refs), np.int64).reshape(-1, 2).T
    return Numbers(starts.astype(np.int8), plus)


# what of a run becomes a window

AB = ("out-0", "out-1")
READERS = ("committed0", "uncommitted0")
STEPS = ("step", "removed_step", "sent_step", "received_step")
SPOKEN = ("init", "begin", "send", "offsets", "commit", "abort")
MS_LATER = 3_600_000


def _essential(whole: History) -> History:
    """Return what a synthetic history shows of such a time, of which the two readers saw the beginning long before."""
    own = {record.key for record in whole.log if record.key.startswith("own-")}
    polls = [p._replace(moved="" if p.process in READERS and p.moved == "assign" else p.moved) for p in whole.polls]
    return History(
        operations=tuple(o for o in whole.operations if o.function in SPOKEN),
        log=whole.log,
        reads=whole.reads,
        polls=tuple(p for p in polls if p.start != p.end or p.moved),
        frames=tuple(f for f in whole.frames if f.name.removesuffix("Response") in names.FRAMES),
        transactions=whole.transactions,
        watermarks=tuple(w for w in whole.watermarks if w.leads and topic_of(w.key) in ("out", "own")),
        leaders=tuple(leader for leader in whole.leaders if leader.key in own),
    )


def _compact(history: History) -> tuple[History, int]:
    """Return the history with no step left out and eight steps in a millisecond; and its last step.

    A step is also the offset in internal topics, whose records do not follow each other, as after compaction.
    """
    tables: dict[str, Any] = {name: history.table(name) for name in ROWS}
    found = {getattr(row, c) for rows in tables.values() for row in rows for c in STEPS if c in row._fields} - {-1}
    rank = {step: number for number, step in enumerate(sorted(found), 1)} | {-1: -1}
    kept = {o.index: number for number, o in enumerate(history.operations)} | {-1: -1}
    for name, rows in tables.items():
        tables[name] = tuple(_shift_time(row, rank, kept) for row in rows)
    tables["labels"] = (Label("end_ms", str(len(rank) // 8 + MS_LATER)),)
    return replace(history, **tables), len(rank)


def _shift_time(row: Any, rank: dict[int, int], kept: dict[int, int]) -> Any:
    given = {c: rank[getattr(row, c)] for c in STEPS if c in row._fields}
    if "at_ms" in row._fields:
        given["at_ms"] = given["step"] >> 3
    if "poll" in row._fields:
        given["poll"] = given["step"]
    if topic_of(getattr(row, "key", "")) in INTERNAL_TOPICS:
        given["offset"] = given["step"]
    if "start_ms" in row._fields and row.start_ms >= 0:
        given["start_ms"] = 0
    if "invocation" in row._fields:
        given |= {"index": kept[row.index], "invocation": kept[row.invocation]}
    return row._replace(**given)


# where its texts and numbers begin

OF_LANE = (names.COMMITTED, names.COMMITTED_CONSUMER, names.UNCOMMITTED, names.UNCOMMITTED_CONSUMER)
STARTS_OF = {
    names.EMPTY: Start.ZERO,
    names.BROKER: Start.ZERO,
    **dict.fromkeys(OF_LANE, Start.LANE),
    **dict.fromkeys((*names.REQUEST.values(), *names.REPLY.values()), Start.FRAME),
}
"""The starts of numbers in texts, by their space; `Start.NUMBER` for a space that is not here."""
AT_OFFSETS = ("offset", "start", "end", "high_watermark", "last_stable_offset")


class _Places:
    """The starts that the numbers and texts of one history count from."""

    def __init__(self, history: History) -> None:
        sends: list[Any] = [o for o in history.operations if o.function == "send"]
        texts = [row.value for row in (*history.log, *sends, *history.reads) if topic_of(row.key) != OFFSETS_TOPIC]
        pids = sorted({row.producer_id for row in (*sends, *history.log, *history.transactions)} - {-1})
        self.pids = {pid: number for number, pid in enumerate(pids)}
        self.values = {text: number for number, text in enumerate(dict.fromkeys(t for t in texts if t is not None))}
        assert len(self.pids) <= MOST_ROLES, "a window has at most MOST_ROLES producer ids"
        assert len(self.values) <= MOST_VALUES, "a window has at most MOST_VALUES values"

    def columns(self, row: HistoryRow) -> dict[str, Ref]:
        """Return every column of a row but a list of partitions."""
        given: dict[str, Any] = row._asdict()
        key = given.get("key", "")
        found = {name: self._column(name, value, key) for name, value in given.items() if name != "partitions"}
        if "start_ms" in given:
            found["started"] = Ref(Start.STEP) if given["start_ms"] >= 0 else Ref(Start.ZERO, -1)
        return found

    def _column(self, name: str, value: Any, key: str) -> Ref:
        if name == "headers":
            value = value[0] if value else None
        if value is None:
            return Ref(Start.ZERO, NULL)
        if name == "node":
            return self.node(value, key)
        if name == "value" and topic_of(key) == OFFSETS_TOPIC:
            return Ref(Start.ZERO, names.PLAIN_NUMBER + int(value))
        if name == "value" and value in self.values:
            return Ref(Start.VALUE, names.VALUE + self.values[value])
        if isinstance(value, str):
            return self.text(value)
        if value < 0:
            return Ref(Start.ZERO, value)
        if name in STEPS or name == "poll":
            return Ref(Start.STEP, value)
        if name in AT_OFFSETS:
            return self.offset(key, value)
        if name == "producer_id":
            return Ref(Start.NUMBER, self.pids[value])
        return Ref(Start.LEADER_EPOCH if name == "leader_epoch" and key in AB else Start.ZERO, int(value))

    def text(self, text: str) -> Ref:
        """Return the name of a text."""
        if text in AB:
            return Ref(Start.KEY_A + AB.index(text))
        if topic_of(text) == OFFSETS_TOPIC:
            return Ref(Start.ZERO, COMMITS_KEY)
        if topic_of(text) == TRANSACTION_TOPIC:
            return Ref(Start.TXN_LOG + HOMES.index(text))
        name = name_of(text)
        start = STARTS_OF.get(name & ~names.NUMBER, Start.NUMBER if any(map(str.isdigit, text)) else Start.ZERO)
        assert start != Start.NUMBER or name & names.NUMBER < MOST_ROLES, f"a window has at most MOST_ROLES of {text}"
        return Ref(start, name)

    def offset(self, key: str, offset: int) -> Ref:
        """Return an offset of a partition."""
        if key in AB:
            return Ref(Start.OFFSET_A + AB.index(key), offset)
        return Ref(Start.STEP if topic_of(key) in INTERNAL_TOPICS else Start.ZERO, offset)

    def node(self, node: str, key: str) -> Ref:
        """Return the leader of a partition; those of internal ones are the same in all synthetic histories."""
        if key in AB:
            return Ref(Start.NODE_A + AB.index(key))
        internal = {OFFSETS_TOPIC: "b1", TRANSACTION_TOPIC: "b3"}
        return self.text(internal.get(topic_of(key), node))

    def truth(self, finding: Finding) -> Truth:
        """Return a finding as columns; one of the transaction log has its offset there, others one for each key."""
        keys = HOMES[:1] if finding.anomaly == "decision without marker" else finding.keys
        if len(keys) != len(finding.offsets):
            keys = keys[:1] * len(finding.offsets)
        return Truth(
            finding.anomaly,
            finding.policy,
            _numbers(self.text(key) for key in finding.keys),
            _numbers(self.offset(key, offset) for key, offset in zip(keys, finding.offsets, strict=True)),
            _numbers(Ref(Start.STEP, step) for step in finding.steps),
        )


HOMES = tuple(transaction_partition(f"t{role}") for role in range(MOST_ROLES))
