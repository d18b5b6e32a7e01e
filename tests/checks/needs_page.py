"""Write docs/checks-and-tables.md: what each check says where a table of the history is missing.

`python -m tests.checks.needs_page`, in the project's folder, writes the page; test_needs.py compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import OK
from kafkalab.checks.view import LACKS
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from tests.checks import test_checks_of_logs as of_logs
from tests.checks import test_checks_of_reads as of_reads
from tests.checks import test_checks_of_sessions as of_sessions
from tests.checks import test_exactly_once as once
from tests.checks.verdicts import build_history

PAGE = Path("docs") / "checks-and-tables.md"
TABLES = ("operations", "log", "reads", "polls", "frames", "transactions", "watermarks", "leaders")
TOP = """\
# Checks and the tables that they need

A check never says "ok" where it cannot know. Each row is a check, each column a table that the history lacks: "unknown"
means that the check needs it, and says so. In the other cells the verdict is that of the whole history, taken from the
tests, in which the check finds nothing wrong. A history says by a label `lacks` that a table was never recorded; an
empty table is not missing. `python -m tests.checks.needs_page` writes this page.
"""


def without(history: History, table: str) -> History:
    """Return the history without a table, which it says that it lacks."""
    return replace(history, **{table: ()}, labels=(*history.labels, Label(name=LACKS, value=table)))


def good_history(name: str) -> History:
    """Return the first history of the tests of which this check says "ok", and has examined something."""
    for module in (of_logs, of_reads, of_sessions, once):
        for check, build, (verdict, _) in module.CASES:
            if (check, verdict) == (name, OK):
                return build_history(build)
    raise LookupError(name)


def rows() -> Iterator[list[str]]:
    """Yield the cells of each check: its name, its verdict, and its verdict without each of TABLES."""
    for name, check in BY_NAME.items():
        history = good_history(name)
        yield [name, check(history).verdict, *(check(without(history, table)).verdict for table in TABLES)]


def page() -> str:
    """Return the page."""
    head = ["check", "with all", *TABLES]
    lines = [TOP, f"| {' | '.join(head)} |", f"|---|{':-:|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
