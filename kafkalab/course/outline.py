"""The short ways through the course, and `progress()`, the picture of what is solved in it."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import COURSE
from kafkalab.course.map_svg import Tile, draw, link_cards
from kafkalab.grading import progress as kept
from kafkalab.grading.exercise import EXERCISES, wrap
from kafkalab.palette import BLUE, WHITE

TRACKS: dict[str, tuple[int, ...]] = {
    "A meetup, 90 minutes": (0, 3, 5, 9),
    "A team, one day": (0, 1, 3, 5, 6, 9, 10),
    "Operators": (4, 5, 7, 8, 15),
    "Stream developers": (1, 6, 9, 10, 11),
    "Data engineers": (4, 5, 11, 12, 16),
}
"""For whom, and which labs in which order; a lab that is only planned joins its tracks when it is there."""
ALL_LABS = "At your own pace"
"""The path through all labs, in the order of reading."""
BINDER = "BINDER_SERVICE_HOST"
"""Set in the environment of a session on Binder, whose machine goes away."""
BROWSER = "emscripten"
"""The platform of a Python that runs in a browser."""
GOES_AWAY = "This machine goes away when you leave. Next time,"
KEPT_HERE = "This browser keeps it until this site's data is deleted. In another browser,"


class CourseMap:
    """The picture of the course; `str()` is its twin in text.

    Where progress is kept (`live`) a notebook gets it as HTML, too, in the colours of its theme, and on Binder with a
    download button.
    """

    def __init__(self, record: kept.Record, exercises: Iterable[str], message: str = "", live: bool = False) -> None:
        self.message, self.live = message, live
        self.record = record
        self._tiles = tuple(_tile(lab, record, exercises) for lab in COURSE)

    @property
    def solved(self) -> int:
        """The number of solved exercises."""
        return sum(tile.states.count("solved") for tile in self._tiles)

    @property
    def total(self) -> int:
        """The number of exercises."""
        return sum(len(tile.states) for tile in self._tiles)

    def __str__(self) -> str:
        signs = {"solved": "●", "tried": "◐", "new": "○"}
        lines = [f"The course: {self.solved} of {self.total} exercises solved (● solved, ◐ tried, ○ not yet)"]
        for tile in self._ready:
            dots = "".join(signs[state] for state in tile.states)
            lines.append(f"  L{tile.number:<3}{tile.title:<36}{dots}{'  done' if tile.done else ''}".rstrip())
        return "\n".join([*lines, *filter(None, [self._planned, wrap(self.message)])])

    @property
    def _ready(self) -> tuple[Tile, ...]:
        return tuple(tile for tile in self._tiles if tile.ready)

    @property
    def _planned(self) -> str:
        """One line for the labs that are only planned; "" if there are none."""
        planned = [f"L{tile.number}" for tile in self._tiles if not tile.ready]
        return f"{len(planned)} more are planned: {', '.join(planned)}." if planned else ""

    def __repr__(self) -> str:
        return str(self)

    def svg(self) -> str:
        """The picture as a standalone SVG."""
        notes = [note for note in (self._planned, self.message) if note]
        return draw(self._ready, f"{self.solved} of {self.total} exercises solved", notes)

    def download(self) -> str:
        """A link, as HTML, that saves the record on the learner's own machine; it works without a kernel."""
        data = base64.b64encode(kept.as_text(self.record).encode()).decode()
        style = (
            "display:inline-block;margin:.4em 0;padding:.35em .9em;border-radius:4px;text-decoration:none;"
            f"background:{BLUE};color:{WHITE}"
        )
        return (
            f'<a download="{kept.FILE}" href="data:application/json;base64,{data}" style="{style}">'
            f"Download my progress</a> {KEPT_HERE if sys.platform == BROWSER else GOES_AWAY} "
            f"upload the file and run <code>progress(also={kept.FILE!r})</code>."
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"image/svg+xml": self.svg(), "text/plain": str(self)}
        if self.live:
            button = f"<div>{self.download()}</div>" if os.environ.get(BINDER) or sys.platform == BROWSER else ""
            bundle["text/html"] = f"{link_cards(self.svg(), self._ready)}{button}"
        return bundle


def progress(also: str | Path | None = None) -> CourseMap:
    """The course with what is solved in it. `also` names a file of progress from elsewhere, which is taken over.

    A damaged file is set aside, and the picture says so. OSError or ValueError for an `also` that cannot be read.
    """
    path = kept.place()
    if path is None:
        return CourseMap({}, EXERCISES)
    try:
        found = kept.load(path) if also is None else _taken_over(path, Path(also))
    except OSError as error:
        if also is not None and not Path(also).exists():
            raise ValueError(f"there is no file {also}; upload it beside this notebook") from None
        return CourseMap({}, EXERCISES, f"{path} cannot be used ({error.strerror}), so no progress is kept.")
    return CourseMap(found.record, EXERCISES, found.message, live=True)


def _taken_over(path: Path, other: Path) -> kept.FileContents:
    if other.exists() and path.exists() and other.samefile(path):
        return kept.load(path)
    found = kept.merge(path, other)
    said = f"Of {other.name}, {found.message}." if found.message else f"{other.name} was taken over."
    return kept.FileContents(record=found.record, message=said)


def _tile(lab: CourseLab, record: kept.Record, exercises: Iterable[str]) -> Tile:
    names = [name for name in exercises if name.startswith(f"L{lab.number}.")]
    done = [record.get(name, kept.ExerciseRecord()) for name in names]
    states = tuple("solved" if d.solved else "tried" if d.tries else "new" for d in done)
    return Tile(number=lab.number, title=lab.title, states=states, ready=bool(names), href=f"{lab.name}.ipynb")
