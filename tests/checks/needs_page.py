"""Write docs/checks-and-tables.md: what each check says where a table of the history is missing.

`python -m tests.checks.needs_page`, in the project's folder, writes the page; test_needs.py compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.checks.needs import LACKS
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

PAGE = Path("docs") / "checks-and-tables.md"
TABLES = ("operations", "log", "reads", "polls", "frames", "transactions", "watermarks", "leaders")
TOP = """\
# Checks and the tables that they need

A check never says "ok" where it cannot know. Each row is a check, each column a table that the history lacks: "unknown"
means that the check needs it, and says so. In the other cells the verdict is that of the whole history, which is the
run of lab 3, read to its end by both isolation levels. A history says by a label `lacks` that a table was never
recorded; an empty table is not missing. `python -m tests.checks.needs_page` writes this page.
"""


def without(history: History, table: str) -> History:
    """Return the history without a table, which it says that it lacks."""
    return replace(history, **{table: ()}, labels=(*history.labels, Label(name=LACKS, value=table)))


def rows() -> Iterator[list[str]]:
    """Yield the cells of each check: its name, its verdict, and its verdict without each of TABLES."""
    cluster = Cluster(Scenario.load(Path("data") / "lab03_answer_lost.klab"))
    cluster.run()
    read_to_the_end(cluster)
    history = history_of(cluster)
    whole, reports = check_all(history), {table: check_all(without(history, table)) for table in TABLES}
    for name in BY_NAME:
        yield [name, whole[name].verdict, *(reports[table][name].verdict for table in TABLES)]


def page() -> str:
    """Return the page."""
    head = ["check", "with all", *TABLES]
    lines = [TOP, f"| {' | '.join(head)} |", f"|---|{':-:|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
