"""Checks of answers that can be given without Python: a word for each blank, or an order of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Blank:
    """One blank: its name, what it asks, and the words to choose from."""

    name: Any
    says: str
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Form:
    """A check of a word for each blank. `flat` makes of an answer the dict from names to words that `check` takes."""

    check: Callable[[Any], str]
    blanks: Callable[[], Sequence[Blank]]
    flat: Callable[[Any], Any] = lambda answer: answer

    def __call__(self, answer: object) -> str:
        return self.check(self.flat(answer))

    def wrong_words(self, right: Mapping[object, str]) -> dict[tuple[object, str], dict[object, str]]:
        """Return, by each blank's name and wrong word, the answer in which only this word is wrong."""
        blanks = self.blanks()
        return {(b.name, word): {**right, b.name: word} for b in blanks for word in b.words if word != right[b.name]}


@dataclass(frozen=True, slots=True)
class Order:
    """A check of a list of names in the right order; `names(seed)` are those names in disorder."""

    check: Callable[[Any], str]
    names: Callable[[int], Sequence[str]]

    def __call__(self, answer: object) -> str:
        return self.check(answer)

    @staticmethod
    def wrong_pairs(right: Sequence[str]) -> dict[tuple[str, str], list[str]]:
        """Return, by each pair that is the wrong way round, an answer whose first wrong pair it is."""
        found = {}
        for at, later in enumerate(right):
            for to, earlier in enumerate(right[:at]):
                found[later, earlier] = [*right[:to], later, *right[to:at], *right[at + 1 :]]
        return found
