"""The source of chance: numbers and choices, from a seed or, in the tests, from hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Pick(Protocol):
    """Draw numbers and choices; all that is random in a scenario comes from one of these."""

    def number(self, least: int, most: int) -> int:
        """Return a whole number of `least` to `most`; the smaller the simpler."""

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of the options; the earlier the simpler."""


class Seeded:
    """Draw the same for the same seed, on every machine."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]


def once_in(pick: Pick, times: int) -> bool:
    """Return True once in `times` draws on average; False is the simpler one."""
    return pick.number(1, times) == times
