"""A lab's description, and the labs that are planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseLab:
    """One lab: its notebook's name without ".ipynb", its title, and what a learner knows after it.

    `settles` are the numbers of the learners' questions (questions.py) that it must settle; other labs may, too.
    `after` is the number of the lab that it follows in the order of reading; 0 for the number before its own.
    """

    name: str
    title: str
    know: str
    settles: tuple[int, ...] = ()
    after: int = 0

    @property
    def number(self) -> int:
        """The number with which its notebook's name begins."""
        return int(self.name[:2])

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of the order of reading."""
        return self.after or self.number, self.number


PLANNED: tuple[CourseLab, ...] = ()
"""Labs without a folder yet. Once course/labNN/ exists, its own LAB counts."""
