"""What one bucket's log, reads and watermarks tell by themselves: copies, sequences, aborted reads, stable offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.check import ALLOWED, FORBIDDEN, REPORTED
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.key_pass.arrays import Flags, Log, Longs, Names, groups, last_where, longs, starts
from kafkalab.spark.key_pass.sends import Sends, value_codes

FIRST = "first"
"""The kind of a finding that counts if a Produce of transaction version 2 left at a step of `sent`."""


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


Examined = tuple[Iterable[Found], dict[str, Longs]]
"""What is found, and of each audit the run of each thing that it looked at."""


def found_in(
    log: Log, anomaly: str, rows: Sequence[int], text: str, steps: Iterable[int] | None = None, **more: Any
) -> Found:
    """Return a finding of the key of these rows; `steps` are those at which the rows were appended if not given."""
    last = rows[-1]
    return Found(
        anomaly=anomaly,
        run=int(log.run[last]),
        key=log.names.texts[log.key[last]],
        offsets=log.offset[rows].tolist(),
        steps=sorted_steps(log.step[rows] if steps is None else steps),
        text=text,
        **more,
    )


def sorted_steps(steps: Iterable[int]) -> list[int]:
    """Return steps as findings have them: sorted, each once, and none below 0."""
    return sorted({int(step) for step in steps if step >= 0})


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


def duplicates(log: Log, operations: Callable[[], pa.Table]) -> Examined:
    """Records of topics that are not internal; forbidden where a producer id holds more copies than were sent."""
    found: list[Found] = []
    examined = {"duplicate": log.run[log.data]}
    chosen = np.flatnonzero(log.data)
    (value,) = value_codes(log.values.take(pa.array(chosen)))
    same = groups(log.group[chosen], value)
    twice = np.flatnonzero((value >= 0) & (np.bincount(same, minlength=1)[same] > 1))
    if not len(twice):
        return found, examined
    copies: dict[tuple[int, int, str], list[int]] = {}
    for place in twice.tolist():
        at = int(chosen[place])
        copies.setdefault((int(log.run[at]), int(log.key[at]), log.values[at].as_py()), []).append(at)
    sent = _sent(operations(), {value for _, _, value in copies})
    for (run, key, text), rows in copies.items():
        held: dict[int, int] = {}
        for at in rows:
            held[int(log.pid[at])] = held.get(int(log.pid[at]), 0) + 1
        name = log.names.texts[key]
        too_many = any(pid >= 0 and many > sent.get((run, name, text, pid), 1) for pid, many in held.items())
        why = ", though it was sent once" if too_many else ": sent again, or without idempotence"
        said = f"'{text}' lies at the offsets {', '.join(map(str, log.offset[rows]))} of {name}{why}"
        found.append(found_in(log, "duplicate", rows, said, policy=FORBIDDEN if too_many else ALLOWED))
    return found, examined


def _sent(operations: pa.Table, values: set[str]) -> Counter[tuple[int, str, str, int]]:
    """How often each of these values was sent: by run, key, value and producer id."""
    asked = pc.and_(pc.equal(operations.column("function"), "send"), pc.equal(operations.column("type"), "invoke"))
    asked = pc.and_(asked, pc.is_in(operations.column("value"), pa.array(sorted(values))))
    rows = operations.filter(asked).select(["run", "key", "value", "producer_id"]).to_pylist()
    return Counter((row["run"], row["key"], row["value"], row["producer_id"]) for row in rows)


def sequence_gaps(log: Log, sends: Callable[[], Sends], expiration_ms: dict[int, int]) -> Examined:
    """The records with a producer id, but for committed offsets; `expiration_ms` are the runs' own limits.

    What is found of kind "first" is wrong if a Produce of version 2 left at a step of `sent`.
    """
    found = []
    numbered = (log.pid >= 0) & ~log.of_topics(OFFSETS_TOPIC)
    chosen = np.flatnonzero(numbered)
    row = np.arange(len(log.offset))
    first_row = np.maximum.accumulate(np.where(starts(log.group), row, 0)) if len(row) else row
    holes = log.offset - log.offset[first_row] - (row - first_row)
    together = groups(log.group[chosen], log.pid[chosen])
    chosen = chosen[np.lexsort((chosen, together))]
    together = np.sort(together)
    epoch, marker = log.epoch[chosen], log.marker[chosen]
    changed = starts(together)
    changed[1:] |= epoch[1:] != epoch[:-1]
    before = last_where(~marker | changed, together)
    had = before >= 0
    b, r = chosen[np.where(had, before, 0)], chosen
    limit = _limits(log.run[r], expiration_ms)
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
        found.append(_gap(log, [int(b[at]), int(r[at])], what))
    first = ~marker & ~had & (holes[r] == 0) & (log.offset[first_row[r]] == 0) & (log.sequence[r] > 0)
    for at in np.flatnonzero(first).tolist():
        asked = sends()
        by = asked.link_send[asked.link_row == r[at]]
        by = by[asked.transactional[by]]
        if len(by):
            what = f"a transaction of version 2 begins at sequence {log.sequence[r[at]]}"
            found.append(_gap(log, [int(r[at])], what, kind=FIRST, sent=tuple(asked.step[by].tolist())))
    return found, {"sequence gap": log.run[numbered & ~log.marker]}


def _limits(run: Longs, given: dict[int, int]) -> Longs | int:
    if not given:
        return EXPIRATION_MS
    runs, back = np.unique(run, return_inverse=True)
    return np.array([given.get(int(one), EXPIRATION_MS) for one in runs], np.int64)[back]


def _gap(log: Log, rows: list[int], what: str, **more: Any) -> Found:
    at = rows[-1]
    where = f"offset {log.offset[at]} of {log.names.texts[log.key[at]]}, producer {log.pid[at]}"
    return found_in(log, "sequence gap", rows, f"{where}: {what}", **more)


def aborted_reads(log: Log, reads: Reads) -> Examined:
    """Reads under read_committed; found are those of what an ABORT marker ended."""
    found = []
    there = reads.at >= 0
    wrong = there & reads.committed
    wrong[there] &= log.aborted[reads.at[there]]
    places = np.flatnonzero(wrong)
    shown = reads.table.select(["consumer", "value"]).take(pa.array(places)).to_pylist()
    for place, row in zip(places.tolist(), shown, strict=True):
        at = int(reads.at[place])
        what = f"{row['consumer']} was given {quoted(row['value'])} of {log.names.texts[log.key[at]]}"
        text = f"{what} at offset {log.offset[at]}, which an ABORT marker ended"
        steps = [log.step[at], reads.step[place], log.step[log.ended_by[at]]]
        found.append(found_in(log, "G1a", [at], text, steps))
    return found, {"G1a": reads.run[reads.committed]}


def unseen(log: Log, reads: Reads) -> Examined:
    """Known values of keys that were polled; found are those that nobody was given."""
    found = []
    known = log.known & np.isin(log.group, np.unique(reads.group))
    given = np.zeros(len(log.offset), np.bool_)
    given[reads.at[reads.at >= 0]] = True
    places = np.flatnonzero(known & ~given)
    for part in np.split(places, np.flatnonzero(np.diff(log.group[places])) + 1) if len(places) else ():
        at, key = int(part[0]), log.names.texts[log.key[part[0]]]
        text = f"{key}: {len(part)} committed value(s) were not polled, the first at offset {log.offset[at]}"
        found.append(found_in(log, "unseen", part.tolist(), text, [log.step[at]], policy=REPORTED))
    return found, {"unseen": log.run[known]}


def lso_regressions(marks: pa.Table, names: Names) -> Examined:
    """Watermarks of leaders; found is a last stable offset that goes back within one leader epoch."""
    found = []
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
        found.append(Found(anomaly="LSO regression", run=int(run[at]), key=name, offsets=[int(stable[place])],
                           steps=sorted_steps([step[before], step[at]]), text=text))  # fmt: skip
    return found, {"LSO regression": run}


def quoted(value: Any) -> str:
    """Return a value as findings show it: in quotes, None for null."""
    return "None" if value is None else f"'{value}'"
