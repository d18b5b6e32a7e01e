"""The texts made from the list of labs: the start page's first link, map and paths, and the tables of two pages.

The pages are the README and docs/teaching.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kafkalab.course.collection_notebooks import look_up
from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import BY_NUMBER, COURSE
from kafkalab.course.measures import Measures, measure_labs, sum_minutes
from kafkalab.course.outline import ALL_LABS, TRACKS, CourseMap
from kafkalab.grading.builder import SOLUTIONS, as_text, read, write_changed
from kafkalab.grading.exercise import EXERCISES

START = SOLUTIONS / "00_start.ipynb"
README = Path("README.md")
HEAD = "| | lab | what you will know | minutes |\n|--:|:--|:--|:--|\n"
TABLE = re.compile(rf"^({re.escape(HEAD.rstrip())})\n(?:\|.*\n)*", re.M)
TEACHING = Path("docs", "teaching.md")
SITTINGS_HEAD = "| sitting | time | lab | walk | exercises |\n|--:|--:|:--|--:|--:|\n"
SITTINGS = re.compile(rf"^({re.escape(SITTINGS_HEAD.rstrip())})\n(?:\|.*\n)*", re.M)
SITTING_MINUTES = 120
"""The most minutes of one sitting of the path through all labs; a longer lab has a sitting of its own."""
START_ROW = "| | [Start page](labs/00_start.ipynb) | how to walk a run | |"
SHORT = (
    "You need not read all labs: the first lines of each say which others it builds on, and how long it takes. A path "
    "leaves out what its readers often know. The minutes are for the runs (*walk*) and for the exercises."
)
Labs = Mapping[str, Measures]
"""The labs that there are, by their notebooks' names, and what each asks of its reader."""
BEGIN, MAP, WAYS, LOOK_UP, WHERE = "begin", "map-of-the-labs", "short-ways", "look-up", "where"


def refresh_start_page(root: Path) -> list[Path]:
    """Write into the start page's generated cells, and into the tables of both pages, which labs there are.

    Return the paths that changed. A course without a start page stays as it is, as does a page without its table.
    """
    path = root / START
    if not path.exists():
        return []
    notebook = read(path)
    there = measure_labs(root)
    texts = {BEGIN: begin(there), MAP: map_of_labs(there), WAYS: short_ways(there), LOOK_UP: look_up()}
    for cell in notebook["cells"]:
        if cell["id"] in texts:
            cell["source"] = texts[cell["id"]].splitlines(keepends=True)
        if cell["id"] == WHERE:
            for output in cell["outputs"]:
                output["data"] = picture()
    pages = {path: as_text(notebook)}
    if (readme := root / README).exists():
        rows = [START_ROW, *_rows(there, "labs/")]
        pages[readme] = _fill(TABLE, rows, readme)
    if (teaching := root / TEACHING).exists():
        pages[teaching] = _fill(SITTINGS, sittings(there), teaching)
    return write_changed(pages)


def _fill(table: re.Pattern[str], rows: list[str], page: Path) -> str:
    """Return the text of a page with these rows in its table."""
    return table.sub(lambda found: "\n".join([found[1], *rows, ""]), page.read_text(encoding="utf-8"), count=1)


def sittings(there: Labs) -> list[str]:
    """Return the rows of the path through all labs: the sitting, the time since it began, the lab and its minutes."""
    rows, sitting, time = [], 1, 0
    for lab in (lab for lab in COURSE if lab.name in there):
        walk, exercises = sum_minutes([there[lab.name]])
        if time and time + walk + exercises > SITTING_MINUTES:
            sitting, time = sitting + 1, 0
        began = f"{time // 60}:{time % 60:02}"
        rows.append(
            f"| {sitting} | {began} | {lab.number} {_link_lab(lab, there, '../labs/')} | {walk} | {exercises} |"
        )
        time += walk + exercises
    return rows


def picture() -> dict[str, list[str]]:
    """Return the course with nothing solved, as the saved output of the cell that shows it."""
    course = CourseMap({}, EXERCISES)
    shown = {"image/svg+xml": course.svg(), "text/plain": str(course)}
    return {kind: text.splitlines(keepends=True) for kind, text in shown.items()}


def begin(there: Labs) -> str:
    """Return the first link of all, to the first lab there is."""
    first = next((lab for lab in COURSE if lab.name in there), None)
    if first is None:
        return "## The first lab is not there yet"
    return (
        f"## [Start here: {first.title} →]({first.name}.ipynb)\n\n"
        f"Stepping through its runs takes {there[first.name].walk_minutes} minutes; the exercises take "
        f"{there[first.name].exercise_minutes}. You need to know what a topic and an offset are, and nothing about "
        "transactions. In a notebook, <kbd>Shift</kbd> + <kbd>Enter</kbd> runs a cell and goes on to the next."
    )


def map_of_labs(there: Labs) -> str:
    """Return the table of the labs there are, and one line about those that are planned."""
    ready = [f"| {lab.number} | {_link_lab(lab, there)} | {lab.know} |" for lab in COURSE if lab.name in there]
    planned = [f"{lab.title} ({lab.number})" for lab in COURSE if lab.name not in there]
    more = f"Planned: {', '.join(planned)}." if planned else ""
    head = ["## The labs, in order", "", "| | lab | what you will know |", "|--:|:--|:--|"]
    return "\n".join([*head, *ready, "", more]).rstrip()


def _rows(there: Labs, folder: str = "") -> list[str]:
    return [f"| {lab.number} | {_link_lab(lab, there, folder)} | {lab.know} | {_state(lab, there)} |" for lab in COURSE]


def short_ways(there: Labs) -> str:
    """Return the paths: for whom, which of the labs there are in which order, and their minutes."""
    rows = []
    for name, numbers in {**TRACKS, ALL_LABS: tuple(lab.number for lab in COURSE)}.items():
        if ready := [BY_NUMBER[number] for number in numbers if BY_NUMBER[number].name in there]:
            links = " → ".join(_link_lab(lab, there, short=True) for lab in ready)
            walk, exercises = sum_minutes([there[lab.name] for lab in ready])
            rows.append(f"| {name} | {links} | {walk} | {exercises} |")
    head = ["## Paths", "", SHORT, ""]
    return "\n".join([*head, "| for | labs | walk | exercises |", "|:--|:--|--:|--:|", *rows])


def _link_lab(lab: CourseLab, there: Labs, folder: str = "", short: bool = False) -> str:
    text = f"L{lab.number}" if short else lab.title
    return f"[{text}]({folder}{lab.name}.ipynb)" if lab.name in there else text


def _state(lab: CourseLab, there: Labs) -> str:
    found = there.get(lab.name)
    return f"{found.walk_minutes} + {found.exercise_minutes}" if found else "planned"
