"""The parts of the start page that follow from the labs there are: where to begin, the map, the short ways."""

from __future__ import annotations

from pathlib import Path

from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import COURSE
from kafkalab.course.outline import TRACKS, CourseMap
from kafkalab.grading.builder import SOLUTIONS, as_text, read
from kafkalab.grading.exercise import EXERCISES

START = SOLUTIONS / "00_start.ipynb"
BEGIN, MAP, WAYS, WHERE = "begin", "map-of-the-labs", "short-ways", "where"


def refresh_start_page(root: Path) -> list[Path]:
    """The generated cells of the start page say what labs there are; its path if that changed it.

    A course without a start page, or a start page without such cells, stays as it is.
    """
    path = root / START
    if not path.exists():
        return []
    notebook = read(path)
    there = {p.stem for p in (root / SOLUTIONS).glob("[0-9]*.ipynb")}
    texts = {BEGIN: begin(there), MAP: map_of_labs(there), WAYS: short_ways(there)}
    for cell in notebook["cells"]:
        if cell["id"] in texts:
            cell["source"] = texts[cell["id"]].splitlines(keepends=True)
        if cell["id"] == WHERE:
            for output in cell["outputs"]:
                output["data"] = picture()
    text = as_text(notebook)
    if path.read_text(encoding="utf-8") == text:
        return []
    path.write_text(text, encoding="utf-8")
    return [path]


def picture() -> dict[str, list[str]]:
    """The course with nothing solved yet, as the saved output of the cell that shows it."""
    course = CourseMap({}, EXERCISES)
    shown = {"image/svg+xml": course.svg(), "text/plain": str(course)}
    return {kind: text.splitlines(keepends=True) for kind, text in shown.items()}


def begin(there: set[str]) -> str:
    """The first link of all, to the first lab there is."""
    first = next((lab for lab in COURSE if lab.name in there), None)
    if first is None:
        return "## The first lab is not there yet"
    return (
        f"## [Start here: {first.title} →]({first.name}.ipynb)\n\n"
        "It takes about half an hour. You need to know what a topic and an offset are, and nothing about transactions. "
        "In a notebook, <kbd>Shift</kbd> + <kbd>Enter</kbd> runs a cell and goes on to the next."
    )


def map_of_labs(there: set[str]) -> str:
    """The table of all labs; those there are have links."""
    rows = [f"| {lab.number} | {_linked(lab, there)} | {lab.know} | {_state(lab, there)} |" for lab in COURSE]
    return "\n".join(["## The labs", "", "| | lab | what you will know | |", "|--:|:--|:--|:--|", *rows])


def short_ways(there: set[str]) -> str:
    """The tracks: for whom, and which labs in which order."""
    rows = [
        f"| {name} | {' → '.join(_linked(COURSE[number], there, short=True) for number in numbers)} |"
        for name, numbers in TRACKS.items()
    ]
    head = ["## Short ways through", "", "Each lab stands on its own feet. If time is short:", ""]
    return "\n".join([*head, "| for | labs |", "|:--|:--|", *rows])


def _linked(lab: CourseLab, there: set[str], short: bool = False) -> str:
    text = f"L{lab.number}" if short else lab.title
    return f"[{text}]({lab.name}.ipynb)" if lab.name in there else text


def _state(lab: CourseLab, there: set[str]) -> str:
    return "**ready**" if lab.name in there else "planned"
