"""The events of a machine's run as a table, so that a wrong answer can show them."""

from __future__ import annotations

from kafkalab.alternatives.presses import Transfer
from kafkalab.grading.tables import Table
from kafkalab.widgets.payload.alternatives import rows_of

AROUND = 6


def table_of(run: Transfer, step: int, title: str) -> Table:
    """The rows around `step`, the last one up to it marked."""
    rows = rows_of(run)
    at = max((i for i, row in enumerate(rows) if row["step"] <= step), default=0)
    first = max(0, at - AROUND)
    shown = rows[first : at + AROUND]
    ends = "; ".join(f"{name} {state}" for name, state in run.parts.items())
    return Table(
        title=f"{title}. At the end: {ends}; the client: {run.told}.",
        columns=("ms", "what happens"),
        rows=tuple((row["at"], row["text"]) for row in shown),
        at=at - first,
    )
