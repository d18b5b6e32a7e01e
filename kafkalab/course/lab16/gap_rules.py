"""Find the sequence gaps in logs as a leader does, and as those do who have overlooked one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkalab.course.lab16.traffic import Record, Traffic
from kafkalab.grading.mutants import Mutant

SPACE = 2**31
COLUMNS = ("key", "offset", "missing", "acknowledged")
Gap = tuple[str, int, int, int]
"""Key and offset of the record after a gap, how many sequences are missing, and how many of those were acknowledged."""


class Rules(NamedTuple):
    """The rules that are taken into account; each `False` is a mistake."""

    key: bool = True
    epoch: str = "leader"
    """"leader", "ignored", or of its own: "unknown" where the first record says nothing, "zero" where it must be 0."""
    wraps: bool = True
    repeats: bool = True
    aborted: bool = True
    join: str = "left"
    """"left", "inner", or "all" and "none" for how many of the missing records count as acknowledged."""


def find_gaps(made: Traffic, rules: Rules | None = None) -> list[Gap]:
    """Return the gaps in the sequences of each producer and key."""
    rules = rules or Rules()
    seen: set[tuple[object, ...]] = set()
    last: dict[tuple[object, ...], Record] = {}
    found: list[Gap] = []
    for record in made.log if rules.aborted else _drop_aborted(made.log):
        name = (record.key, record.producer_id, record.producer_epoch, record.sequence)
        if record.control or (rules.repeats and name in seen):
            continue
        seen.add(name)
        epoch = record.producer_epoch if rules.epoch in ("unknown", "zero") else 0
        group = (record.key if rules.key else "", record.producer_id, epoch)
        expected = _expect(last.get(group), record, rules.epoch)
        last[group] = record
        if expected is None:
            continue
        missing = record.sequence - expected
        missing = missing % SPACE if rules.wraps else missing
        if missing > 0:
            told = _count_acknowledged(made, record, expected, missing)
            told = {"all": missing, "none": 0}.get(rules.join, told)
            if rules.join != "inner" or told:
                found.append((record.key, record.offset, missing, told))
    return found


def _expect(before: Record | None, record: Record, epoch: str) -> int | None:
    """Return the sequence that follows; None where nothing is known of the producer."""
    if before is None:
        return 0 if epoch == "zero" else None
    if epoch == "leader" and before.producer_epoch != record.producer_epoch:
        return 0
    return before.sequence + 1


def _count_acknowledged(made: Traffic, record: Record, expected: int, missing: int) -> int:
    """Return how many of the missing records their producer holds for written."""
    name = (record.key, record.producer_id, record.producer_epoch)
    sends = (s for s in made.sends if s.acknowledged and (s.key, s.producer_id, s.producer_epoch) == name)
    return sum((s.sequence - expected) % SPACE < missing for s in sends)


def find_aborted(made: Traffic) -> list[tuple[str, int]]:
    """Return key and offset of the records whose transaction was aborted: the next marker of their producer says so."""
    return find_outcomes(made, lambda record, marker: marker.producer_id == record.producer_id)


def find_outcomes(made: Traffic, fits: Callable[[Record, Record], bool]) -> list[tuple[str, int]]:
    """Return the records of transactions for which the first marker in their key that fits is an ABORT."""
    found = []
    markers = [m for m in made.log if m.control]
    for r in made.log:
        if r.transactional and not r.control:
            ends = (m for m in markers if m.key == r.key and m.offset > r.offset and fits(r, m))
            if (first := next(ends, None)) and first.control == "ABORT":
                found.append((r.key, r.offset))
    return found


def _drop_aborted(log: tuple[Record, ...]) -> list[Record]:
    aborted = set(find_aborted(Traffic(log, ())))
    return [r for r in log if (r.key, r.offset) not in aborted]


def _mutant(name: str, says: str, hint: int | str, **rules: Any) -> Mutant:
    made = Rules(**rules)
    return Mutant(name, says, lambda traffic: find_gaps(traffic, made), hint)


MUTANTS = (
    _mutant("no epoch", "a new epoch continued the sequences of the one before", 0, epoch="ignored"),
    _mutant(
        "jumps forward",
        "every number that is too large showed a gap",
        "A repeated batch brings old numbers, and after it the right number looks too large. First keep each sequence "
        "of a key, producer and epoch once. Then think of 0: it follows 2147483647, and each epoch begins with it.",
        epoch="ignored", wraps=False, repeats=False,
    ),
    _mutant(
        "first of an epoch",
        "the first record of an epoch said nothing",
        "Your window starts again with each epoch, so the first record of an epoch has no record before it. What must "
        "its sequence be, if the leader knows the producer already?",
        epoch="unknown",
    ),
    _mutant(
        "all from zero",
        "every producer began at 0 in each log",
        "Nothing is known of a producer before its first record in a key: older records may be deleted. Only a new "
        "epoch of a producer that is known has to begin at 0.",
        epoch="zero",
    ),
    _mutant(
        "no wrap",
        "sequences had no end",
        "A sequence is a number from 0 to 2147483647, and 0 follows the last one. pmod(a - b, 2147483648) is the "
        "distance from b to a.",
        wraps=False,
    ),
    _mutant(
        "retry is a gap",
        "a batch that is in the log twice were a gap",
        "A retried batch brings sequences that were there before. For each key, producer, epoch and sequence keep the "
        "first offset; then compare each sequence with the one before.",
        repeats=False,
    ),
    _mutant(
        "no aborted records",
        "aborted records had no sequence",
        "The leader counts a record when it arrives; it cannot know that its transaction will be aborted. Keep "
        "aborted records; only markers have no sequence.",
        aborted=False,
    ),
    _mutant(
        "inner join",
        "a gap without an acknowledged record were none",
        "Your join drops the gaps for which it finds no row. Which kind of join keeps them?",
        join="inner",
    ),
    _mutant(
        "all acknowledged",
        "every missing record had been acknowledged",
        "Count only what was acknowledged. After a left join a row without a partner has null there: count_if counts "
        "what is true.",
        join="all",
    ),
    _mutant(
        "none acknowledged",
        "no missing record had been acknowledged",
        "The gaps are right. Join them with sends: which of the missing records had been acknowledged?",
        join="none",
    ),
    _mutant(
        "no key",
        "a producer had one sequence for all keys",
        "A producer counts for each key (topic-partition) on its own. Which columns does PARTITION BY need?",
        key=False,
    ),
)  # fmt: skip
"""Wrong ways to find gaps."""
