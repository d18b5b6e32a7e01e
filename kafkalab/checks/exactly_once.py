"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.view import COMMITTED, OPEN, PLAIN, View
from kafkalab.history.schema import LogRecord
from kafkalab.protocol.partitions import topic_of

SourceOf = Callable[[str], str]
ONCE, LOST, IN_FLIGHT, DUPLICATED = "once", "lost", "in flight", "duplicated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One input record and what it led to. Counts are of the output that is there most or least often."""

    key: str
    offset: int
    value: str
    read_committed: int
    read_uncommitted: int
    verdict: str
    steps: tuple[int, ...]


def source_of(value: str) -> str:
    """The input value that an output value goes back to: `source_of("+10") == "10"`."""
    return value.lstrip("+-")


def effects(view: View, source: SourceOf = source_of) -> list[Effect]:
    """One row for each committed input record: of the keys that a process read which also wrote.

    An input is once if each of its outputs (told apart by topic and value) is committed once. It is in flight, not
    lost, while no group has committed an offset behind it, or while an output of it is undecided. An output that was
    committed and has since been deleted or compacted away was an effect all the same.
    """
    writers = {send.invoke.process for send in view.sends}
    inputs = list(dict.fromkeys(p.key for p in view.history.polls if p.process in writers))
    inputs += [r.key for r in view.history.reads if r.process in writers and r.key not in inputs]
    outputs = list(dict.fromkeys(s.invoke.key for s in view.sends if s.invoke.key not in inputs))
    written: dict[str, dict[tuple[str, str], list[LogRecord]]] = {}
    for send in view.sends:
        if send.invoke.value is not None and send.invoke.key in outputs:
            place = (topic_of(send.invoke.key), send.invoke.value)
            written.setdefault(source(send.invoke.value), {}).setdefault(place, [])
    for key in outputs:
        for record in view.data(key):
            if record.value is not None:
                of = written.setdefault(source(record.value), {})
                of.setdefault((topic_of(key), record.value), []).append(record)
    done = _committed_offsets(view)
    found = []
    for key in dict.fromkeys(inputs):
        for offset in view.known.get(key, []):
            record = view.at[key, offset]
            found.append(_effect(view, record, written.get(record.value or "", {}), done.get(key, -1) > offset))
    return found


def _effect(view: View, record: LogRecord, written: dict[tuple[str, str], list[LogRecord]], done: bool) -> Effect:
    ends = [[view.outcomes[r.key, r.offset] for r in records] for records in written.values()]
    committed = [sum(e in (COMMITTED, PLAIN) for e in outcomes) for outcomes in ends]
    undecided = any(OPEN in outcomes for outcomes in ends)
    fewest, most = min(committed, default=0), max(committed, default=0)
    if most > 1:
        verdict = DUPLICATED
    elif fewest == 1:
        verdict = ONCE
    else:
        verdict = LOST if done and not undecided else IN_FLIGHT
    alive = [sum(e != "" for e in outcomes) for outcomes in ends]
    return Effect(
        key=record.key,
        offset=record.offset,
        value=record.value or "",
        read_committed=most if most > 1 else fewest,
        read_uncommitted=max(alive) if max(alive, default=0) > 1 else min(alive, default=0),
        verdict=verdict,
        steps=tuple(r.step for records in written.values() for r in records),
    )


def _committed_offsets(view: View) -> dict[str, int]:
    """The largest offset that any group committed for each key."""
    found: dict[str, int] = {}
    for record in view.offset_commits:
        if view.outcomes.get((record.key, record.offset)) in (COMMITTED, PLAIN):
            of = (record.record_key or "").rpartition("/")[2]
            found[of] = max(found.get(of, -1), int(record.value or -1))
    return found


@anomaly(
    "exactly-once",
    "Every input has exactly-once effects inside Kafka: one committed output, as read_committed sees it.",
)
def exactly_once(check: Check, view: View) -> Examined:
    """A finding for every input without exactly one effect; examined are those whose fate is certain."""
    rows = effects(view)
    through = [record.transactional for record in view.offset_commits]
    policy = FORBIDDEN if through and all(through) else ALLOWED  # only then does Kafka promise exactly-once effects
    found = []
    for row in rows:
        if row.verdict != ONCE:
            text = (
                f"{row.value!r} at offset {row.offset} of {row.key} is {row.verdict}: {row.read_committed} effect(s) "
                f"under read_committed, {row.read_uncommitted} under read_uncommitted"
            )
            steps = [view.at[row.key, row.offset].step, *row.steps]
            allowed = ALLOWED if row.verdict == IN_FLIGHT else policy
            found.append(check.found(text, steps, [row.key], [row.offset], allowed))
    return sum(row.verdict != IN_FLIGHT for row in rows), found
