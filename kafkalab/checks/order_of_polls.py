"""Walks over what one consumer read of one key, and tells where it jumped forwards or went back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.checks.view import Stretch, View


@dataclass(frozen=True, slots=True)
class Jump:
    """From `expected` to `offset`; `inside` one poll or between two, `moved` by what (empty: by nothing)."""

    before: Stretch
    after: Stretch
    expected: int
    offset: int
    inside: bool
    moved: str


def jumps(view: View) -> Iterator[Jump]:
    """Every place where a consumer did not go on where it was; legal gaps in offsets are among them."""
    for stretches in view.stretches.values():
        yield from _of_one(stretches)


def _of_one(stretches: list[Stretch]) -> Iterator[Jump]:
    expected, before = -1, stretches[0]
    for stretch in stretches:
        first = min((r.offset for r in stretch.reads[:1]), default=-1)
        begin = stretch.start if stretch.start >= 0 else first
        if expected >= 0 and begin >= 0 and stretch.moved and begin != expected:
            yield Jump(before, stretch, expected, begin, False, stretch.moved)
        if begin >= 0 and (expected < 0 or stretch.moved):
            expected = begin
        for number, read in enumerate(stretch.reads):
            if read.offset != expected:
                yield Jump(before if not number else stretch, stretch, expected, read.offset, number > 0, "")
            expected = read.offset + 1
        if stretch.end > expected >= 0:
            yield Jump(stretch, stretch, expected, stretch.end, False, "")
        expected = max(expected, stretch.end)
        before = stretch


def comparisons(view: View) -> tuple[int, int]:
    """How many times a poll followed another, and how many times a record another inside a poll."""
    between = sum(len(s) - 1 for s in view.stretches.values())
    inside = sum(max(len(p.reads) - 1, 0) for s in view.stretches.values() for p in s)
    return between, inside
