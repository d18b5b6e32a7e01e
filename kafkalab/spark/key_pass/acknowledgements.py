"""What one bucket's sends, reads and log say together: what clients were told, and what nobody was given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.spark.key_pass.arrays import PLACE, Flags, Log, Longs, groups, longs, starts
from kafkalab.spark.key_pass.log import Examined, Found, Reads, found_in, quoted, sorted_steps
from kafkalab.spark.key_pass.polls import Walk
from kafkalab.spark.key_pass.sends import Owners, Sends, value_codes

MAYBE = "maybe"
"""The kind of a finding, or of an examined send, that counts if the client was told that its transaction committed."""


class Told:
    """Sends and then reads: `sent` and `read` number the places (run, key, offset) that both speak of."""

    def __init__(self, sends: Sends, reads: Reads) -> None:
        told = self.told = np.flatnonzero(sends.offset >= 0)
        pairs = ((sends.run[told], reads.run), (sends.key[told], reads.key), (sends.offset[told], reads.offset))
        self.run, self.key, self.offset = (np.concatenate(pair) for pair in pairs)
        place = groups(self.run, self.key, self.offset)
        self.sent, self.read = place[: len(told)], place[len(told) :]
        values = value_codes(sends.table.column("value"), reads.table.column("value"))
        self.sent_value, self.read_value = values[0][told], values[1]


def inconsistent_offsets(sends: Sends, reads: Reads, both: Told) -> Examined:
    """The places that clients were told of or shown, as checks/inconsistent_offsets.py."""
    place, value = np.concatenate([both.sent, both.read]), np.concatenate([both.sent_value, both.read_value])
    shown = groups(place, value)
    _, first = np.unique(shown, return_index=True)
    many = np.bincount(place[first], minlength=1)
    rows = np.flatnonzero(many[place] > 1)
    sent = len(both.told)
    texts = pa.chunked_array(sends.table.column("value").take(pa.array(both.told)).chunks
                             + reads.table.column("value").chunks, pa.string())  # fmt: skip
    step = np.concatenate([sends.end_step[both.told], reads.step])
    index = longs(reads.table, "index")
    rank = np.concatenate([sends.index[both.told], reads.step * 4096 + index])
    shows: dict[int, dict[str | None, int]] = {}
    for row in rows[np.lexsort((rank[rows], rows >= sent, place[rows]))].tolist():
        shows.setdefault(int(place[row]), {}).setdefault(texts[row].as_py(), int(step[row]))
    where = dict(zip(place[rows].tolist(), rows.tolist(), strict=True))
    found = []
    for number, values in shows.items():
        row = where[number]
        key, offset = sends.names.texts[both.key[row]], int(both.offset[row])
        text = f"{key} offset {offset} shows {' and '.join(map(quoted, values))}"
        found.append(Found(anomaly="inconsistent-offsets", run=int(both.run[row]), key=key, offsets=[offset],
                           steps=sorted_steps(values.values()), text=text))  # fmt: skip
    return found, {"inconsistent-offsets": both.run[np.unique(place, return_index=True)[1]]}


def nonmonotonic_sends(sends: Sends) -> Examined:
    """The sends that have one before them; "int-" where both are of one transaction."""
    told = np.flatnonzero(sends.offset >= 0)
    together = groups(sends.run[told], sends.client[told], sends.key[told], sends.pid[told])
    order = np.lexsort((told, together))
    at, together = told[order], together[order]
    first = starts(together)
    reach = np.maximum.accumulate(together * PLACE + sends.offset[at]) if len(at) else at
    new = np.ones(len(at), np.bool_)
    new[1:] = reach[1:] > reach[:-1]
    furthest = np.maximum.accumulate(np.where(new | first, np.arange(len(at)), 0)) if len(at) else at
    later = np.flatnonzero(~first)
    now, before = at[later], at[furthest[later - 1]]
    same = (sends.transaction[now] >= 1) & (sends.transaction[now] == sends.transaction[before])
    found = []
    value = sends.table.column("value")
    for i in np.flatnonzero(sends.offset[now] < sends.offset[before]).tolist():
        a, b = int(before[i]), int(now[i])
        key, offsets = sends.names.texts[sends.key[b]], [int(sends.offset[a]), int(sends.offset[b])]
        who = sends.names.texts[sends.client[b]]
        text = (
            f"{who} sent {quoted(value[a].as_py())}, then {quoted(value[b].as_py())} to {key}; "
            f"they lie at offsets {offsets[0]} and {offsets[1]}"
        )
        steps = (sends.step[a], sends.step[b], sends.end_step[a], sends.end_step[b])
        found.append(
            Found(anomaly=f"{'int-' if same[i] else ''}nonmonotonic-send", run=int(sends.run[b]), key=key,
                  offsets=offsets, steps=sorted_steps(steps), text=text,
                  policy=FORBIDDEN if sends.pid[b] >= 0 else ALLOWED)
        )  # fmt: skip
    run = sends.run[now]
    return found, {"nonmonotonic-send": run[~same], "int-nonmonotonic-send": run[same]}


def skips_inside(log: Log, owners: Owners) -> Examined:
    """int-send-skip: the pairs of neighbours in a transaction."""
    rows = np.flatnonzero(log.data)
    group = log.group[rows]
    first = np.maximum.accumulate(np.where(starts(group), np.arange(len(rows)), 0)) if len(rows) else rows
    place = np.arange(len(rows)) - first
    transaction = owners.transaction[rows]
    mine = np.flatnonzero(transaction >= 0)
    together = groups(group[mine], transaction[mine])
    order = np.lexsort((place[mine], together))
    mine, together = mine[order], together[order]
    later = np.flatnonzero(~starts(together))
    now, before = mine[later], mine[later - 1]
    found = []
    for i in np.flatnonzero(place[before] + 1 < place[now]).tolist():
        a, b = int(rows[before[i]]), int(rows[now[i]])
        between = f"{log.offset[a]} and {log.offset[b]} of {log.names.texts[log.key[b]]}"
        text = f"others lie between {between}, both of {owners.name(b)}"
        found.append(found_in(log, "int-send-skip", [a, b], text, policy=ALLOWED))
    return found, {"int-send-skip": log.run[rows[now]]}


class Passages:
    """What was read in one go: for each run and key the spans (start, last, step), in order."""

    def __init__(self, walk: Walk, reads: Reads) -> None:
        size = len(walk.each)
        highest, at = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        step = reads.step[walk.reads]
        order = np.lexsort((step, -walk.offset, walk.of_read))
        stretch = walk.of_read[order]
        first = order[starts(stretch)] if len(order) else order
        highest[walk.of_read[first]], at[walk.of_read[first]] = walk.offset[first], step[first]
        begins = starts(walk.each) | walk.has_moved
        part = np.cumsum(begins) - 1
        top = np.lexsort((np.arange(size), -highest, part))
        top = top[starts(part[top])] if size else top
        begin = np.maximum(walk.start[begins], 0)
        self.of: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for row in np.flatnonzero(highest[top] >= 0).tolist():
            one = top[row]
            span = (int(begin[row]), int(highest[one]), int(at[one]))
            self.of.setdefault((int(walk.run[one]), int(walk.key[one])), []).append(span)
        for spans in self.of.values():
            spans.sort()

    def over(self, run: int, key: int, offset: int) -> int:
        """The step at which the first passage that begins at or before the offset came by it, -1 for none."""
        return next((step for start, last, step in self.of.get((run, key), ()) if start <= offset <= last), -1)


def lost_writes(log: Log, sends: Sends, both: Told, passages: Passages, unsure: list[tuple[int, str, int]]) -> Examined:
    """What was acknowledged on keys that were polled; add (run, client, number) to `unsure` where only a client knows.

    Where the log has not what the client was told of, or has not committed it, the client's commit decides; such a
    finding is of kind MAYBE.
    """
    told = both.told
    read = groups(sends.run[told], sends.key[told])
    first = np.unique(read, return_index=True)[1]
    polled = np.array([(int(sends.run[told[i]]), int(sends.key[told[i]])) in passages.of for i in first], np.bool_)
    asked = np.flatnonzero(polled[read]) if len(read) else read
    outcome = _in_log(log, sends)[told]
    final = outcome == 1
    client = (outcome != 1) & (sends.transaction[told] >= 1)
    final |= (outcome == -1) & ~client
    given = _given(both)
    cleaned = _of_removed(log, sends, "compacted", "deleted")
    gone = _gone_steps(log, sends)
    found = []
    for i in asked[(final | client)[asked] & ~given[asked] & ~cleaned[told[asked]]].tolist():
        at = int(told[i])
        step = passages.over(int(sends.run[at]), int(sends.key[at]), int(sends.offset[at]))
        if step >= 0:
            text = " was acknowledged at offset {offset} of {key}; a poll came past it, nobody was given it"
            found.append(_lost(sends, at, step, text, gone.get(at, []), bool(client[i])))
    examined = sends.run[told[asked[final[asked]]]]
    unsure += [_named(sends, int(at)) for at in told[asked[client[asked]]]]
    return [*found, *_never_written(log, sends, passages)], {"lost-write": examined}


def _given(both: Told) -> Flags:
    """Of each send with an offset whether somebody was given its value there."""
    pairs = ((both.sent, both.read), (both.sent_value, both.read_value))
    same = groups(*(np.concatenate(pair) for pair in pairs))
    found: Flags = np.isin(same[: len(both.told)], same[len(both.told) :])
    return found


def _in_log(log: Log, sends: Sends) -> Longs:
    """1 where the log has a send's record at the place that was told, committed or plain; 0 otherwise ended; -1 not."""
    row = log.find(sends.group, sends.offset)
    linked = np.zeros(len(sends.offset), np.bool_)
    here = sends.link_row == row[sends.link_send] if len(sends.link_row) else sends.link_row.astype(np.bool_)
    linked[sends.link_send[here]] = True
    final = log.final[row] if len(log.final) else linked
    return np.where(linked & (row >= 0), final.astype(np.int64), -1)


def _of_removed(log: Log, sends: Sends, *ways: str) -> Flags:
    """Whether any record that a send led to was removed in one of these ways."""
    inside = np.flatnonzero(sends.link_row < len(log.offset))
    removed = np.isin(log.removed[sends.link_row[inside]], [log.names.number(way) for way in ways])
    found = np.zeros(len(sends.offset), np.bool_)
    found[sends.link_send[inside[removed]]] = True
    return found


def _gone_steps(log: Log, sends: Sends) -> dict[int, list[int]]:
    """By send the steps at which records that it led to were removed."""
    size = len(log.offset)
    inside = sends.link_row < size
    gone = ~inside
    gone[inside] = log.removed[sends.link_row[inside]] != log.names.number("")
    there, truncated = log.table.column("removed_step"), log.truncated.column("removed_step")
    found: dict[int, list[int]] = {}
    for place in np.flatnonzero(gone).tolist():
        row = int(sends.link_row[place])
        step = there[int(log.at[row])] if row < size else truncated[row - size]
        found.setdefault(int(sends.link_send[place]), []).append(step.as_py())
    return found


def _never_written(log: Log, sends: Sends, passages: Passages) -> Iterator[Found]:
    """A leader that knows a batch but not its offset vouches for it all the same."""
    linked = np.zeros(len(sends.offset), np.bool_)
    linked[sends.link_send] = True
    for at in np.flatnonzero(sends.ok & (sends.offset < 0) & (sends.pid >= 0) & ~linked).tolist():
        before = log.offset[(log.group == sends.group[at]) & (log.step < sends.step[at])]
        place = int(before.max()) + 1 if len(before) else 0
        step = passages.over(int(sends.run[at]), int(sends.key[at]), place)
        if step > sends.end_step[at]:
            text = " was acknowledged on {key}, but no log ever held it; a poll came past"
            yield _lost(sends, at, step, text, [], bool(sends.transaction[at] >= 1))


def _lost(sends: Sends, at: int, step: int, text: str, gone: list[int], unsure: bool) -> Found:
    key, offset = sends.names.texts[sends.key[at]], int(sends.offset[at])
    run, client, number = _named(sends, at)
    steps = sorted_steps([sends.step[at], sends.end_step[at], step, *gone])
    said = quoted(sends.table.column("value")[at].as_py()) + text.format(key=key, offset=offset)
    return Found(anomaly="lost-write", run=run, key=key, offsets=[offset] if offset >= 0 else [],
                 steps=steps, text=said, kind=MAYBE if unsure else "finding", client=client, number=number)  # fmt: skip


def _named(sends: Sends, at: int) -> tuple[int, str, int]:
    return int(sends.run[at]), sends.names.texts[sends.client[at]], int(sends.transaction[at])
