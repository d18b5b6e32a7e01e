"""The report for a teacher: the rows as CSV, and as one HTML page that can be read without anything else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from hashlib import sha256
from itertools import count, groupby
from pathlib import Path
from urllib.parse import quote

from kafkalab.grading.class_summary import summarise
from kafkalab.grading.grade import Row
from kafkalab.grading.sandbox import LEFT_OPEN
from kafkalab.markup import Markup, cell, each, element, heading, join, page, table

COLUMNS = tuple(f.name for f in fields(Row))
FORMULA = ("=", "+", "-", "@", "\t", "\r")
POINTS = heading("points", "number")
SIGNS = {"right": "✓ right", "wrong": "✗ wrong", "not reached": "– not reached"}


def as_csv(rows: Sequence[Row], head: bool = True) -> str:
    """A line for each row, below one of names if there is a `head`.

    What a spreadsheet would take for a formula gets a quote in front.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if head:
        writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    return out.getvalue()


def _cell(value: str | float) -> str:
    text = f"{value:g}" if isinstance(value, float | int) else value
    return f"'{text}" if isinstance(value, str) and value.startswith(FORMULA) else text


def as_html(rows: Sequence[Row], seed: int) -> str:
    """The whole page: all notebooks in one table, then each with its exercises and the reasons."""
    notebooks = [list(group) for _, group in groupby(rows, key=lambda r: r.file)]
    used = [name for name in LEFT_OPEN if any(row.sandbox == name for row in rows)]
    checked = f"Every check was made again with the seed {seed}."
    return page(
        "kafkalab: grades",
        element("h1", "Grades"),
        element("p", f"{len(notebooks)} files, {_points(rows)} points in all. {checked}"),
        each("p", (f"Sandbox: {name}. {LEFT_OPEN[name]}" for name in used)),
        _class_summary(rows),
        table(("student", "lab", POINTS, "the notebook"), map(_summary, count(1), notebooks)),
        *map(_details, count(1), notebooks),
    )


def _class_summary(rows: Sequence[Row]) -> Markup:
    """Return the table of exercises and misconceptions; nothing if no exercise was graded."""
    lines = summarise(rows)
    if not lines:
        return Markup()
    numbers = (heading(name, "number") for name in ("learners", "right", "wrong"))
    cells = (
        (x.exercise, *(cell(number, "number") for number in (x.learners, x.right, x.holders)), x.belief, x.helps)
        for x in lines
    )
    said = "What the class believes: a line for each misconception that wrong answers show"
    return table(("exercise", *numbers, "they believe", "what helps"), cells, said)


def _summary(number: int, group: Sequence[Row]) -> Iterable[str]:
    first = group[0]
    student = cell(element("a", first.student, href=f"#n{number}"))
    return student, first.lab or first.file, cell(_points(group), "number"), first.notebook


def _details(number: int, group: Sequence[Row]) -> Markup:
    first = group[0]
    head = (
        element("h2", f"{first.student}: {first.lab or 'no lab'}", id=f"n{number}"),
        element("p", f"{first.file}: {first.notebook}.", class_="" if first.notebook == "it ran to the end" else "odd"),
    )
    lines = ((
        r.exercise,
        cell(SIGNS[r.result], r.result.split()[0]),
        cell(f"{r.points:g} of {r.of:g}", "number"),
        cell(join([element("pre", r.reason), _link_to_run(r)])),
    ) for r in group)  # fmt: skip
    return join([*head, table(("exercise", "result", POINTS, "reason"), lines) if first.exercise else ""])


def _link_to_run(row: Row) -> Markup | str:
    return element("p", element("a", "Open the run that shows it", href=row.run)) if row.run else ""


class Pages:
    """The folder beside a report with the pages of counterexamples; each page is written once."""

    def __init__(self, report: Path) -> None:
        self._folder = report.with_name(f"{report.stem}_runs")

    def keep(self, page: str) -> str:
        """Write a page; return its address, as seen from the report."""
        self._folder.mkdir(exist_ok=True)
        name = f"{sha256(page.encode()).hexdigest()[:16]}.html"
        (self._folder / name).write_text(page, encoding="utf-8")
        return f"{quote(self._folder.name)}/{name}"


def _points(rows: Sequence[Row]) -> str:
    return f"{sum(r.points for r in rows):g} of {sum(r.of for r in rows):g}"
