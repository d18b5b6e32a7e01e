"""A page that holds the widget with a model of its own instead of a kernel's: what is set and sent can be looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from kafkalab.widgets import statechart
from kafkalab.widgets.marks import with_marks

WIDGETS = Path(statechart.__file__).parent
SHOWN = ("transaction", "verification")
MODEL = """
class Model {
  constructor(values) { Object.assign(this, { values, handlers: {}, sent: [], saved: 0 }); }
  get(name) { return this.values[name]; }
  set(name, value) {
    const old = this.values[name];
    this.values[name] = value;
    if (old !== value) this.fire(`change:${name}`);
  }
  on(name, handle) { (this.handlers[name] ??= []).push(handle); }
  off(name, handle) { this.handlers[name] = (this.handlers[name] ?? []).filter((one) => one !== handle); }
  fire(name, ...rest) { for (const handle of this.handlers[name] ?? []) handle(...rest); }
  save_changes() { this.saved += 1; }
  send(message) { this.sent.push(message); }
}
"""
LOOK = """() => {
  const root = document.querySelector(".klab");
  const all = (selector, read) => [...root.querySelectorAll(selector)].map(read);
  const cell = ({ dataset: d }) => [Number(d.batch), d.kind, d.fate];
  const strip = (e) => ({
    partition: e.dataset.partition,
    where: e.querySelector("small").textContent,
    hw: Number(e.querySelector("[data-hw]").textContent),
    lso: Number(e.querySelector("[data-lso]").textContent),
    cells: [...e.querySelectorAll("[data-batch]")].map(cell),
  });
  const state = root.querySelector("[data-txn-state]");
  return {
    ...root.dataset,
    now: root.querySelector(".now").textContent,
    state: state ? state.dataset.txnState : "",
    pending: root.querySelector("[data-txn-pending]")?.dataset.txnPending ?? "",
    active: all(".states .active", (e) => e.id.replace(/^.*-/, "")),
    down: all('[data-life="down"]', (e) => e.dataset.node),
    frames: Object.fromEntries(all("[data-frame]", (e) => [e.dataset.frame, e.dataset.fate])),
    strips: all("[data-partition]", strip),
    focused: root.contains(document.activeElement),
  };
}"""


def page_of(payload: dict[str, Any], step: int, groups: tuple[str, ...] = SHOWN, **values: Any) -> str:
    """The page as HTML. `values` are further values of the model; `ready` is true in it once the widget stands."""
    payload = payload if "marks" in payload else with_marks(payload)
    chart = statechart.committed(payload["profile"].split("/")[-1])
    model = {"payload": payload, "step": step, "groups": list(groups), "size": "laptop", "chart": chart}
    model |= {"can_undo": False, "can_redo": False, **values}
    module = (WIDGETS / "sequence.js").read_text().replace("export default", "const widget =")
    data = json.dumps(model).replace("</", "<\\/")
    return f"""<!doctype html><meta charset="utf-8"><title>kafkalab</title>
    <style>{(WIDGETS / "sequence.css").read_text()}</style><div id="here" style="max-width: 1800px"></div>
    <script type="module">{module}{MODEL}
    window.model = new Model({data});
    window.widget = widget;
    window.close_ = widget.render({{ model, el: document.querySelector("#here") }});
    window.outside = [];
    document.addEventListener("keydown", (event) => window.outside.push(event.key));
    window.ready = true;</script>"""


def show(page: Page, payload: dict[str, Any], step: int, groups: tuple[str, ...] = SHOWN, **values: Any) -> None:
    """The page shows the widget, which has the keyboard."""
    page.set_content(page_of(payload, step, groups, **values))
    page.wait_for_function("window.ready === true")
    page.locator(".klab").focus()


def look(page: Page) -> dict[str, Any]:
    """What stands on the screen, as data."""
    seen: dict[str, Any] = page.evaluate(LOOK)
    return seen
