"""The fault panel: a button for every fault, enabled where it would change something, and the tree of the runs made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.node import of_brokers_only
from kafkalab.faults.registry import BY_PRESS, faults_on
from kafkalab.palette import AMBER, DARK, DIM, GREEN, PALE, RED, WHITE
from kafkalab.widgets.model.fork_tree import tree_lines
from kafkalab.widgets.model.presses import replicas_of, why
from kafkalab.widgets.model.tried_rules import TriedRules
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone, width_of
from kafkalab.widgets.views.view import View

Button = tuple[str, str, dict[str, Any]]


class FaultPanel(TriedRules, View):
    """Every fault as a button, at the step where the cursor stands; beside it the tree of runs: `FaultPanel(lab03())`.

    A button is enabled where pressing it would make another run; a disabled one says why not. The frame's buttons are
    about the frame of the cursor's event, or of its nearest cause. `rules()` says which rules matter to this run.
    """

    part = "fault_panel"

    def possible(self, action: str, target: str = "", **details: Any) -> str:
        """Return why this press would change nothing; "" if it would: see `Journey.possible`."""
        return self.journey.possible(action, target, **details)

    def groups_of_buttons(self) -> list[tuple[str, list[Button]]]:
        """The rows of the panel at the cursor: what they are about, and their buttons."""
        return buttons(self.payload, self.step)

    def text(self) -> str:
        """Return the panel as text: each row with what can be pressed, then what cannot be and why; then the tree."""
        payload, step = self.payload, self.step
        event = payload["events"][step]
        lines = [f"Faults at step {step}, t = {event['at']} ms: {event['text']}"]
        if payload["ending"]:
            lines.append(f"This run has no end: {payload['ending']}.")
        for what, row in self.groups_of_buttons():
            lines.append(f"{what}:")
            for action, target, details in row:
                reason = why(payload, step, action, target, **details)
                label = label_of(action, details)
                lines.append(f"  - {label}: {reason}" if reason else f"  [{label}]")
        return "\n".join([*lines, *tree_lines(self.journey.tree, self.journey.place)])

    def svg(self) -> str:
        """The panel as it stands, enabled buttons drawn solid and the others dotted; then the tree of runs."""
        canvas, payload, step = Canvas(y=30), self.payload, self.step
        event = payload["events"][step]
        canvas.text(18, canvas.y, fit(f"Faults at step {step}: {event['text']}", 900), more=BOLD)
        for what, row in self.groups_of_buttons():
            canvas.y += 26
            canvas.text(18, canvas.y, fit(what, 230), DIM)
            x = 260
            for action, target, details in row:
                label = label_of(action, details)
                wide, reason = round(width_of(label)) + 18, why(payload, step, action, target, **details)
                if x + wide > 940:
                    x, canvas.y = 260, canvas.y + 26
                face = f' fill="{PALE}" stroke-dasharray="2 3"' if reason else f' fill="{WHITE}"'
                canvas.box(x, canvas.y - 15, wide, 21, DIM if reason else RED, ' rx="4"' + face)
                canvas.text(x + wide // 2, canvas.y, label, DIM if reason else DARK, "middle")
                x += wide + 8
        canvas.y += 30
        for line in tree_lines(self.journey.tree, self.journey.place):
            more = ' xml:space="preserve"' + (BOLD if line[0] == ">" else "")
            bad = line.endswith(("torn", "open"))
            canvas.text(18, canvas.y, line, GREEN if line.endswith("committed") else RED if bad else AMBER, more=more)
            canvas.y += 20
        return standalone(canvas, f"Faults at step {step}")


def label_of(action: str, details: dict[str, Any]) -> str:
    """Return the button's label, with the details of its press: "delay 1000 ms", "elect b2 unclean"."""
    kind = BY_PRESS[action]
    if variant := next((variant for variant in kind.variants if variant.details == details), None):
        return variant.label
    if kind.number:
        return f"{kind.words.label} {details[kind.number[0]]} ms"
    words = [f"{details['broker']}", *(["unclean"] if details["unclean"] else [])] if "broker" in details else []
    return " ".join([kind.words.label.lstrip("×2 "), *words])


def chosen_frame(payload: dict[str, Any], step: int) -> str:
    """The frame of the step's event, or of the nearest cause that has one; "" for none. Of a copy its original."""
    while step >= 0:
        event = payload["events"][step]
        if event["frame"] in payload["frames"]:
            frame = payload["frames"][event["frame"]]
            return str(frame["copy_of"] or frame["id"])
        step = event["cause"]
    return ""


def buttons(payload: dict[str, Any], step: int) -> list[tuple[str, list[Button]]]:
    """Return all rows of the panel at a step, in their order."""
    frame = chosen_frame(payload, step)
    on_nodes, on_links = faults_on("node"), faults_on("link")
    of_kind = {"broker": [*on_nodes, *on_links], "client": [k for k in on_nodes if not of_brokers_only(k)] + on_links}
    rows = [
        (f"Frame {frame}" if frame else "No frame", _of(faults_on("frame"), frame)),
        *((node["label"], _of(of_kind.get(node["kind"], on_links), node["id"])) for node in payload["nodes"]),
        *(("Clock", _of(faults_on("clock"), "")), ("Cluster", _of(faults_on("cluster"), ""))),
    ]
    shown = replay(payload, max(step, payload["actions"]["start"]))
    for partition in payload["partitions"]:
        replicas, in_sync = replicas_of(payload, partition), shown.in_sync.get(partition, [])
        if replicas:
            elections: list[Button] = [
                ("elect", partition, {"broker": b, "unclean": b not in in_sync}) for b in replicas
            ]
            rows.append((partition, [*elections, *_of(faults_on("log"), partition)]))
    return rows


def _of(kinds: Iterable[type[Fault]], target: str) -> list[Button]:
    """Return the buttons of these faults about a target, but for those that need a second frame."""
    found: list[Button] = []
    for kind in kinds:
        if not kind.other:
            found.append((kind.press, target, dict([kind.number] if kind.number else [])))
            found += [(kind.press, target, dict(variant.details)) for variant in kind.variants]
    return found
