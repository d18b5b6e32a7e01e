"""Run every solved lab but Spark's in the built site, and print what became of its cells, with times.

`make site`, then `python -m tests.site [--isolated] [FIRST LETTERS OF LABS]`. With --isolated each is opened after the
site's first page, so that page and Python share memory; else by its link alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Error, sync_playwright

from kafkalab.grading.builder import SOLUTIONS
from kafkalab.grading.sheet import sheet
from kafkalab.site.build import SITE
from kafkalab.site.notebooks import NEEDS_MORE
from tests.browser.conftest import CHROMIUM_ARGS
from tests.programs_found import find_program
from tests.site.lite import ROOT, Way, differences, lab, serve_solutions

NAMES = [p.stem for p in sorted((ROOT / SOLUTIONS).glob("[0-9]*.ipynb")) if p.stem not in NEEDS_MORE]
"""The labs that run in a browser."""
HEAD = (
    "| lab | shown s | ready s | run s | cells | errors | solved | other outputs | elsewhere | load |\n"
    "|:--|--:|--:|--:|--:|--:|--:|:--|--:|--:|"
)
NO_SOCKETS = "a browser opens no sockets"
SAID_THERE = {
    ("09_torn_transaction", "live"): NO_SOCKETS,
    ("09_torn_transaction", "e4-live"): NO_SOCKETS,
    ("10_consume_transform_produce", "e4-live"): NO_SOCKETS,
    ("10_consume_transform_produce", "e4-lost-live"): NO_SOCKETS,
}
"""By lab and cell, what a browser adds on stderr because it should: the result is the recording's, and it says so."""


def _as_said(name: str, cell: str, want: list[dict[str, Any]], got: list[dict[str, Any]]) -> bool:
    """Return True if the browser's outputs are the file's, but for the sentence that the cell has to say there."""
    says = SAID_THERE.get((name, cell))
    told = [one["text"] for one in got if one.get("name") == "stderr"]
    return says is not None and says in "".join(told) and [one for one in got if one.get("name") != "stderr"] == want


def row(browser: Browser, address: str, name: str, way: Way = "link") -> tuple[str, bool]:
    """Run one lab in a browser that has never seen the site; return its row, and whether all went well.

    All its exercises must be solved in the progress that the browser keeps.
    """
    graded = sheet(ROOT)
    checks = {one.exercise for one in graded[name].checks} if name in graded else set()
    with lab(browser, address, name) as opened:
        opened.open(way)
        took = opened.run_all()
        code = [cell for cell in opened.save()["cells"] if cell["cell_type"] == "code"]
        ran = sum(bool(cell["execution_count"]) for cell in code)
        failed = sum(output["output_type"] == "error" for cell in code for output in cell["outputs"])
        passed = opened.read_solved() if checks else set()
        found = differences(opened.cells, code)
        differ = {cell for cell, (want, got) in found.items() if not _as_said(name, cell, want, got)}
        times = f"{opened.shown_s:.1f} | {opened.ready_s:.1f} | {took:.1f}"
        solved = f"{len(passed & checks)} of {len(checks)}"
        seen = f"{ran} of {len(code)} | {failed} | {solved} | {', '.join(sorted(differ)) or 'none'}"
        well = ran == len(code) and not (failed or differ or opened.elsewhere or opened.errors) and passed == checks
        line = f"| {name} | {times} | {seen} | {len(opened.elsewhere)} | {os.getloadavg()[0]:.1f} |"
        return "\n".join([line, *opened.errors]), well


def rows(beginnings: list[str], way: Way) -> Iterator[tuple[str, bool]]:
    """Yield what `row` returns for each lab whose name begins so; for all of them where nothing is named."""
    with serve_solutions(ROOT / SITE) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("browser"), args=CHROMIUM_ARGS)
        for name in NAMES:
            if not beginnings or name.startswith(tuple(beginnings)):
                try:
                    yield row(browser, address, name, way)
                except (AssertionError, Error) as error:
                    yield f"| {name} | failed: {str(error).splitlines()[0]} |", False
        browser.close()


def main(arguments: list[str]) -> int:
    """Print the table; return 1 if a lab failed."""
    if not (ROOT / SITE / "index.html").is_file():
        print("There is no site yet: run `make site`.", file=sys.stderr)
        return 2
    print(HEAD, flush=True)
    failed = False
    beginnings = [one for one in arguments if one != "--isolated"]
    for line, well in rows(beginnings, "first page" if "--isolated" in arguments else "link"):
        print(line, flush=True)
        failed |= not well
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
