"""The page of `kafkalab audit --html`: picture, table and first findings, in one file that needs no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import BY_NAME
from kafkalab.palette import declare_variables

if TYPE_CHECKING:
    from kafkalab.spark.audits.summary import Summary

STYLE = """
:root { color-scheme: light dark }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--fg); background: var(--bg) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } p, caption { color: var(--dim); text-align: left }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--rule) }
td.number { text-align: right; font-variant-numeric: tabular-nums } .violated, .forbidden { color: var(--red) }
svg { max-width: 100%; height: auto }
"""


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
            r.verdict,
            f"{r.examined:,}",
            ", ".join(f"{n:,} {p}" for p, n in r.findings),
        )
        for r in summary.rows
    )
    found = ((f["run"], f["anomaly"], f["policy"], f["text"], _steps(f["steps"])) for f in findings)
    total = sum(row.found for row in summary.rows)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>Audit of {escape(source)}</title><style>{declare_variables(':root')}{STYLE}</style></head><body>",
            f"<h1>{said}: {escape(source)}</h1><p>{escape(summary.words)}</p>",
            f'<div class="wide">{summary.svg()}</div>',
            "<h2>Verdicts</h2>",
            _table(("anomaly", "meaning", "verdict", "examined", "findings"), verdicts, "unknown: nothing to examine"),
            "<h2>Findings</h2>",
            _table(("run", "anomaly", "policy", "what", "steps"), found, f"{len(findings)} of {total:,}"),
            "</body></html>\n",
        ]
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]], caption: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "\n".join(
        f"<tr>{''.join(_cell(name, value) for name, value in zip(names, row, strict=True))}</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(name: str, value: Any) -> str:
    kind = "number" if name in ("run", "examined") else str(value) if name in ("verdict", "policy") else ""
    return f"<td{f' class={kind!r}' if kind else ''}>{escape(str(value))}</td>"


def _steps(steps: Sequence[int] | None) -> str:
    shown = list(steps or ())
    return ", ".join(map(str, shown[:8])) + (" …" if len(shown) > 8 else "")
