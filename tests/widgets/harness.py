"""A page that holds a view and its journey with models of their own instead of a kernel's: what is sent is seen."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from kafkalab.widgets.payload.marks import with_marks
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.tour import with_walk
from kafkalab.widgets.views.parts import LOADER, parts_of
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.view import View

ROOT = {"id": 0, "parent": -1, "name": "", "label": "", "at": 0, "landed": 0, "outcome": "committed"}
SHOWN = ("transaction", "verification")
MODEL = """
class Model {
  constructor(values) { Object.assign(this, { values, handlers: {}, sent: [], saved: 0, dirty: {} }); }
  get(name) { return this.values[name]; }
  set(name, value) {
    const old = this.values[name];
    this.values[name] = this.dirty[name] = value;
    if (old !== value) this.fire(`change:${name}`);
  }
  on(name, handle) { (this.handlers[name] ??= []).push(handle); }
  off(name, handle) { this.handlers[name] = (this.handlers[name] ?? []).filter((one) => one !== handle); }
  fire(name, ...rest) { for (const handle of this.handlers[name] ?? []) handle(...rest); }
  save_changes() { this.saved += 1; }
  send(message) { this.sent.push(message); }
}
"""
OPEN = """
window.addressOf = (code) => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
window.openPicture = async (loader, given) => {
  const { default: picture } = await import(addressOf(loader)),
    closed = await picture.render(given),
    common = given.model.widget_manager.get_model("common");
  return { ...(await import(kafkalabParts.get((await common).get("code")))), ...picture, closed };
};
"""
"""Show a picture by the loader that notebooks have; gives the common part's exports, the picture, how to close."""
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
  const state = root.querySelector(".txn.current [data-txn-state]");
  return {
    ...root.dataset,
    now: root.querySelector(".now").textContent,
    state: state ? state.dataset.txnState : "",
    pending: root.querySelector(".txn.current [data-txn-pending]")?.dataset.txnPending ?? "",
    active: all(".states .current .active", (e) => e.id.replace(/^.*-/, "")),
    down: all('[data-life="down"]', (e) => e.dataset.node),
    frames: Object.fromEntries(all("[data-frame]", (e) => [e.dataset.frame, e.dataset.fate])),
    strips: all("[data-partition]", strip),
    focused: root.contains(document.activeElement),
  };
}"""


def bare_actions(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what a kernel would note of a run of which nobody noted it: only which node is down."""
    reasons: dict[str, list[list[Any]]] = {}
    for event in payload["events"]:
        for op in event["patch"]:
            if op[0] == "node":
                label = next(n["label"] for n in payload["nodes"] if n["id"] == op[1])
                reason = f"{label} is down already" if op[2] == "down" else ""
                reasons.setdefault(f"crash {op[1]}", []).append([event["step"], reason])
    return {"fixed": "", "start": 0, "limits": {}, "reasons": reasons}


def complete(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with all that a view asks of it: marks and enabled actions."""
    payload = payload if "marks" in payload else with_marks(payload)
    payload = payload if "ranks" in payload else with_walk(payload)
    return payload if "actions" in payload else {**payload, "actions": bare_actions(payload)}


def parts_as_sent(name: str) -> list[dict[str, str]]:
    """Return the values of the models of a picture's parts."""
    return [{"code": part.code, "css": part.css} for part in parts_of(name)]


def page_of(
    payload: dict[str, Any], step: int, groups: tuple[str, ...] = SHOWN, view: type[View] = Sequence, **values: Any
) -> str:
    """The page as HTML, with `journey` and one view of it, `model`. `values` are further values of either's model;
    `ready` is true in it once the view stands."""
    payload = complete(payload)
    journey = {"payload": pack(payload), "step": step, "groups": list(groups), "place": 0}
    journey |= {
        "verdict": {"place": 0, "results": []},
        "tree": [ROOT],
        "hidden": [],
        "every": True,
        "opened": [],
        "can_undo": False,
        "can_redo": False,
    }
    journey |= {name: values.pop(name) for name in list(values) if name in journey}
    model = {"journey": "IPY_MODEL_the-journey", "size": "laptop", "time": "down", **values}
    model["parts"] = ["IPY_MODEL_common", "IPY_MODEL_own"]
    data = json.dumps([journey, model, parts_as_sent(view.part), LOADER.read_text("utf-8")]).replace("</", "<\\/")
    return f"""<!doctype html><meta charset="utf-8"><title>kafkalab</title>
    <div id="here" style="max-width: 1800px"></div>
    <script type="module">{MODEL}{OPEN}
    const [journeyValues, modelValues, parts, loader] = {data};
    window.journey = new Model(journeyValues);
    const models = {{ "the-journey": journey, common: new Model(parts[0]), own: new Model(parts[1]) }};
    window.widget_manager = {{ get_model: async (id) => models[id] }};
    window.model = Object.assign(new Model(modelValues), {{ widget_manager }});
    window.widget = await openPicture(loader, {{ model, el: document.querySelector("#here") }});
    Object.assign(window, {{ openRun: widget.openRun, unpacked: widget.unpacked, close_: widget.closed }});
    window.outside = [];
    document.addEventListener("keydown", (event) => window.outside.push(event.key));
    window.ready = true;</script>"""


def show(
    page: Page,
    payload: dict[str, Any],
    step: int,
    groups: tuple[str, ...] = SHOWN,
    view: type[View] = Sequence,
    **values: Any,
) -> None:
    """The page shows the view, which has the keyboard."""
    page.set_content(page_of(payload, step, groups, view, **values))
    page.wait_for_function("window.ready === true")
    page.locator(".klab").focus()


def look(page: Page) -> dict[str, Any]:
    """Return what stands on the screen, as data."""
    seen: dict[str, Any] = page.evaluate(LOOK)
    return seen
