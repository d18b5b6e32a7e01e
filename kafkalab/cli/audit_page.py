"""The page of `kafkalab audit --html`: picture, table and first findings, in one file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import BY_NAME
from kafkalab.markup import Markup, cell, element, heading, page, table

if TYPE_CHECKING:
    from kafkalab.spark.audits.summary import Summary


def page_of(summary: Summary, source: str, findings: Sequence[Any]) -> str:
    """HTML with no link to anything outside; `findings` are those that are listed, in their order."""
    violated = summary.violated
    said = (
        f"{len(violated)} guarantee{'s were' if len(violated) > 1 else ' was'} broken" if violated else "Nothing broken"
    )
    verdicts = (
        (
            r.anomaly,
            BY_NAME[r.anomaly].meaning,
            cell(r.verdict, r.verdict),
            cell(f"{r.examined:,}", "number"),
            ", ".join(f"{n:,} {p}" for p, n in r.findings),
        )
        for r in summary.rows
    )
    found = (
        (
            cell(f["run"], "number"),
            f["anomaly"],
            cell(f["policy"], f["policy"]),
            f["text"],
            _steps(f["steps"]),
        )
        for f in findings
    )
    total = sum(row.found for row in summary.rows)
    names = ("anomaly", "meaning", "verdict", heading("examined", "number"), "findings")
    return page(
        f"Audit of {source}",
        element("h1", f"{said}: {source}"),
        element("p", summary.words),
        element("div", Markup(summary.svg()), class_="wide"),
        element("h2", "Verdicts"),
        table(names, verdicts, "unknown: nothing to examine"),
        element("h2", "Findings"),
        table(("run", "anomaly", "policy", "what", "steps"), found, f"{len(findings)} of {total:,}"),
    )


def _steps(steps: Sequence[int] | None) -> str:
    shown = list(steps or ())
    return ", ".join(map(str, shown[:8])) + (" …" if len(shown) > 8 else "")
