"""A page that shows real views: what the browser sends reaches the Python half, and what that sets comes back."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.parts import LOADER
from tests.widgets.harness import MODEL, OPEN, parts_as_sent

PLACES = "width: min(100%, 1800px); margin-bottom: 12px"


class Live:
    """A kernel's end of one page: `open(page, view)` shows the view, and keeps both halves the same."""

    def __init__(self, page: Page, *widgets: Any) -> None:
        self.page, self.widgets = page, {f"w{i}": w for i, w in enumerate(widgets)}
        self.journeys: dict[str, Journey] = {}
        for widget in widgets:
            journey = getattr(widget, "journey", None)
            if isinstance(journey, Journey) and journey not in self.journeys.values():
                self.journeys[f"j{len(self.journeys)}"] = journey
        page.expose_function("toKernel", self._hear)
        self._told: list[Any] = []
        self._payloads: dict[Any, Any] = {}
        for widget in self._all().values():
            widget.send = lambda content, buffers=None, widget=widget: self._told.append([self._id(widget), content])
        page.set_content(self._html())
        page.wait_for_function("window.ready === true")

    def _all(self) -> dict[str, Any]:
        return {**self.journeys, **self.widgets}

    def _id(self, widget: Any) -> str:
        return next(i for i, w in self._all().items() if w is widget)

    def state(self, widget: Any) -> dict[str, Any]:
        """The synchronised traits as the browser gets them, the payload only if it is another than the last time."""
        names = [k for k in widget.keys if not k.startswith("_")]
        if "payload" in names:
            sent_in_parts = widget in self._payloads and not widget._should_send_property("payload", widget.payload)
            if self._payloads.get(widget) is widget.payload or sent_in_parts:
                names.remove("payload")
            self._payloads[widget] = widget.payload
        names = [name for name in names if name != "parts"]
        state = widget.get_state(names)
        if "journey" in state:
            state["journey"] = "IPY_MODEL_" + self._id(widget.journey)
        return json.loads(json.dumps(state))  # type: ignore[no-any-return]

    def _hear(self, which: str, content: Any, dirty: dict[str, dict[str, Any]]) -> list[Any]:
        """Return what a message from the browser led to: the state of every model, and what was sent back."""
        widget, self._told = self._all()[which], []
        for place, values in dirty.items():
            for name, value in values.items():
                if getattr(self._all()[place], name) != value:
                    setattr(self._all()[place], name, value)
        widget._handle_custom_msg(content, [])
        return [{i: self.state(w) for i, w in self._all().items()}, self._told]

    def tell(self, told: list[Any]) -> None:
        """Messages that Python has sent though nobody asked for them are in the page."""
        self.page.evaluate("(told) => told.forEach(([to, content]) => models[to].fire('msg:custom', content))", told)

    def push(self) -> None:
        """Bring what Python has set since into the page."""
        forget = "for (const one of Object.values(models)) one.dirty = {};"
        states = {i: self.state(w) for i, w in self._all().items()}
        self.page.evaluate(f"(states) => {{ {forget} take(states); }}", states)

    def _html(self) -> str:
        states = {i: self.state(w) for i, w in self._all().items()}
        parts = {i: parts_as_sent(w.part) for i, w in self.widgets.items()}
        data = json.dumps([states, parts, LOADER.read_text("utf-8")]).replace("</", "<\\/")
        return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>kafkalab</title>
        <style>body {{ margin: 8px; background: var(--jp-layout-color0, #fff); }}</style>
        <main>{"".join(f'<div id="{i}" style="{PLACES}"></div>' for i in self.widgets)}</main>
        <script type="module">{MODEL}{OPEN}
        const [states, parts, loader] = {data};
        window.models = Object.fromEntries(Object.entries(states).map(([id, values]) => [id, new Model(values)]));
        const managerOf = (id) => ({{ get_model: async (name) =>
          name === "common" ? new Model(parts[id][0]) : name === "own" ? new Model(parts[id][1]) : models[name] }});
        window.take = (states) => {{
          for (const [id, values] of Object.entries(states)) {{
            const changed = Object.entries(values).filter(([name, value]) =>
              !(name in models[id].dirty) && JSON.stringify(models[id].values[name]) !== JSON.stringify(value));
            for (const [name, value] of changed) models[id].values[name] = value;
            for (const [name] of changed) models[id].fire(`change:${{name}}`);
          }}
        }};
        window.pending = 0;
        for (const [id, model] of Object.entries(models)) {{
          model.widget_manager = managerOf(id);
          model.send = async (message) => {{
            model.sent.push(message);
            pending += 1;
            const put = Object.fromEntries(Object.entries(models).map(([place, one]) => [place, one.dirty]));
            for (const one of Object.values(models)) one.dirty = {{}};
            const [states, told] = await toKernel(id, message, put);
            take(states);
            for (const [to, content] of told) models[to].fire("msg:custom", content);
            pending -= 1;
          }};
        }}
        for (const id of Object.keys(parts)) {{
          models[id].values.parts = ["IPY_MODEL_common", "IPY_MODEL_own"];
          window[id] = await openPicture(loader, {{ model: models[id], el: document.getElementById(id) }});
        }}
        window.outside = [];
        document.addEventListener("keydown", (event) => window.outside.push(event.key));
        window.ready = true;</script>"""

    def settle(self) -> None:
        """The kernel has answered everything."""
        self.page.wait_for_function("window.pending === 0")
