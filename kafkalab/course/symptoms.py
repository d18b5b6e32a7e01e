"""docs/symptoms.md: from what an operator sees to its cause, to what to do, and to the lab cell that shows it.

symptoms.toml names the symptoms; cells, commands, errors and bugs are looked up in the notebooks and the atlas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from kafkalab.course.labs import COURSE
from kafkalab.course.symptom_list import SYMPTOMS, Symptom
from kafkalab.grading.builder import FIGURE, LABS, SOLUTIONS, landings_in, read
from kafkalab.grading.landing import anchor_in_notebook, follow_headings, land_text
from kafkalab.protocol.errors import Error
from kafkalab.reference.bug import anchor_of
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING
from kafkalab.reference.error_guide import GUIDE

PAGE = Path("docs") / "symptoms.md"
PRODUCTION = "production"
"""The cell of each lab that names commands, logs and metrics."""


@cache
def _notebook(root: Path, lab: int) -> dict[str, Any]:
    return read(root / SOLUTIONS / f"{_name(lab)}.ipynb")


def _name(lab: int) -> str:
    return next(one.name for one in COURSE if one.number == lab)


def _text(root: Path, lab: int, cell: str) -> str:
    """The cell's text; ValueError if the lab has no such cell."""
    for found in _notebook(root, lab)["cells"]:
        if found["id"] == cell:
            return "".join(found["source"])
    raise ValueError(f"lab {lab} has no cell {cell}")


def heading(root: Path, lab: int, cell: str) -> str:
    """Return the last heading at or before the cell. ValueError if the lab has no such cell."""
    for found, last in follow_headings(_notebook(root, lab)["cells"], ""):
        if found["id"] == cell:
            return last
    raise ValueError(f"lab {lab} has no cell {cell}")


def command(root: Path, symptom: Symptom) -> str:
    """Return the command with its tool: from the lab's production cell, else from the error guide.

    ValueError if neither names it.
    """
    for found in _commands(root, symptom.lab):
        if found.startswith(symptom.command):
            short = found.removeprefix("kafka-transactions.sh ... ")
            whole = short == found and short.split()[0].endswith((".sh", "kafkalab"))
            return short if whole else f"kafka-transactions.sh --bootstrap-server host:9092 {short}"
    raise ValueError(f"neither lab {symptom.lab} nor the error guide names a command {symptom.command!r}")


def _commands(root: Path, lab: int | None) -> Iterator[str]:
    """Yield what the lab's production cell has in backticks, and then the commands of the error guide."""
    if lab is not None:
        yield from re.findall(r"`([^`]+)`", _text(root, lab, PRODUCTION))
    yield from (guide.command for guide in GUIDE.values())


def shows(root: Path, error: Error) -> Iterator[tuple[int, str]]:
    """Yield the labs in which a text or a printed output names this error, each with the first heading where it is.

    The text twin of a picture does not count: it lists errors that nobody met.
    """
    for lab in COURSE:
        if not (root / SOLUTIONS / f"{lab.name}.ipynb").exists():
            continue
        for cell in _notebook(root, lab.number)["cells"]:
            if "grade_id" in cell["metadata"].get("nbgrader", {}):
                continue
            printed = (o for o in cell.get("outputs", []) if FIGURE not in o.get("data", {}))
            outputs = ("".join(o.get("text", o.get("data", {}).get("text/plain", ""))) for o in printed)
            if error.name in "".join([*cell["source"], *outputs]):
                yield lab.number, heading(root, lab.number, cell["id"])
                break


TOP = """\
# From a symptom to its cause

For people on call. Search this page for the exception, the log line or the metric that you see. Each symptom says what
it is, what to check first, and what to do. Its link leads to a lab cell that makes the symptom on purpose, step by
step; where no cell does, the symptom says so. "Do" holds for all clients unless librdkafka has a line of its own.
Replace `host:9092`, topics and ids by yours. What each error means is in the [error atlas](errors.md). Of logs and of
what Kafka's tools printed, [`kafkalab diagnose`](diagnose.md) says which symptom it is; paste them into the
[incident room](../labs/95_incident_room.ipynb). Written by `kafkalab build-labs` from
`kafkalab/course/symptoms.toml`, the labs and the list of [bugs](bugs.md).
"""


def page(root: Path) -> str:
    """Return the page. ValueError for a symptom whose cell, command or bug is not there."""
    parts = [TOP, _index(), *(_section(root, one) for one in SYMPTOMS), _by_error(root)]
    return land_text("\n".join(parts), landings_in(root))


def _index() -> str:
    """Return the table of all symptoms, a line for each part."""
    lines = ["| part | what you see |", "|:--|:--|"]
    for part, symptoms in groupby(SYMPTOMS, key=lambda one: one.part):
        links = " · ".join(f"[{one.seen}](#{anchor_of(one.seen)})" for one in symptoms)
        lines.append(f"| {part} | {links} |")
    return "\n".join([*lines, ""])


def _by_error(root: Path) -> str:
    """Return the table of the errors that labs name, and the list of the others."""
    lines = ["## By error", "", "| error | what to do | named in |", "|:--|:--|:--|"]
    elsewhere = []
    for error, meaning in MEANING.items():
        labs = ", ".join(f"[lab {n}, {title}]({_target(n, title)})" for n, title in shows(root, error))
        named = f"[{error.name}]({_anchor(error)})"
        if labs:
            lines.append(f"| {named} | {meaning} | {labs} |")
        else:
            elsewhere.append(named)
    return "\n".join([*lines, "", f"In the atlas only: {', '.join(elsewhere)}.", ""])


def _section(root: Path, one: Symptom) -> str:
    """Return a symptom's heading and its list."""
    also = [one.also] if one.also else []
    also += [f"[{name}]({_anchor(Error[name])})" for name in one.errors]
    rows = [
        f"Other words: {', '.join(also)}\n" if also else "",
        f"* **It is:** {one.means}",
        f"* **Check first:** {one.check}",
        f"* **Do{', in Java' if one.librdkafka else ''}:** {one.do}",
        f"* **Do, in librdkafka:** {one.librdkafka}" if one.librdkafka else "",
        f"* **Command:** `{command(root, one)}`",
        f"* **Shown in:** {_link_to_cell(root, one)}",
        *(f"* **Bug:** {_bug(number)}" for number in one.bugs),
    ]
    return "\n".join([f"## {one.seen}", "", *filter(None, rows), ""])


def _link_to_cell(root: Path, one: Symptom) -> str:
    """Return the link to the cell; before it what no cell shows, with the stored runs of the errors if no lab is near.

    ValueError for a symptom with neither a cell nor a word that there is none.
    """
    if one.lab is not None:
        title = heading(root, one.lab, one.cell)
        link = f"[lab {one.lab}, {title}]({_target(one.lab, title)})"
        return f"{one.unshown}: {link}" if one.unshown else link
    if not one.unshown:
        raise ValueError(f"{one.seen!r} has no cell and does not say so")
    runs = ", ".join(f"[{name}](../data/errors/{name}.klab)" for name in one.errors)
    return f"{one.unshown}; stored runs of [lab 92](../{LABS}/92_errors.ipynb) do: {runs}" if runs else one.unshown


def _bug(number: str) -> str:
    """Return the bug, linked, and its cure with the fixed versions. ValueError for a number that is not in the list."""
    for bug in BUGS:
        if bug.number == number:
            return f"{bug.link}: {bug.cure}"
    raise ValueError(f"kafkalab/reference/bug_list.py has no {number}")


def _anchor(error: Error) -> str:
    return f"errors.md#{error.name.lower()}-{error.code}"


def _target(lab: int, title: str) -> str:
    return f"../{LABS}/{_name(lab)}.ipynb#{anchor_in_notebook(title)}"
