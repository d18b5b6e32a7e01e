"""The registry of all checks, in the order of the list of anomalies, and the report of a history."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from kafkalab.checks.check import VIOLATED, Check, Finding, Result
from kafkalab.checks.view import view_of
from kafkalab.history.history import History

MODULES = (
    "inconsistent_offsets", "g1a", "precommitted_read", "lost_write", "unseen", "duplicate", "order_of_polls",
    "nonmonotonic_send", "int_send_skip", "g0", "g1c", "torn_transaction", "partial_visibility",
    "zombie_write", "hanging_transaction", "offset_output_split", "sequence_gap", "lso_regression",
    "markers_and_decisions", "exactly_once"
)  # fmt: skip
"""The modules of this folder that have checks, in the order of the list of anomalies."""

CHECKS: tuple[Check, ...] = tuple(
    found
    for name in MODULES
    for found in vars(import_module(f"kafkalab.checks.{name}")).values()
    if isinstance(found, Check)
)
BY_NAME = {check.name: check for check in CHECKS}


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all checks on one history; `str(report)` is a table."""

    results: tuple[Result, ...]

    def __getitem__(self, name: str) -> Result:
        """The result of one check. KeyError, naming those that there are, for an unknown one."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(f"no check {name!r}; there are {', '.join(BY_NAME)}")

    @property
    def violated(self) -> tuple[str, ...]:
        """The anomalies that are there and forbidden."""
        return tuple(r.name for r in self.results if r.verdict == VIOLATED)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the allowed ones too."""
        return tuple(f for r in self.results for f in r.findings)

    def __str__(self) -> str:
        rows = [("anomaly", "policy", "verdict", "examined", "findings")]
        rows += [(r.name, r.policy, r.verdict, str(r.examined), str(len(r.findings))) for r in self.results]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lacking = [f"  unknown {r.name}: the history lacks {', '.join(r.missing)}" for r in self.results if r.missing]
        details = [f"  {f.policy} {f.anomaly}: {f.text} (steps {_list(f.steps)})" for f in self.findings]
        return "\n".join([*table, *lacking, *details])


def check_all(history: History) -> Report:
    """The report of all checks; the view is derived once."""
    view = view_of(history)
    return Report(tuple(check(view) for check in CHECKS))


def _list(steps: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, steps[:8]))
    return f"{shown} …" if len(steps) > 8 else shown or "none"
