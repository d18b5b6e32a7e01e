"""offset/output split: consume-transform-produce, where committed input offsets and committed output disagree."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, Finding, anomaly
from kafkalab.checks.dependencies import end_of
from kafkalab.checks.offset_commits import find_regressions
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import COMMITTED, OPEN, PLAIN, View
from kafkalab.history.schema import LogRecord, Read
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of


@dataclass(slots=True)
class _Input:
    """One input of a group: who committed offsets for it, who read what, and whether all went through transactions."""

    group: str
    key: str
    committed: int = -1
    first: int = -1
    plain: bool = False
    step: int = -1
    readers: dict[str, tuple[ClientTxn, int]] = field(default_factory=dict)  # each with the offset that it committed
    read_by: dict[int, dict[str, int]] = field(default_factory=dict)  # offset -> transaction -> step
    certain: dict[int, dict[str, None]] = field(default_factory=dict)  # offset -> transactions that can be of no other


@anomaly(
    "offset/output split",
    "Committed input offset and committed output disagree: an input's effect is lost or doubled.",
    from_a_log=find_regressions,
    needs=("operations", "log", "reads", "polls"),
)
def offset_output_split(check: Check, view: View) -> Examined:
    """Find committed transactions that read an input offset below the committed one: none is a loss, two a double."""
    inputs, split = _inputs(view), list(_disagreeing(check, view))
    _attribute(view, inputs)
    found = [f for one in inputs.values() for f in _findings(check, view, one)]
    return sum(len(one.readers) for one in inputs.values()) + len(split), [*split, *found]


def _inputs(view: View) -> dict[str, _Input]:
    inputs: dict[str, _Input] = {}
    for record in view.offset_commits:
        name, place = record.record_key or "", (record.key, record.offset)
        if view.outcomes.get(place) not in (COMMITTED, PLAIN):
            continue
        group, _, key = name.rpartition("/")
        one = inputs.setdefault(name, _Input(group, key))
        one.committed, one.step = int(record.value or -1), record.step
        owner = view.transaction_of.get(place)
        if owner is None:
            one.plain = True
        else:
            one.readers[owner.id] = owner, one.committed
    return inputs


def _attribute(view: View, inputs: dict[str, _Input]) -> None:
    """Give each read of an input to the transaction in which it took effect, if it did in any.

    That is, of those of its process that committed and ended after the read, the first that committed an offset
    behind it: what one poll returns may be worked off in several transactions. Only if no consumer of its process was
    moved before (by a rebalance, a seek, or an assignment; a new consumer begins with one) is it certain that the
    transaction is of this read: who was moved may have dropped what it had read, because another has worked it off.
    """
    moves: dict[tuple[str, str], list[int]] = {}
    for poll in view.history.polls:
        if poll.moved:
            moves.setdefault((poll.process, poll.key), []).append(poll.step)
    for steps in moves.values():
        steps.sort()
    reads_of: dict[str, list[Read]] = {}
    for read in view.history.reads:
        reads_of.setdefault(read.key, []).append(read)
    for one in inputs.values():
        takers: dict[str, list[tuple[int, str, int]]] = {}  # by process: end, transaction, committed offset
        for transaction, committed in one.readers.values():
            takers.setdefault(transaction.process, []).append((end_of(transaction), transaction.id, committed))
        for of_process in takers.values():
            of_process.sort()
        for read in reads_of.get(one.key, ()):
            here = takers.get(read.process, [])
            later = here[bisect_left(here, (read.step,)) :]
            taker = next(((end, name) for end, name, committed in later if committed > read.offset), None)
            if taker is not None:
                one.read_by.setdefault(read.offset, {})[taker[1]] = read.step
                moved = moves.get((read.process, read.key), [])
                if bisect_right(moved, read.step) == bisect_left(moved, taker[0]):
                    one.certain.setdefault(read.offset, {})[taker[1]] = None
                one.first = read.offset if one.first < 0 else min(one.first, read.offset)


def _findings(check: Check, view: View, one: _Input) -> Iterator[Finding]:
    policy = ALLOWED if one.plain else FORBIDDEN
    for offset, every in one.read_by.items():
        readers = {name: step for name, step in every.items() if name in one.certain.get(offset, ())}
        if len(readers) > 1:
            text = f"offset {offset} of {one.key} took effect in {len(readers)} transactions: {', '.join(readers)}"
            yield check.make_finding(text, readers.values(), [one.key], [offset], policy)
    if one.first < 0:
        return
    lost = [o for o in view.committed_between(one.key, one.first, one.committed) if o not in one.read_by]
    if lost:
        text = f"group {one.group} committed {one.committed} of {one.key}, but no committed transaction read {lost}"
        yield check.make_finding(text, [one.step, view.at[one.key, lost[0]].step], [one.key], lost, policy)


def _disagreeing(check: Check, view: View) -> Iterator[Finding]:
    """Transactions whose offsets ended in one way and whose output in another."""
    for transaction in view.transactions:
        offsets: dict[str, LogRecord] = {}
        output: dict[str, LogRecord] = {}
        for record in transaction.records:
            outcome = view.outcomes[record.key, record.offset]
            if outcome != OPEN:
                (offsets if record.record_key and topic_of(record.key) == OFFSETS_TOPIC else output)[outcome] = record
        if offsets and output and list(offsets) != list(output):
            records = [*offsets.values(), *output.values()]
            text = f"{transaction.id}: its offsets {' and '.join(offsets)}, its output {' and '.join(output)}"
            yield check.make_finding(text, [r.step for r in records], [r.key for r in records])
