"""The summary of audits of histories: a table, verdicts, findings as a DataFrame, and a picture with its words."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from kafkalab.checks.check import ALLOWED, FORBIDDEN, OK, REPORTED, UNKNOWN, VIOLATED
from kafkalab.palette import AMBER, BLUE, DARK, DIM, GREEN, RED, RULE, WHITE

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

CHECKS, KEY_PASS = "checks", "key pass"
WAYS = {
    CHECKS: "run by run, by the Python checks in Spark's tasks",
    KEY_PASS: "by passes over keys, clients and inputs in Spark's tasks",
}
"""The ways to audit, in words."""

LOOK = {OK: (GREEN, "✓"), VIOLATED: (RED, "✗"), UNKNOWN: (DIM, "?")}
BAR = {FORBIDDEN: RED, ALLOWED: AMBER, REPORTED: BLUE, UNKNOWN: DIM}
LINE, LEFT, WIDTH, TOP = 22, 16, 760, 44
VERDICT, LETTERS = 238, 108
"""The column where the verdicts begin; the letters of a line that is as wide as the picture."""
FAMILY = "system-ui, -apple-system, Segoe UI, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """The result of one audit: the number of its findings by policy; and the needed tables that a history lacks."""

    anomaly: str
    policy: str
    verdict: str
    examined: int
    findings: tuple[tuple[str, int], ...]
    missing: tuple[str, ...] = ()

    @property
    def found(self) -> int:
        """All findings, the allowed ones too."""
        return sum(number for _, number in self.findings)


@dataclass(slots=True, kw_only=True, eq=False)
class Summary:
    """The audits' answer. Two Spark DataFrames are there as long as this is.

    `findings` has the columns of `storage.findings.FIELDS`; `examined` says for each run and anomaly how many things
    were looked at: run, anomaly, examined. `way` says how that was done, in a word of WAYS.
    """

    rows: list[AuditRow]
    findings: DataFrame
    examined: DataFrame
    seconds: float
    way: str
    store: Any = None

    @property
    def verdicts(self) -> dict[str, str]:
        """ok, violated or unknown, by the anomaly's name."""
        return {row.anomaly: row.verdict for row in self.rows}

    @property
    def violated(self) -> tuple[str, ...]:
        """The anomalies that are there and forbidden."""
        return tuple(row.anomaly for row in self.rows if row.verdict == VIOLATED)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each audit: anomaly, policy, verdict, examined, findings, forbidden (how many of them are)."""
        import pandas as pd

        names = ["anomaly", "policy", "verdict", "examined", "findings", "forbidden"]
        cells = [
            (r.anomaly, r.policy, r.verdict, r.examined, r.found, dict(r.findings).get(FORBIDDEN, 0)) for r in self.rows
        ]
        return pd.DataFrame(cells, columns=names)

    @property
    def words(self) -> str:
        """The picture in a sentence or two."""
        counts = [f"{sum(r.verdict == name for r in self.rows)} {name}" for name in LOOK]
        said = f"{len(self.rows)} audits: {', '.join(counts)}."
        wrong = [f"{r.anomaly} ({dict(r.findings)[FORBIDDEN]})" for r in self.rows if r.verdict == VIOLATED]
        return f"{said} Forbidden findings: {', '.join(wrong)}." if wrong else f"{said} No forbidden finding."

    def __str__(self) -> str:
        cells = [("anomaly", "policy", "verdict", "examined", "findings")]
        cells += [(r.anomaly, r.policy, r.verdict, f"{r.examined:,}", _by_policy(r)) for r in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(5)]
        layout = "  ".join(f"{{:{'>' if i == 3 else '<'}{width}}}" for i, width in enumerate(widths))
        lines = [layout.format(*row).rstrip() for row in cells]
        lacking = [f"{r.anomaly}: a history lacks {', '.join(r.missing)}" for r in self.rows if r.missing]
        return "\n".join([*lines, "", *lacking, self.words, f"Audited {WAYS[self.way]}."])

    def svg(self) -> str:
        """The table as a picture on white with literal colours; the bars' lengths are logarithms of the numbers."""
        told = wrap(self.words, LETTERS, break_on_hyphens=False)
        height = TOP + LINE * len(self.rows) + 16 + 18 * len(told)
        most = max((row.found for row in self.rows), default=1)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'font-family="{FAMILY}" font-size="13">',
            f"<title>Audit summary</title><desc>{escape(self.words)}</desc>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{WHITE}" stroke="{RULE}"/>',
            _text(LEFT, 26, "anomaly", DIM),
            _text(VERDICT, 26, "verdict", DIM),
            _text(430, 26, "examined", DIM, anchor="end"),
            _text(450, 26, "findings:", DIM),
            *(_text(520 + 78 * i, 26, policy, colour) for i, (policy, colour) in enumerate(BAR.items())),
        ]
        for place, row in enumerate(self.rows):
            parts += _line(row, TOP + LINE * place, most)
        parts += [
            *(_text(LEFT, height - 14 - 18 * i, line, DIM) for i, line in enumerate(reversed(told))),
            "</svg>",
        ]
        return "\n".join(parts)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}


def _line(row: AuditRow, y: int, most: int) -> list[str]:
    colour, sign = LOOK[row.verdict]
    parts = [
        f'<line x1="{LEFT}" x2="{WIDTH - LEFT}" y1="{y - 8}" y2="{y - 8}" stroke="{RULE}" stroke-width="0.6"/>',
        _text(LEFT, y + 8, row.anomaly, DARK),
        _text(VERDICT, y + 8, f"{sign} {row.verdict}", colour, bold=row.verdict == VIOLATED),
        _text(430, y + 8, f"{row.examined:,}", DIM, anchor="end"),
    ]
    x = 450.0
    for policy, number in row.findings:
        width = 3 + 90 * number.bit_length() / max(most.bit_length(), 1)
        parts.append(f'<rect x="{x:g}" y="{y - 3}" width="{width:.1f}" height="13" rx="2" fill="{BAR[policy]}"/>')
        parts.append(_text(x + width + 4, y + 8, f"{number:,}", DARK))
        x += width + 14 + 8 * len(f"{number:,}")
    return parts


def _text(x: float, y: float, text: str, colour: str, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _by_policy(row: AuditRow) -> str:
    return ", ".join(f"{number:,} {policy}" for policy, number in row.findings) or "0"
