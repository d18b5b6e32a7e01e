"""The report as one page that needs no other file: findings, their lines, and the log at the deciding place."""

from __future__ import annotations

from typing import Any

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.log_picture import draw_log
from kafkalab.diagnose.nearest.known import Known, open_run
from kafkalab.diagnose.nearest.nearest import CAUTION
from kafkalab.diagnose.report import HALVES, NOTHING, as_data
from kafkalab.limits import list_names
from kafkalab.markup import Markup, cell, element, join, page, table, with_code
from kafkalab.widgets.views.recorded_page import recorded_page

PICTURES = 8
"""Logs that are drawn."""
FRAME = "width:100%;height:46rem;border:1px solid var(--rule)"
CLASSES = {"certain": "wrong", "likely": "not", "unknown": ""}


def page_of(evidence: Evidence, findings: list[Finding]) -> str:
    """Return the page as HTML, with no link to anything outside."""
    data = as_data(evidence, findings)
    title = data["findings"][0]["says"].partition(". ")[0] if data["findings"] else "Nothing that a rule knows"
    drawn = [view for view in evidence.views.values() if view.finished or view.open][:PICTURES]
    logs = [element("div", element("h3", view.partition), draw_log(view), class_="wide") for view in drawn]
    return page(
        "What happened",
        element("h1", title),
        *(map(_finding, data["findings"]) if data["findings"] else [element("p", NOTHING)]),
        _nearest(data["nearest"]),
        *([element("h2", "The logs, as far as the dumps show them"), *logs] if logs else []),
        element("h2", "What was read"),
        table(
            ("file", "lines", "with facts", "of a known form", "unknown"),
            ((row["file"], row["lines"], row["used"], row["passed"], row["unknown"]) for row in data["files"]),
        ),
        *_unknown(data),
    )


def _finding(one: dict[str, Any]) -> Markup:
    mark = f"harmless, {one['certainty']}" if one["harmless"] else one["certainty"]
    colour = "right" if one["harmless"] else CLASSES[one["certainty"]]
    rows = [
        ("end it", one["act"] and element("code", one["act"])),
        ("ask", one["ask"] and element("code", one["ask"])),
        ("check first", with_code(one["check"])),
        ("do, in Java", with_code(one["java"])),
        ("do, in librdkafka", with_code(one["librdkafka"])),
        *(("bug", bug) for bug in one["bugs"]),
        ("rule", one["rule"]),
        ("see", ", ".join(filter(None, [one["lab"], one["symptom"]]))),
    ]
    lines = (
        (f"{proof['file']}:{proof['line']}", proof["says"], element("td", element("code", proof["text"])))
        for proof in one["evidence"]
    )
    return join(
        [
            element("h2", element("span", mark, class_=colour), f" · {one['where']}"),
            element("p", with_code(one["says"])),
            element("p", f"The same: {list_names(one['also'])}") if one["also"] else "",
            table(("line", "shows", "text"), lines),
            table((), ((name, cell(text)) for name, text in rows if text)),
        ]
    )


def _nearest(found: dict[str, Any]) -> Markup:
    """Return what is alike and what differs, and the run itself, opened where it decides."""
    if found["run"] is None:
        return join([element("h2", "No near run"), element("p", found["why"])])
    known = Known(**found["run"])
    rows = ((title, cell(join(element("p", with_code(one)) for one in found[name]))) for title, name in HALVES.items())
    run = recorded_page(open_run(known))
    return join(
        [
            element("h2", f"The nearest run of the lab: {known.title}"),
            element("p", CAUTION),
            table((), rows),
            element("iframe", srcdoc=run, title=known.title, style=FRAME),
        ]
    )


def _unknown(data: dict[str, Any]) -> list[Markup]:
    rows = [(f"{row['file']}:{one['line']}", one["text"]) for row in data["files"] for one in row["samples"]]
    return [table(("line", "text that no reader knew"), rows)] if rows else []
