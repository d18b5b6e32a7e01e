"""A learner at work in JupyterLab: runs cells, writes answers, reads what the checks say, opens counterexamples."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from kafkalab.grading.builder import SOLUTIONS, is_check, read
from tests.browser.conftest import Jupyter

ROOT = Path(__file__).parents[2]
SHOTS = Path(__file__).parent / "screenshots"
RAN = re.compile(r"^\[\d+\]:$")
WHOLE_LAB_MS, CELL_MS = 300_000, 120_000
"""Patience, not a goal: a lab takes seconds, and lab 12 one or two minutes, where nobody else computes."""
SOLUTION = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION\n?", re.M)


def choose_theme(jupyter: Jupyter, page: Page, name: str) -> None:
    """From the next page on JupyterLab has these colours, "Light" or "Dark"."""
    address = f"{jupyter.address}lab/api/settings/@jupyterlab/apputils-extension:themes"
    headers = {"Authorization": f"token {jupyter.token}"}
    raw = json.dumps({"theme": f"JupyterLab {name}"})
    assert page.request.put(address, headers=headers, data={"raw": raw}).ok


def choose(page: Page, menu: str, entry: str | re.Pattern[str]) -> None:
    """An entry of JupyterLab's menu has been chosen."""
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.get_by_role("menuitem", name=entry, exact=True).click()


def complaints(page: Page) -> list[str]:
    """Return what cells have written to stderr, which is where a notebook shows an error, too."""
    return page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]').all_inner_texts()


@dataclass(slots=True)
class Desk:
    """A lab in the browser. `added` counts, for each place in the notebook, the cells that the learner has put in."""

    page: Page
    name: str
    theme: str
    added: dict[int, int] = field(default_factory=dict)

    @property
    def cells(self) -> list[dict[str, object]]:
        """The cells as they are in the file."""
        return list(read(ROOT / SOLUTIONS / f"{self.name}.ipynb")["cells"])

    def at(self, place: int) -> Locator:
        """The cell on the page that stands at this place in the file."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(
            place + sum(n for p, n in self.added.items() if p < place)
        )

    def place(self, cell_id: str) -> int:
        return next(i for i, cell in enumerate(self.cells) if cell["id"] == cell_id)

    def source(self, cell_id: str) -> str:
        """Return what stands in a cell of the solution, without its marks."""
        return SOLUTION.sub("", "".join(self.cells[self.place(cell_id)]["source"]))  # type: ignore[arg-type]

    def exercises(self) -> list[tuple[str, str]]:
        """The ids of each answer's cell and of its check's."""
        checks = [str(cell["id"]) for cell in self.cells if is_check(cell)]
        return [(check.replace("-check", "-answer"), check) for check in checks]

    def run_all(self) -> None:
        """Every cell has been run from the menu, and the last of them has ended."""
        choose(self.page, "Run", "Run All Cells")
        last = max(i for i, cell in enumerate(self.cells) if cell["cell_type"] == "code")
        ended = self.at(last).locator(".jp-InputPrompt").first
        try:
            expect(ended).to_have_text(RAN, timeout=WHOLE_LAB_MS)
        except AssertionError as error:
            raise AssertionError(complaints(self.page)) from error

    def run(self, cell: Locator) -> Locator:
        """The cell, in which the cursor is, has been run again; its output."""
        prompt = cell.locator(".jp-InputPrompt").first
        before = prompt.text_content() or ""
        self.page.keyboard.press("Control+Enter")
        expect(prompt).not_to_have_text(before, timeout=CELL_MS)
        expect(prompt).to_have_text(RAN, timeout=CELL_MS)
        return cell.locator(".jp-Cell-outputWrapper")

    def write(self, cell_id: str, text: str) -> str:
        """The cell holds this text now and has been run; what it says."""
        cell = self.at(self.place(cell_id))
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        return self.run(cell).inner_text()

    def run_check(self, cell_id: str) -> str:
        """The check has been run; its words, in one line."""
        cell = self.at(self.place(cell_id))
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        return " ".join(self.run(cell).inner_text().split())

    def cell_below(self, cell_id: str, text: str) -> Locator:
        """A cell of the learner's own, below this one, has been run; the whole cell."""
        place = self.place(cell_id)
        self.at(place).locator(".cm-content").click()
        for key in ("Escape", "b", "Enter"):
            self.page.keyboard.press(key)
        self.added[place] = self.added.get(place, 0) + 1
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(self._index(place) + 1)
        expect(cell).to_have_class(re.compile("jp-mod-active"))
        self.page.keyboard.insert_text(text)
        self.run(cell)
        return cell

    def _index(self, place: int) -> int:
        return place + sum(n for p, n in self.added.items() if p < place)

    def shot(self, what: str, of: Locator | None = None) -> None:
        """The screen, with this cell in view, kept for people to look at, if KAFKALAB_SHOTS is set."""
        if not os.environ.get("KAFKALAB_SHOTS"):
            return
        SHOTS.mkdir(exist_ok=True)
        if of is not None:
            of.evaluate("element => element.scrollIntoView({block: 'center'})")
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=SHOTS / f"worked_{self.name[:2]}_{self.theme.lower()}_{what}.png")
