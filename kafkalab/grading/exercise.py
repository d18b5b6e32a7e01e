"""An exercise, and how a check says that an answer is wrong or of the wrong form."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafkalab.sim.registry import Registry

if TYPE_CHECKING:
    from kafkalab.grading.tables import Table
    from kafkalab.sim.cluster import Cluster
    from kafkalab.sim.scenario import Scenario

LINE_LENGTH = 100
EXERCISES: Registry[str] = Registry("exercises")
"""By an exercise's id, such as "L3.E1", the module that defines its `EXERCISE`."""


class _PlainError(Exception):
    """An error that a notebook shows as its message alone: the learner did nothing that a traceback explains."""

    def _render_traceback_(self) -> list[str]:
        return wrap(str(self)).splitlines()


class WrongAnswer(_PlainError, AssertionError):
    """The answer has the right form, but it is not right yet. The message says where to look, never the answer.

    `run` is a counterexample: a scenario or a cluster that `view` shows, the name of "Sequence" or "LogTape", or a
    table of rows where no run can show it. `step` is the step that decides, or -1 to look for it in the run. `miss`
    names the misconception, a key of the exercise's `misses`. `part` is how much of it is right, from 0 to 1.
    """

    def __init__(
        self,
        message: str = "",
        *,
        run: Scenario | Cluster | Table | None = None,
        step: int = -1,
        view: str = "Sequence",
        miss: str = "",
        part: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.run, self.step, self.view, self.miss, self.part = run, step, view, miss, part


class BlankAnswer(WrongAnswer):
    """The form was left as the notebook came; it does not count as a try."""


class WrongType(_PlainError, TypeError):
    """The answer is not what the exercise asks for; the message says what to give."""


class WrongValue(_PlainError, ValueError):
    """A part of the answer is no word that the exercise knows, or missing; the message names it."""


class Line(str):
    """Text that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return wrap(str(self))


class PassLine(Line):
    """The line of an answer that passed; a notebook shows `afterwards` below it."""

    __slots__ = ("afterwards",)
    afterwards: str

    def __new__(cls, line: str, afterwards: str = "") -> PassLine:
        passed = super().__new__(cls, line)
        passed.afterwards = afterwards
        return passed

    def __repr__(self) -> str:
        return wrap("\n".join(filter(None, [str(self), self.afterwards])))


def wrap(text: str) -> str:
    """The text in lines that a notebook need not break; what is indented is code and stays as it is."""
    lines = text.split("\n")
    fill = textwrap.TextWrapper(LINE_LENGTH, break_on_hyphens=False).fill
    return "\n".join(line if line.startswith(" ") else fill(line) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A misconception that several rows of a table can show.

    `says` is a sentence that is not true, without a full stop; `hint` is what helps against it: a sentence, or the
    place in the exercise's hints of the one that fits.
    """

    says: str
    hint: int | str


@dataclass(frozen=True, slots=True)
class Exercise:
    """`check(answer)` returns what was right ("10 of 10 rows") or raises one of the errors above.

    `hints` are in order of strength; none of them is the answer. `misses` maps the `miss` of a wrong answer to what
    `hint` says to it: a sentence of its own, or the place in `hints` of the one that fits, but not of the last one,
    which says nearly all; or to a Belief, which has such a hint. `afterwards` says why the right answer is right, and
    what comes next. `question(seed)` makes the inputs that the exercise asks about, if it asks about generated ones.
    `questions` are the numbers of the learners' questions that it settles.
    """

    id: str
    check: Callable[[Any], str]
    hints: tuple[str, ...]
    points: int = 1
    questions: tuple[int, ...] = ()
    misses: Mapping[str, int | str | Belief] = field(default_factory=dict)
    question: Callable[[int], Any] | None = None
    afterwards: str = ""

    def __post_init__(self) -> None:
        for miss, found in self.misses.items():
            found = found.hint if isinstance(found, Belief) else found
            if isinstance(found, int) and not 0 <= found < max(1, len(self.hints) - 1):
                raise ValueError(
                    f"{self.id}: the miss {miss!r} takes hint {found + 1} of {len(self.hints)}; "
                    "it needs a sentence of its own, or a hint that is not the last"
                )

    def hint_for(self, miss: str) -> str:
        """Return what helps against the misconception; "" if the exercise does not know it."""
        found = self.misses.get(miss, "")
        found = found.hint if isinstance(found, Belief) else found
        return self.hints[found] if isinstance(found, int) else found


def is_blank(value: object) -> bool:
    """Return True if this part of the answer was left as the notebook came: `...`, an empty string or None."""
    return value is ... or value is None or (isinstance(value, str) and not value.strip())


def cells(answer: object, names: tuple[Any, ...], words: Iterable[str], form: str, what: str) -> dict[Any, str]:
    """The answer as a dict from every name to a word, or to "" where it was left blank.

    `form` is what to give, `what` one part of it ("row"). WrongType for anything but a dict, WrongValue for a name or
    a word that does not exist, with the nearest one. The answer itself is not changed.
    """
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    unknown = [n for n in answer if n not in names]
    if unknown:
        raise WrongValue(f"There is no {what} {unknown[0]!r}{_suggest(unknown[0], names)}. Give {form}.")
    missing = [n for n in names if n not in answer]
    if missing:
        listed = f"{what}s {', '.join(map(str, missing))} are" if len(missing) > 1 else f"{what} {missing[0]} is"
        raise WrongValue(f"The {listed} missing. Give {form}.")
    return {name: _word(answer[name], tuple(words), f"{what} {name}", form) for name in names}


def _word(value: object, words: tuple[str, ...], where: str, form: str) -> str:
    if is_blank(value):
        return ""
    if not isinstance(value, str):
        raise WrongType(f"For {where} you give {describe(value)}. Give {form}.")
    by_lower = {w.lower(): w for w in words}
    found = by_lower.get(value.strip().lower())
    if found is None:
        raise WrongValue(
            f"For {where} you give {value!r}, no word of this exercise{_suggest(value, words)}. Give {form}."
        )
    return found


def _suggest(given: object, known: tuple[object, ...]) -> str:
    if not isinstance(given, str):
        return ""
    by_lower = {str(k).lower(): k for k in known}
    near = difflib.get_close_matches(given.strip().lower(), by_lower, 1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def describe(value: Any) -> str:
    """Its type and its value, cut where it is long, for an error about an answer."""
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"
