"""Checks of answers that can be given without Python: a word for each blank, or an order of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkalab.grading.tables import Table
    from kafkalab.sim.cluster import Cluster
    from kafkalab.sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Blank:
    """One blank: its name, what it asks, and the words to choose from."""

    name: Any
    says: str
    words: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Hold the answer of a form to one word of one row.

    A wrong word names its belief, "" if it has none, with its sentence; a right one the beliefs that it denies.
    `refutes` is said where the row refutes the belief that several rows fit, `look` where no belief fits. `run` and
    `step` are as in WrongAnswer.
    """

    wrong: bool
    belief: str
    sentence: str
    denies: tuple[str, ...]
    refutes: str
    look: str
    run: Scenario | Cluster | Table | None
    step: int


@dataclass(frozen=True, slots=True)
class Form:
    """A check of a word for each blank; `tell(name, word)` is what is said to one of them.

    `flat` makes of an answer the dict from names to words that `check` takes. `what` is one row, in a word. `kind` says
    what is filled in: a table, whose rows are about one subject, or mixed questions over several labs.
    """

    check: Callable[[Any], str]
    blanks: Callable[[], Sequence[Blank]]
    tell: Callable[[Any, str], Told]
    flat: Callable[[Any], Any] = lambda answer: answer
    what: str = "row"
    kind: str = "table"

    def __call__(self, answer: object) -> str:
        return self.check(self.flat(answer))


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
