"""poll-skip and nonmonotonic-poll, each between two polls and inside one: where a consumer jumped on or went back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.view import Stretch, View


@dataclass(frozen=True, slots=True)
class Jump:
    """From `expected` to `offset`; `inside` one poll or between two, `moved` by what (empty: by nothing).

    `before` is the step of the poll that it was before in.
    """

    before: int
    after: Stretch
    expected: int
    offset: int
    inside: bool
    moved: str


def jumps(view: View) -> Iterator[Jump]:
    """Every place where a consumer did not go on where it was; legal gaps in offsets are among them."""
    for stretches in view.stretches.values():
        for stretch in stretches:
            yield from _in_one(stretch)


def _in_one(stretch: Stretch) -> Iterator[Jump]:
    expected = stretch.expected
    first = min((r.offset for r in stretch.reads[:1]), default=-1)
    begin = stretch.start if stretch.start >= 0 else first
    if expected >= 0 and begin >= 0 and stretch.moved and begin != expected:
        yield Jump(stretch.before, stretch, expected, begin, False, stretch.moved)
    if begin >= 0 and (expected < 0 or stretch.moved):
        expected = begin
    for number, read in enumerate(stretch.reads):
        if read.offset != expected:
            before = stretch.step if number else stretch.before
            yield Jump(before, stretch, expected, read.offset, number > 0, "")
        expected = read.offset + 1
    if stretch.end > expected >= 0:
        yield Jump(stretch.step, stretch, expected, stretch.end, False, "")


def comparisons(view: View) -> tuple[int, int]:
    """Return how many times a poll followed another, and a record another inside a poll."""
    between = sum(len(s) - 1 for s in view.stretches.values())
    inside = sum(max(len(p.reads) - 1, 0) for s in view.stretches.values() for p in s)
    return between, inside


def _skip(check: Check, view: View) -> Examined:
    """Markers, aborted records and what was removed may be jumped over; after assign or seek all may."""
    inside = check.name.startswith("int-")
    found = []
    for jump in jumps(view):
        if jump.inside is not inside or jump.offset <= jump.expected or jump.moved in ("assign", "seek"):
            continue
        missed = view.committed_between(jump.after.key, jump.expected, jump.offset)
        if missed:
            key, consumer = jump.after.key, jump.after.consumer
            text = f"{consumer} went from {jump.expected} to {jump.offset} of {key}, over committed values"
            policy = ALLOWED if jump.moved else FORBIDDEN
            steps = [view.at[key, missed[0]].step, jump.before, jump.after.step]
            found.append(check.make_finding(text, steps, [key], missed, policy))
    return comparisons(view)[inside], found


POLL_SKIP = anomaly(
    "poll-skip",
    "Two consecutive polls jump over known committed values; allowed across a rebalance.",
    needs=("log", "reads", "polls"),
)(_skip)
INT_POLL_SKIP = anomaly("int-poll-skip", "One poll jumps over known committed values.", needs=("log", "reads"))(_skip)


def _back(check: Check, view: View) -> Examined:
    """Going back is allowed after assign, seek or rebalance."""
    inside = check.name.startswith("int-")
    found = []
    for jump in jumps(view):
        if jump.inside is inside and jump.offset < jump.expected:
            text = f"{jump.after.consumer} went back from {jump.expected} to {jump.offset} of {jump.after.key}"
            policy = ALLOWED if jump.moved else FORBIDDEN
            steps = [jump.before, jump.after.step]
            found.append(check.make_finding(text, steps, [jump.after.key], [jump.offset], policy))
    return comparisons(view)[inside], found


NONMONOTONIC_POLL = anomaly(
    "nonmonotonic-poll",
    "A later poll starts at or before the end of an earlier one; allowed after seek, assign or rebalance.",
    needs=("reads", "polls"),
)(_back)
INT_NONMONOTONIC_POLL = anomaly(
    "int-nonmonotonic-poll", "Inside one poll a later record has an earlier offset.", needs=("reads",)
)(_back)
