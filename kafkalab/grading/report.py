"""The report for a teacher: the rows as CSV, and as one HTML page that can be read without anything else."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields
from html import escape
from itertools import groupby

from kafkalab.grading.grade import Row
from kafkalab.grading.sandbox import LEFT_OPEN
from kafkalab.palette import declare_variables

COLUMNS = tuple(f.name for f in fields(Row))
FORMULA = ("=", "+", "-", "@", "\t", "\r")
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: var(--fg); background: var(--bg); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--rule); }
td.points, th.points { text-align: right; white-space: nowrap; }
td.right { color: var(--green); } td.wrong { color: var(--red); } td.not { color: var(--amber); }
pre { margin: 0; white-space: pre-wrap; font: 13px/1.4 ui-monospace, monospace; }
p.note { margin: .2rem 0; } p.odd { margin: .2rem 0; font-weight: 600; }
"""
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
    summary = "".join(_summary(number, group) for number, group in enumerate(notebooks, 1))
    details = "".join(_details(number, group) for number, group in enumerate(notebooks, 1))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>kafkalab: grades</title><style>{declare_variables(':root')}{STYLE}</style></head>\n<body>\n"
        "<h1>Grades</h1>\n"
        f"<p>{len(notebooks)} files, {_points(rows)} points in all. "
        f"Every check was made again with the seed {seed}.</p>\n{_sandboxes(rows)}"
        '<table><thead><tr><th>student</th><th>lab</th><th class="points">points</th><th>the notebook</th></tr></thead>'
        f"<tbody>\n{summary}</tbody></table>\n{details}</body>\n</html>\n"
    )


def _sandboxes(rows: Sequence[Row]) -> str:
    """Say what the notebooks ran in, and what that does not stop."""
    used = [name for name in LEFT_OPEN if any(row.sandbox == name for row in rows)]
    return "".join(f"<p>Sandbox: {escape(name)}. {escape(LEFT_OPEN[name])}</p>\n" for name in used)


def _summary(number: int, group: Sequence[Row]) -> str:
    first = group[0]
    return (
        f'<tr><td><a href="#n{number}">{escape(first.student)}</a></td><td>{escape(first.lab or first.file)}</td>'
        f'<td class="points">{_points(group)}</td><td>{escape(first.notebook)}</td></tr>\n'
    )


def _details(number: int, group: Sequence[Row]) -> str:
    first = group[0]
    odd = "note" if first.notebook == "it ran to the end" else "odd"
    head = f'<h2 id="n{number}">{escape(first.student)}: {escape(first.lab or "no lab")}</h2>\n'
    head += f'<p class="{odd}">{escape(first.file)}: {escape(first.notebook)}.</p>\n'
    if not first.exercise:
        return head
    lines = "".join(
        f'<tr><td>{escape(r.exercise)}</td><td class="{r.result.split()[0]}">{SIGNS[r.result]}</td>'
        f'<td class="points">{r.points:g} of {r.of:g}</td><td><pre>{escape(r.reason)}</pre></td></tr>\n'
        for r in group
    )
    names = '<th>exercise</th><th>result</th><th class="points">points</th><th>reason</th>'
    return f"{head}<table><thead><tr>{names}</tr></thead><tbody>\n{lines}</tbody></table>\n"


def _points(rows: Sequence[Row]) -> str:
    return f"{sum(r.points for r in rows):g} of {sum(r.of for r in rows):g}"
