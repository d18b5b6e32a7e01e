"""What stands on the screen of a view, in the words of its text twin, and the two compared."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from kafkalab.widgets.views.view import View
from tests.widgets.harness import show

HIDDEN = ("journey", "parts", "size", "layout", "tabbable", "tooltip")
SCREENS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8").rstrip().removesuffix(";")


def traits_of(view: View) -> dict[str, Any]:
    """The values of the view that the browser is sent."""
    names = [n for n in view.trait_names(sync=True) if not n.startswith("_") and n not in HIDDEN]
    return {name: getattr(view, name) for name in names}


def open_view(page: Page, view: View, **more: Any) -> None:
    """The page shows the view as it is, and it has the keyboard."""
    shared = {name: getattr(view.journey, name) for name in ("hidden", "every", "opened")}
    values = {**shared, **traits_of(view), **more}
    show(page, view.payload, view.step, tuple(view.groups), type(view), **values)


def lines_of(page: Page, name: str) -> list[str]:
    """The screen of the view of this name in lines, in the words of the text twin."""
    root = f"document.querySelector('.klab.{name}')"
    read = f"() => {{ const read = {SCREENS}; return [...read.head({root}), ...read['{name}']({root})]; }}"
    lines: list[str] = page.evaluate(read)
    return lines


def agree(page: Page, view: View, name: str) -> None:
    """The screen says, line by line, what the text twin says after the title and the faults."""
    view.step = int(page.locator(f".klab.{name}").get_attribute("data-step") or 0)
    told = view.text().split("\n")[2 if view.payload["faults"] else 1 :]
    seen = lines_of(page, name)
    differing = [line for line in difflib.ndiff(told, seen) if line[0] in "+-"]
    assert seen == told, "\n".join(["the twin (-) and the screen (+) differ:", *differing])


def too_small(page: Page) -> list[Any]:
    """Texts below 20 pixels."""
    found: list[Any] = page.evaluate(f"() => ({SCREENS}).small()")
    return found


def outside(page: Page) -> list[str]:
    """Texts that stand out of the view."""
    found: list[str] = page.evaluate(f"() => ({SCREENS}).outside()")
    return found
