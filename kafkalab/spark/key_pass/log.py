"""What one bucket's log, reads and watermarks tell by themselves: copies, sequences, aborted reads, stable offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.check import ALLOWED, FORBIDDEN, REPORTED
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC, topic_of
from kafkalab.spark.key_pass.arrays import Flags, Log, Longs, Names, groups, last_where, longs, starts
from kafkalab.spark.key_pass.sends import Sends, value_codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A finding, or with another `kind` something that another table has to decide."""

    anomaly: str
    run: int
    key: str
    offsets: list[int]
    steps: list[int]
    text: str
    policy: str = FORBIDDEN
    kind: str = "finding"
    client: str = ""
    number: int = -1
    sent: tuple[int, ...] = ()


class Reads:
    """A bucket's reads, with `at`: the row of the log that each returned, -1 where the log has not that value."""

    def __init__(self, table: pa.Table, log: Log, names: Names) -> None:
        self.table = table
        self.run, self.key = longs(table, "run"), names.codes(table.column("key"))
        self.offset, self.step = longs(table, "offset"), longs(table, "step")
        self.group = log.groups_of(self.run, self.key)
        self.at = log.find(self.group, self.offset)
        there = np.flatnonzero(self.at >= 0)
        mine = table.column("value").take(pa.array(there))
        other = log.values.take(pa.array(self.at[there]))
        same = pc.or_kleene(pc.equal(mine, other), pc.and_(pc.is_null(mine), pc.is_null(other)))
        differ = there[~same.fill_null(False).to_numpy().astype(np.bool_)]
        self.at[differ] = -1
        committed = names.codes(table.column("isolation_level")) == names.number("read_committed")
        self.committed: Flags = committed


def _data(log: Log) -> Flags:
    """Records of topics that are not internal, and no markers."""
    internal = [n for n, text in enumerate(log.names.texts) if topic_of(text) in INTERNAL_TOPICS]
    found: Flags = ~log.marker & ~np.isin(log.key, internal)
    return found


def duplicates(log: Log, operations: Callable[[], pa.Table]) -> Iterator[Found]:
    """As checks/duplicate.py: forbidden where one producer id holds more copies than its application sent."""
    chosen = np.flatnonzero(_data(log))
    (value,) = value_codes(log.values.take(pa.array(chosen)))
    same = groups(log.group[chosen], value)
    twice = np.flatnonzero((value >= 0) & (np.bincount(same, minlength=1)[same] > 1))
    if not len(twice):
        return
    copies: dict[tuple[int, int, str], list[int]] = {}
    for place in twice.tolist():
        at = int(chosen[place])
        copies.setdefault((int(log.run[at]), int(log.key[at]), log.values[at].as_py()), []).append(at)
    sent = _sent(operations(), {value for _, _, value in copies})
    for (run, key, text), rows in copies.items():
        held: dict[int, int] = {}
        for at in rows:
            held[int(log.pid[at])] = held.get(int(log.pid[at]), 0) + 1
        name, offsets = log.names.texts[key], log.offset[rows].tolist()
        too_many = any(pid >= 0 and many > sent.get((run, name, text, pid), 1) for pid, many in held.items())
        why = ", though it was sent once" if too_many else ": sent again, or without idempotence"
        said = f"'{text}' lies at the offsets {', '.join(map(str, offsets))} of {name}{why}"
        steps = sorted({int(step) for step in log.step[rows] if step >= 0})
        yield Found(anomaly="duplicate", run=run, key=name, offsets=offsets, steps=steps, text=said,
                    policy=FORBIDDEN if too_many else ALLOWED)  # fmt: skip


def _sent(operations: pa.Table, values: set[str]) -> Counter[tuple[int, str, str, int]]:
    """How often each of these values was sent: by run, key, value and producer id."""
    asked = pc.and_(pc.equal(operations.column("function"), "send"), pc.equal(operations.column("type"), "invoke"))
    asked = pc.and_(asked, pc.is_in(operations.column("value"), pa.array(sorted(values))))
    rows = operations.filter(asked).select(["run", "key", "value", "producer_id"]).to_pylist()
    return Counter((row["run"], row["key"], row["value"], row["producer_id"]) for row in rows)


def sequence_gaps(
    log: Log, sends: Callable[[], Sends], expiration_ms: dict[int, int], default_ms: int
) -> Iterator[Found]:
    """As checks/sequence_gap.py; kind "first" is wrong if a Produce of version 2 left at a step of `sent`."""
    offsets_topic = [n for n, text in enumerate(log.names.texts) if topic_of(text) == OFFSETS_TOPIC]
    row = np.arange(len(log.offset))
    first_row = np.maximum.accumulate(np.where(starts(log.group), row, 0)) if len(row) else row
    holes = log.offset - log.offset[first_row] - (row - first_row)
    chosen = np.flatnonzero((log.pid >= 0) & ~np.isin(log.key, offsets_topic))
    together = groups(log.group[chosen], log.pid[chosen])
    chosen = chosen[np.lexsort((chosen, together))]
    together = np.sort(together)
    epoch, marker = log.epoch[chosen], log.marker[chosen]
    changed = starts(together)
    changed[1:] |= epoch[1:] != epoch[:-1]
    before = last_where(~marker | changed, together)
    had = before >= 0
    b, r = chosen[np.where(had, before, 0)], chosen
    limit = _limits(log.run[r], expiration_ms, default_ms)
    forgotten = had & (log.at_ms[r] - log.at_ms[b] >= limit) & (log.marker[b] | ~log.transactional[b])
    had &= ~forgotten
    unknown = holes[r] - holes[b]
    same = ~log.marker[b] & (log.epoch[b] == log.epoch[r])
    stateless = log.marker[b] & (log.sequence[b] == -1) & (unknown != 0)
    begins = (log.sequence[r] == 0) | stateless | (unknown != 0)
    follows = np.where(log.sequence[b] == -1, -1, (log.sequence[b] + 1) & 0x7FFFFFFF)
    jump = (log.sequence[r] - follows) & 0x7FFFFFFF
    counts = had & (log.removed[b] != log.names.number("deleted"))
    wrong = ~marker & counts & np.where(same, jump > unknown, ~begins)
    for at in np.flatnonzero(wrong).tolist():
        what = (
            f"sequence {log.sequence[r[at]]} follows {log.sequence[b[at]]}"
            if same[at]
            else f"epoch {log.epoch[r[at]]} begins at sequence {log.sequence[r[at]]}"
        )
        yield _gap(log, [int(b[at]), int(r[at])], what, "finding")
    first = ~marker & ~had & (holes[r] == 0) & (log.offset[first_row[r]] == 0) & (log.sequence[r] > 0)
    for at in np.flatnonzero(first).tolist():
        asked = sends()
        by = asked.link_send[asked.link_row == r[at]]
        by = by[asked.transactional[by]]
        if len(by):
            what = f"a transaction of version 2 begins at sequence {log.sequence[r[at]]}"
            yield replace(_gap(log, [int(r[at])], what, "first"), sent=tuple(asked.step[by].tolist()))


def _limits(run: Longs, given: dict[int, int], default: int) -> Longs | int:
    if not given:
        return default
    runs, back = np.unique(run, return_inverse=True)
    return np.array([given.get(int(one), default) for one in runs], np.int64)[back]


def _gap(log: Log, rows: list[int], what: str, kind: str) -> Found:
    at, key = rows[-1], log.names.texts[log.key[rows[-1]]]
    return Found(
        anomaly="sequence gap",
        run=int(log.run[at]),
        key=key,
        offsets=log.offset[rows].tolist(),
        steps=sorted({int(step) for step in log.step[rows] if step >= 0}),
        text=f"offset {log.offset[at]} of {key}, producer {log.pid[at]}: {what}",
        kind=kind,
    )


def aborted_reads(log: Log, reads: Reads) -> Iterator[Found]:
    """Reads under read_committed of what an ABORT marker ended."""
    there = reads.at >= 0
    wrong = there & reads.committed
    wrong[there] &= log.aborted[reads.at[there]]
    places = np.flatnonzero(wrong)
    shown = reads.table.select(["consumer", "value"]).take(pa.array(places)).to_pylist()
    for place, row in zip(places.tolist(), shown, strict=True):
        at = int(reads.at[place])
        key, offset = log.names.texts[log.key[at]], int(log.offset[at])
        steps = sorted({int(log.step[at]), int(reads.step[place]), int(log.step[log.ended_by[at]])})
        what = f"{row['consumer']} was given {quoted(row['value'])} of {key} at offset {offset}"
        text = f"{what}, which an ABORT marker ended"
        yield Found(anomaly="G1a", run=int(log.run[at]), key=key, offsets=[offset], steps=steps, text=text)


def unseen(log: Log, reads: Reads) -> Iterator[Found]:
    """Known values of keys that were polled, and that nobody was given."""
    given = np.zeros(len(log.offset), np.bool_)
    given[reads.at[reads.at >= 0]] = True
    polled = np.unique(reads.group[reads.group >= 0])
    missing = log.known & ~given & np.isin(log.group, polled)
    places = np.flatnonzero(missing)
    for part in np.split(places, np.flatnonzero(np.diff(log.group[places])) + 1) if len(places) else ():
        at, key = int(part[0]), log.names.texts[log.key[part[0]]]
        text = f"{key}: {len(part)} committed value(s) were not polled, the first at offset {log.offset[at]}"
        yield Found(anomaly="unseen", run=int(log.run[at]), key=key, offsets=log.offset[part].tolist(),
                    steps=[s for s in [int(log.step[at])] if s >= 0], text=text, policy=REPORTED)  # fmt: skip


def lso_regressions(marks: pa.Table, names: Names) -> Iterator[Found]:
    """A leader's last stable offset that goes back within one leader epoch."""
    marks = marks.filter(marks.column("leads"))
    run, key, node = longs(marks, "run"), names.codes(marks.column("key")), names.codes(marks.column("node"))
    together, step = groups(run, key, node, longs(marks, "leader_epoch")), longs(marks, "step")
    order = np.lexsort((step, together))
    stable = longs(marks, "last_stable_offset")[order]
    back = ~starts(together[order])
    back[1:] &= stable[1:] < stable[:-1]
    for place in np.flatnonzero(back).tolist():
        at, before = order[place], order[place - 1]
        name = names.texts[key[at]]
        text = f"{name} on {names.texts[node[at]]}: from {stable[place - 1]} back to {stable[place]}"
        yield Found(anomaly="LSO regression", run=int(run[at]), key=name, offsets=[int(stable[place])],
                    steps=sorted({int(step[before]), int(step[at])}), text=text)  # fmt: skip


# of each audit the runs of what it looked at, one for each thing


def of_duplicates(log: Log) -> Longs:
    """Records of topics that are not internal."""
    return log.run[_data(log)]


def of_sequences(log: Log) -> Longs:
    """Records with a producer id, but for committed offsets."""
    offsets_topic = [n for n, text in enumerate(log.names.texts) if topic_of(text) == OFFSETS_TOPIC]
    found: Longs = log.run[~log.marker & (log.pid >= 0) & ~np.isin(log.key, offsets_topic)]
    return found


def of_committed_reads(reads: Reads) -> Longs:
    """Reads under read_committed."""
    return reads.run[reads.committed]


def of_known(log: Log, reads: Reads) -> Longs:
    """Known values of keys that somebody read."""
    found: Longs = log.run[log.known & np.isin(log.group, np.unique(reads.group))]
    return found


def of_leaders(marks: pa.Table) -> Longs:
    """Watermarks of leaders."""
    return longs(marks.filter(marks.column("leads")), "run")


def quoted(value: Any) -> str:
    """Return a value as findings show it: in quotes, None for null."""
    return "None" if value is None else f"'{value}'"
