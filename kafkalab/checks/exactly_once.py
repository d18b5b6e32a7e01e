"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.view import ABORTED, COMMITTED, OPEN, PLAIN, View
from kafkalab.history.schema import LogRecord
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.source_header import place_of, sources_of

ONCE, LOST, IN_FLIGHT, DUPLICATED = "once", "lost", "in flight", "duplicated"
INPUT = "input"
"""The name of a label whose value is a topic of inputs."""


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


@dataclass(slots=True)
class _Sent:
    """One send of an output, and how the records that it led to ended; `failed` if it was refused."""

    failed: bool = False
    ends: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Output:
    """What was made of one input, and went to one topic: by transaction, and in each by send.

    Of transactions `group` is the one whose offsets their process commits. Without transactions there is one output
    for each value, whose sends are all one attempt.
    """

    group: str
    attempts: dict[str, dict[object, _Sent]] = field(default_factory=dict)

    def count(self, *outcomes: str) -> tuple[int, int]:
        """The fewest and the most records with these outcomes; in a transaction they are counted by send."""
        fewest = most = 0
        for sends in self.attempts.values():
            known = [s for s in sends.values() if s.ends or not s.failed]
            counts = [sum(end in outcomes for end in sent.ends) for sent in known] or [0]
            fewest, most = fewest + min(counts), most + max(counts)
        return fewest, most


Outputs = dict[tuple[str, str, str | None], _Output]
"""By topic and group; outside transactions by topic and value."""


def effects(view: View) -> list[Effect]:
    """Return one row for each committed record of the keys from which outputs were made.

    The outputs' headers declare it (kafkalab/protocol/source_header.py). Of the same topics, the keys count too that
    those who made the outputs have polled, and all keys of topics that a label "input" names.

    An input has an effect for every transaction that committed an output of it; outside transactions, where nothing
    else tells a second attempt from a second output, for every record of the same value. What each group makes of an
    input, and for each topic, is counted apart. It is in flight, not lost, while the group has not committed an offset
    behind it, or while an output of it is undecided. An output that was committed and has since been deleted or
    compacted away was an effect all the same.
    """
    groups = _groups(view)
    made = _made(view, groups)
    keys, done = _input_keys(view, made), _Done(view, groups)
    found = []
    for key in view.data_keys:
        if key in keys:
            for offset in view.known[key]:
                found.append(_effect(view.at[key, offset], made.get(place_of(key, offset), {}), done))
    return found


def _input_keys(view: View, made: Iterable[str]) -> dict[str, None]:
    keys = dict.fromkeys(source.rpartition("@")[0] for source in made)
    makers = {
        (send.invoke.process, topic_of(source.rpartition("@")[0])): None
        for send in view.sends
        if send.invoke.headers
        for source in sources_of(send.invoke.headers)
    }
    keys.update((poll.key, None) for poll in view.history.polls if (poll.process, topic_of(poll.key)) in makers)
    declared = view.history.label(INPUT)
    keys.update((key, None) for key in view.data_keys if topic_of(key) in declared)
    return keys


def _groups(view: View) -> dict[tuple[str, str], str]:
    """The group for which each process polls a key or commits its offsets; the first by name of several.

    Of the process "" it is the first of all.
    """
    known = [(poll.process, poll.key, poll.group) for poll in view.history.polls]
    known += [(o.process, o.key, o.value) for o in view.history.operations if o.function == "offsets"]
    found: dict[tuple[str, str], str] = {}
    for process, key, group in known:
        if group is not None:
            for who in (process, ""):
                found[who, key] = min(group, found.get((who, key), group))
    return found


def _made(view: View, groups: dict[tuple[str, str], str]) -> dict[str, Outputs]:
    """What was sent or lies in the logs, by the input that it was made from, written as "in-0@5"."""
    made: dict[str, Outputs] = {}
    process_of = {transaction.id: transaction.process for transaction in view.transactions}

    def sent(headers: Sequence[str], key: str, value: str | None, transaction: str, send: object) -> Iterator[_Sent]:
        for source in sources_of(headers):
            input_key, _, _ = source.rpartition("@")
            if not input_key.rpartition("-")[0]:
                continue
            group = ""
            if transaction:
                process = process_of.get(transaction, "")
                group = groups.get((process, input_key), groups.get(("", input_key), ""))
            place = (topic_of(key), group, None if transaction else value)
            output = made.setdefault(source, {}).setdefault(place, _Output(group))
            yield output.attempts.setdefault(transaction, {}).setdefault(send, _Sent())

    for send in view.sends:
        invoke = send.invoke
        if not invoke.headers:
            continue
        in_transaction = invoke.transaction >= 1
        transaction = f"{invoke.client}, transaction {invoke.transaction}" if in_transaction else ""
        for one in sent(invoke.headers, invoke.key, invoke.value, transaction, invoke.index if in_transaction else ""):
            one.failed = in_transaction and send.type == "fail"
    for key in view.data_keys:
        for record in view.data(key):
            if record.headers:
                place = (key, record.offset)
                owner, known = view.transaction_of.get(place), view.send_of.get(place)
                which = known.invoke.index if known is not None else place if owner is not None else ""
                for one in sent(record.headers, key, record.value, owner.id if owner is not None else "", which):
                    one.ends.append(view.outcomes[place])
                    one.steps.append(record.step)
    return made


class _Done:
    """How far groups have committed each key."""

    def __init__(self, view: View, groups: dict[tuple[str, str], str]) -> None:
        self._by_group: dict[tuple[str, str], int] = {}
        for record in view.offset_commits:
            if view.outcomes.get((record.key, record.offset)) in (COMMITTED, PLAIN):
                group, _, key = (record.record_key or "").rpartition("/")
                known = self._by_group.get((group, key), -1)
                self._by_group[group, key] = max(known, int(record.value or -1))
        makers = {s.invoke.process for s in view.sends if s.invoke.headers and sources_of(s.invoke.headers)}
        of_makers = {(group, key) for (process, key), group in groups.items() if process in makers}
        self._any: dict[str, int] = {}
        self._makers: dict[str, int] = {}
        for (group, key), offset in self._by_group.items():
            of = self._makers if (group, key) in of_makers else self._any
            of[key] = max(of.get(key, -1), offset)

    def behind(self, group: str, key: str, offset: int) -> bool:
        """Whether the group, or without one any (first of all those that make outputs), has committed more."""
        if group:
            return self._by_group.get((group, key), -1) > offset
        return self._makers.get(key, self._any.get(key, -1)) > offset


def _effect(record: LogRecord, outputs: Outputs, done: _Done) -> Effect:
    committed = {place: output.count(COMMITTED, PLAIN) for place, output in outputs.items()}
    present = [output.count(COMMITTED, PLAIN, ABORTED, OPEN) for output in outputs.values()]
    all_sent = [s for output in outputs.values() for sends in output.attempts.values() for s in sends.values()]
    fewest = min((few for few, _ in committed.values()), default=0)
    most = max((many for _, many in committed.values()), default=0)
    lacking = [place[1] for place, (few, _) in committed.items() if few == 0] if outputs else [""]
    if most > 1:
        verdict = DUPLICATED
    elif fewest == 1:
        verdict = ONCE
    else:
        behind = any(done.behind(group, record.key, record.offset) for group in lacking)
        verdict = LOST if behind and not any(OPEN in s.ends for s in all_sent) else IN_FLIGHT
    alive = max((many for _, many in present), default=0)
    return Effect(
        key=record.key,
        offset=record.offset,
        value=record.value or "",
        read_committed=most if most > 1 else fewest,
        read_uncommitted=alive if alive > 1 else min((few for few, _ in present), default=0),
        verdict=verdict,
        steps=tuple(step for s in all_sent for step in s.steps),
    )


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
