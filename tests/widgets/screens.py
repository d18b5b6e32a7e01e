"""What stands on the screen of a view, in the words of its text twin, and the two compared."""

from __future__ import annotations

import difflib
from typing import Any

from playwright.sync_api import Page

from kafkalab.widgets.view import View
from tests.widgets.harness import show

HIDDEN = ("journey", "size", "layout", "tabbable", "tooltip")
HEAD = """(root) => {
  const text = (name) => root.querySelector(name).textContent;
  return [text(".where"), text(".now")];
}"""
BODY = {
    "log-tape": """(root) => [...root.querySelectorAll("[data-partition]")].flatMap((tape) => {
      const lines = [], { partition } = tape.dataset, labels = [...tape.querySelectorAll("[data-replica]")];
      labels.forEach((label, i) => {
        const [name, told] = [label.querySelector("b").textContent, label.querySelector("small").textContent.split(" · ")];
        const [start, lso, hw, end] = label.dataset.marks.split(" "), here = !i && tape.matches(".here") ? "> " : "";
        const cells = [...tape.querySelectorAll(`.cell[data-node="${label.dataset.replica}"]`)];
        lines.push(`${here}${partition} on ${i ? name : told[0]} (${i ? told[0] : told[1]}): log start ${start}, LSO ${lso}, HW ${hw}, end ${end}`);
        lines.push(...cells.map((cell) => `    [${cell.ariaLabel}]`), ...(cells.length ? [] : ["    empty"]));
        if (i) return;
        for (const level of tape.querySelectorAll("[data-level]")) lines.push(`    ${level.dataset.level} ${level.dataset.reading}`);
      });
      const about = tape.matches(".here") && root.querySelector(".inspector[data-chosen]");
      if (!about) return lines;
      lines.push(`  batch ${tape.querySelector(".chosen").ariaLabel}`);
      for (const row of about.querySelectorAll("[data-field]")) lines.push(`    ${row.cells[0].textContent} = ${row.cells[1].textContent}. ${row.cells[2].textContent}`);
      for (const row of about.querySelectorAll("[data-record]")) {
        const fields = [...row.cells[2].querySelectorAll("span")].map((span) => span.textContent);
        lines.push(`    offset ${row.cells[0].textContent}, key ${row.cells[1].textContent}: ${fields.length ? fields.join(", ") : row.cells[2].textContent}`);
      }
      return lines;
    })""",
    "state-chart": """(root) => {
      const subject = root.querySelector("[data-subject]"), lines = [root.querySelector(".title").textContent];
      if (!subject) return [...lines, `  ${root.querySelector(".subject .big").textContent}`];
      const [big, meaning, facts, via] = [...subject.children].map((p) => p.textContent.trim()), { state } = subject.dataset;
      const name = subject.dataset.subject, pending = big.slice(name.length + 1 + state.length).trim();
      lines.push(`  ${name}: ${state}${pending ? ` ${pending}` : ""}`, `  ${meaning}`, `  ${facts}`, ...(via ? [`  ${via}`] : []));
      for (const row of root.querySelectorAll("[data-ask]")) {
        const chosen = row.ariaSelected === "true", [, ask, answer, to] = [...row.cells].map((cell) => cell.textContent);
        lines.push(`  ${chosen ? "> " : "  "}${ask} | ${answer} | ${to}`, ...(chosen && row.title ? [`      ${row.title}`] : []));
      }
      return lines;
    }""",
    "cluster-map": """(root) => {
      const all = (name, read) => [...root.querySelectorAll(name)].map(read), { flying } = root.dataset;
      return [
        ...all("[data-node]", (e) => `${e.ariaCurrent ? "> " : "  "}${e.dataset.words}`),
        ...all("[data-partition]", (e) => `  ${e.dataset.words}`),
        ...all("[data-wall]", (e) => `  cut: ${e.dataset.wall}`),
        ...(flying ? flying.split("\\n").map((words) => `  in flight: ${words}`) : []),
      ];
    }""",
}


def kind_of(view: View) -> type[View]:
    """The view's own class: an instance gets one of its own, without the module's text."""
    return next(c for c in type(view).__mro__ if isinstance(c.__dict__.get("_esm"), str))


def traits_of(view: View) -> dict[str, Any]:
    """The values of the view that the browser is sent."""
    names = [n for n in view.trait_names(sync=True) if not n.startswith("_") and n not in HIDDEN]
    return {name: getattr(view, name) for name in names}


def open_view(page: Page, view: View, **more: Any) -> None:
    """The page shows the view as it is, and it has the keyboard."""
    values = {"hidden": view.hidden, **traits_of(view), **more}
    show(page, view.payload, view.step, tuple(view.groups), kind_of(view), **values)


def lines_of(page: Page, name: str) -> list[str]:
    """The screen in lines, in the words of the text twin."""
    both = f"() => {{ const root = document.querySelector('.klab'); return [...({HEAD})(root), ...({BODY[name]})(root)]; }}"
    lines: list[str] = page.evaluate(both)
    return lines


def agree(page: Page, view: View, name: str) -> None:
    """The screen says, line by line, what the text twin says after the title and the faults."""
    view.step = int(page.evaluate("journey.get('step')"))
    told = view.text().split("\n")[2 if view.payload["faults"] else 1 :]
    seen = lines_of(page, name)
    differing = [line for line in difflib.ndiff(told, seen) if line[0] in "+-"]
    assert seen == told, "\n".join(["the twin (-) and the screen (+) differ:", *differing])


SMALL = """() => [...document.querySelectorAll(".klab *")].filter((e) => {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const scale = e.getScreenCTM?.()?.a ?? 1;
  return own && e.checkVisibility() && !["STYLE", "title", "OPTION"].includes(e.tagName)
    && parseFloat(getComputedStyle(e).fontSize) * scale < 19.95;
}).map((e) => [e.tagName, e.textContent.trim().slice(0, 40), getComputedStyle(e).fontSize])"""


def too_small(page: Page) -> list[Any]:
    """Texts below 20 pixels."""
    found: list[Any] = page.evaluate(SMALL)
    return found


OUTSIDE = """() => [...document.querySelectorAll(".klab button, .klab .now, .klab th, .klab td, .klab p")].filter((e) => {
  const box = e.getBoundingClientRect(), room = document.querySelector(".klab").getBoundingClientRect();
  return e.checkVisibility() && box.width && (box.right > room.right + 1 || box.left < room.left - 1) && !e.closest(".grid");
}).map((e) => e.textContent)"""


def outside(page: Page) -> list[str]:
    """Texts that stand out of the view."""
    found: list[str] = page.evaluate(OUTSIDE)
    return found
