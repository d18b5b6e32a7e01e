"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafkalab.checks.check import ALLOWED, FORBIDDEN, UNKNOWN, Check, Examined, anomaly
from kafkalab.checks.input_progress import InputProgress, commits_in_transactions
from kafkalab.checks.view import ABORTED, COMMITTED, OPEN, PLAIN, View
from kafkalab.history.history import History
from kafkalab.history.positions import OutsidePositions
from kafkalab.history.schema import LogRecord
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.source_header import place_of, sources_of

ONCE, LOST, IN_FLIGHT, DUPLICATED = "once", "lost", "in flight", "duplicated"
"""The fates of an input: it has the effects that it should have, fewer, perhaps fewer, more. Else it is UNKNOWN."""
NOT_CERTAIN = {IN_FLIGHT: ALLOWED, UNKNOWN: UNKNOWN}
"""The fates that are not certain yet, or never will be, and the policy of a finding that says so."""
INPUT = "input"
"""The name of a label whose value is a topic of inputs."""
EFFECTS = "effects"
"""The name of a label that says how many effects an input should have, if not one: "2" for all, "in-0@5=0" for one.

Of several labels that say something of the same inputs, the largest number counts.
"""


BESIDE = "an offset past it was committed outside transactions, and the application may go on from another position"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One input record and what it led to. Counts are of the output that is there most or least often.

    `why` says what is not known of an input whose verdict is "unknown".
    """

    key: str
    offset: int
    value: str
    expected: int
    read_committed: int
    read_uncommitted: int
    verdict: str
    steps: tuple[int, ...]
    why: str = ""


@dataclass(slots=True)
class _Output:
    """The output that was made of one input and went to one topic: how each record ended, by transaction and value.

    Of transactions `group` is the one whose offsets their process commits; a value that was sent, and that no log has,
    has no ends. Without transactions there is one output for each value.
    """

    group: str
    ends: dict[str, dict[str | None, list[str]]] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)

    def count(self, *outcomes: str, every: bool = False) -> tuple[int, int]:
        """Return the fewest and the most records with these outcomes of one value, added up over the transactions.

        With `every` both are the number of all such records.
        """
        fewest = most = 0
        for values in self.ends.values():
            copies = [sum(end in outcomes for end in ends) for ends in values.values()] or [0]
            few, many = (sum(copies), sum(copies)) if every else (min(copies), max(copies))
            fewest, most = fewest + few, most + many
        return fewest, most


Outputs = dict[tuple[str, str, str | None], _Output]
"""By topic and group; outside transactions by topic and value."""


def effects(view: View) -> list[Effect]:
    """Return one row for each committed record of the keys from which outputs were made.

    The outputs' headers declare it (kafkalab/protocol/source_header.py). Of the same topics, the keys count too that
    those who made the outputs have polled, and all keys of topics that a label "input" names.

    A label "effects" says how many effects an input should have: then every committed record that was made of it is
    one. Without it there should be one: each transaction may write several values for an input, which are one effect
    together. There are more effects if any of them is there more often, and fewer if one is not there; outside
    transactions, where nothing else tells a second attempt from a second output, there is one for every record of the
    same value. What each group makes of an input, and for each topic, is counted apart. The input is in flight, not
    lost, while the group has not committed an offset after it, or while an output of it is undecided. Labels of
    `kafkalab.history.positions` say that the positions of a topic are outside Kafka; then they count, not what groups
    have committed. Its fate is unknown where the position of its key is outside Kafka and not known, or where outputs
    of its topic took effect although nobody has committed an offset of the topic. An output that was committed and has
    since been deleted or compacted away was an effect all the same.
    """
    groups = _groups(view)
    made = _collect_outputs(view, groups)
    keys, done, expected = _input_keys(view, made), InputProgress(view, groups), _EffectCounts(view.history)
    worked_on = {topic_of(source.rpartition("@")[0]) for source, outputs in made.items() if _took_effect(outputs)}
    found = []
    for key in view.data_keys:
        if key in keys:
            why = done.why_unknown(key, topic_of(key) in worked_on)
            places = [(place_of(key, offset), view.at[key, offset]) for offset in view.known[key]]
            rows = [_effect(record, made.get(place, {}), expected.of(place), done) for place, record in places]
            found += [replace(r, verdict=UNKNOWN, why=why) if why and r.verdict == IN_FLIGHT else r for r in rows]
    return found


def _took_effect(outputs: Outputs) -> bool:
    return any(output.count(COMMITTED, PLAIN)[1] for output in outputs.values())


class _EffectCounts:
    """The number of effects that inputs should have."""

    def __init__(self, history: History) -> None:
        self._by_place: dict[str, int] = {}
        for value in history.label(EFFECTS):
            place, _, number = value.rpartition("=")
            self._by_place[place] = max(int(number), self._by_place.get(place, 0))

    def of(self, place: str) -> int | None:
        """Return the number for an input, None where nothing says it."""
        return self._by_place.get(place, self._by_place.get(""))


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


def _collect_outputs(view: View, groups: dict[tuple[str, str], str]) -> dict[str, Outputs]:
    """Return what was sent or lies in the logs, by the input that it was made from, written as "in-0@5"."""
    made: dict[str, Outputs] = {}
    process_of = {transaction.id: transaction.process for transaction in view.transactions}

    def outputs(headers: Sequence[str], key: str, value: str | None, transaction: str) -> Iterator[_Output]:
        for source in sources_of(headers):
            input_key, _, _ = source.rpartition("@")
            if not input_key.rpartition("-")[0]:
                continue
            group = ""
            if transaction:
                process = process_of.get(transaction, "")
                group = groups.get((process, input_key), groups.get(("", input_key), ""))
            place = (topic_of(key), group, None if transaction else value)
            yield made.setdefault(source, {}).setdefault(place, _Output(group))

    for send in view.sends:
        invoke = send.invoke
        if invoke.headers:
            transaction = f"{invoke.client}, transaction {invoke.transaction}" if invoke.transaction >= 1 else ""
            for output in outputs(invoke.headers, invoke.key, invoke.value, transaction):  # also if no log has it
                if transaction and send.type != "fail":
                    output.ends.setdefault(transaction, {}).setdefault(invoke.value, [])
    for key in view.data_keys:
        for record in view.data(key):
            if record.headers:
                place = (key, record.offset)
                owner = view.transaction_of.get(place)
                transaction = owner.id if owner is not None else ""
                for output in outputs(record.headers, key, record.value, transaction):
                    values = output.ends.setdefault(transaction, {})
                    values.setdefault(record.value, []).append(view.outcomes[place])
                    output.steps.append(record.step)
    return made


def _effect(record: LogRecord, outputs: Outputs, told: int | None, done: InputProgress) -> Effect:
    every, expected = told is not None, 1 if told is None else told
    committed = [output.count(COMMITTED, PLAIN, every=every) for output in outputs.values()]
    present = [output.count(COMMITTED, PLAIN, ABORTED, OPEN, every=every) for output in outputs.values()]
    fewest, most = min((few for few, _ in committed), default=0), max((many for _, many in committed), default=0)
    fewest_present, most_present = min((few for few, _ in present), default=0), max((n for _, n in present), default=0)
    if most > expected:
        verdict = DUPLICATED
    elif fewest == expected > 0:
        verdict = ONCE
    else:
        lacking = [o.group for o, (few, _) in zip(outputs.values(), committed, strict=True) if few < max(expected, 1)]
        past = any(done.is_past(group, record.key, record.offset) for group in lacking or [""])
        undecided = any(output.count(OPEN)[1] for output in outputs.values())
        verdict = IN_FLIGHT if undecided or not past else LOST if expected else ONCE
    return Effect(
        key=record.key,
        offset=record.offset,
        value=record.value or "",
        expected=expected,
        read_committed=most if most > expected else fewest,
        read_uncommitted=most_present if most_present > expected else fewest_present,
        verdict=verdict,
        steps=tuple(step for output in outputs.values() for step in output.steps),
    )


@anomaly(
    "exactly-once",
    "Every input has exactly-once effects inside Kafka: one committed output, as read_committed sees it.",
    needs=("operations", "log", "polls"),
    counts_certain=True,
)
def exactly_once(check: Check, view: View) -> Examined:
    """A finding for every input without exactly one effect; examined are those whose fate is certain."""
    rows = effects(view)
    is_promised = commits_in_transactions(view) or OutsidePositions(view.history)
    found = []
    for row in rows:
        if row.verdict != ONCE:
            why, policy = row.why, NOT_CERTAIN.get(row.verdict, FORBIDDEN)
            if policy == FORBIDDEN and not is_promised:
                policy = ALLOWED if row.verdict == DUPLICATED else UNKNOWN
                why = "" if row.verdict == DUPLICATED else BESIDE
            text = (
                f"{row.value!r} at offset {row.offset} of {row.key} is {row.verdict}: {row.read_committed} effect(s) "
                f"under read_committed, {row.read_uncommitted} under read_uncommitted"
            )
            text += f", {row.expected} expected" if row.expected != 1 else ""
            text += f"; {why}" if why else ""
            steps = [view.at[row.key, row.offset].step, *row.steps]
            found.append(check.make_finding(text, steps, [row.key], [row.offset], policy))
    return sum(row.verdict not in NOT_CERTAIN for row in rows), found
