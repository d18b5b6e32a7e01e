"""Kafka beside two-phase commit, an MVCC table and an atomic broadcast: one transfer, one press, one moment on all."""

from __future__ import annotations

from typing import Any

import traitlets

from kafkalab.alternatives.presses import MODELS, SHARED, run_shared_press
from kafkalab.limits import quote, whole_number
from kafkalab.palette import AMBER, BLUE, DARK, DIM, GREEN, RED
from kafkalab.widgets.payload.alternatives import END, PLACES, Panel, panel_of, words_of
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Picture

NAMES = tuple(one.name for one in SHARED)
MOVES = ("left", "right", "home", "end")
LAST_ROWS = 6
COLOUR = {"committed": GREEN, "aborted": RED, "in doubt": AMBER, "down": DIM}
SIGN = {"committed": "✓", "aborted": "✕", "in doubt": "…", "down": "✕"}


class Alternatives(Picture):
    """Four machines with one transfer: `Alternatives()`, `Alternatives("coordinator and participant", again=True)`.

    `press("coordinator")` crashes the same process on all four; `press("again")` starts what has crashed again after
    two minutes, or no longer. `place` is the moment that all four show, one of `PLACES`; the arrows move it.
    """

    part = "alternatives"

    SETTABLE = ("place",)

    pressed = traitlets.Unicode("no fault").tag(sync=True)
    again = traitlets.Bool(False).tag(sync=True)
    place = traitlets.Unicode(PLACES[0]).tag(sync=True)
    panels: traitlets.List[Panel] = traitlets.List().tag(sync=True)
    presses = traitlets.List([[one.name, one.says] for one in SHARED]).tag(sync=True)

    def __init__(
        self, pressed: str = "no fault", again: bool = False, place: str = PLACES[0], size: str = "laptop"
    ) -> None:
        """Show this press. ValueError for an unknown press, place or size."""
        panels = _panels(pressed, again)
        super().__init__(pressed=pressed, again=again, place=place, panels=panels, size=size)
        self.hear({"press": lambda said: self.press(str(said.get("action")), str(said.get("target", "")))})

    @traitlets.validate("place")
    def _known_place(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in PLACES:
            raise ValueError(f"no moment {quote(proposal['value'])}; there are {', '.join(PLACES)}")
        return str(proposal["value"])

    def run(self, model: str) -> Any:
        """Return the run of one machine, with its trace: see `Transfer` in kafkalab/alternatives/presses.py."""
        return run_shared_press(model, self.pressed, self.again)

    def press(self, action: str, target: str = "") -> None:
        """Press one of `NAMES` on all four; again; left, right, home, end; goto with the name of a moment.

        ValueError for an unknown action, and for a step beyond either end.
        """
        at = PLACES.index(self.place)
        if action in NAMES or action == "again":
            name, again = (self.pressed, not self.again) if action == "again" else (action, self.again)
            with self.hold_sync():
                self.panels, self.pressed, self.again = _panels(name, again), name, again
        elif action == "goto":
            self.place = PLACES[whole_number(target)] if target.isdecimal() and int(target) < len(PLACES) else target
        elif action in MOVES:
            to = {"left": at - 1, "right": at + 1, "home": 0, "end": len(PLACES) - 1}[action]
            if not 0 <= to < len(PLACES):
                raise ValueError(f"this is the {'first' if to < 0 else 'last'} moment")
            self.place = PLACES[to]
        else:
            known = ", ".join((*NAMES, "again", *MOVES, "goto"))
            raise ValueError(f"no action {quote(action)}; there are {known}")

    def head(self) -> str:
        """Return what is pressed, and the moment."""
        again = " What has crashed starts again after two minutes." if self.again else ""
        return f"{words_of(self.pressed)}{again} Moment: {self.place}."

    def text(self) -> str:
        """Return the text twin: for each machine how it ends, its logs, and the last events up to the moment."""
        lines = [self.head()]
        for panel in self.panels:
            step, came = panel["places"][self.place]
            lines.append(panel["model"] + ("" if came else f": “{self.place}” never comes"))
            if self.place == END:
                lines.append("  " + "; ".join([*(SIGN[s] + " " + text for text, s in panel["parts"]), panel["told"]]))
            lines += [f"  {name}: {' '.join(f'[{c[0]}]' for c in cells)}" for name, cells in panel["logs"][self.place]]
            rows = [row for row in panel["rows"] if row["step"] <= step]
            lines += [f"  … {len(rows) - LAST_ROWS} events before"] if len(rows) > LAST_ROWS else []
            lines += [f"  {row['at']} ms {row['text']}" for row in rows[-LAST_ROWS:]]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return the four panels at the moment as a standalone SVG."""
        canvas = Canvas(y=26)
        canvas.text(18, canvas.y, fit(self.head(), 920), DARK, more=BOLD)
        top = 0.0
        ends: list[float] = []
        for number, panel in enumerate(self.panels):
            if number % 2 == 0:
                top = max([canvas.y, *ends]) + 22
            ends.append(self._panel(canvas, panel, 18 + number % 2 * 474, top))
        canvas.y = max(ends)
        return standalone(canvas, "Four machines side by side")

    def _panel(self, canvas: Canvas, panel: Panel, left: float, y: float) -> float:
        step, came = panel["places"][self.place]
        down = panel["down"][self.place]
        canvas.text(left, y, panel["model"] + ("" if came else f": “{self.place}” never comes"), DARK, more=BOLD)
        lanes = {n["id"]: left + 20 + i * 44 for i, n in enumerate(panel["nodes"])}
        for name, x in lanes.items():
            canvas.text(x, y + 18, f"✕{name}" if name in down else name, RED if name in down else DIM, "middle")
        rows = [row for row in panel["rows"] if row["step"] <= step][-LAST_ROWS:]
        for row in rows:
            y += 17
            _draw_row(canvas, row, lanes, y + 16, left + 240)
        y += 17 * (LAST_ROWS - len(rows)) + 24
        for name, cells in panel["logs"][self.place]:
            y += 17
            canvas.text(left, y, fit(f"{name}: {' '.join(f'[{c[0]}]' for c in cells)}", 450))
        if self.place == END:
            x = left
            y += 18
            for text, state in panel["parts"]:
                canvas.text(x, y, f"{SIGN[state]} {text}", COLOUR[state], more=BOLD)
                x += 150 if len(panel["parts"]) < 3 else 104
            canvas.text(x, y, panel["told"].removeprefix("the "), DIM)
        return y

    def __repr__(self) -> str:
        return f"<Alternatives {self.pressed!r}{', again' if self.again else ''}, {self.place}>"


def _panels(name: str, again: bool) -> list[Panel]:
    return [panel_of(model, name, again) for model in MODELS]


def _draw_row(canvas: Canvas, row: dict[str, Any], lanes: dict[str, float], y: float, text_x: float) -> None:
    here = lanes.get(row["from"], text_x - 12)
    if row["kind"] == "frame":
        to = lanes.get(row["to"], here)
        lost = row["fate"] == "lost"
        sign = 1 if to >= here else -1
        dash = ' stroke-dasharray="4 3" fill="none"' if row.get("dashed") else ' fill="none"'
        head = f"m{-5 * sign},-4l{5 * sign},4l{-5 * sign},4"
        line = f"M{here:g},{y - 4:g}H{to - 3 * sign:g}{head}"
        if to == here:
            line = f"M{here:g},{y - 8:g}h14v8H{here + 3:g}m5,-4l-5,4l5,4"
        canvas.path(line, BLUE, 1.5, dash)
        if lost:
            canvas.text(to, y, "✕", RED, "middle")
    elif row["kind"] != "more":
        colour = RED if row["kind"] == "crash" else DARK
        canvas.box(here - 4, y - 8, 8, 8, colour, f' fill="{colour}"')
    canvas.text(text_x, y, fit(row["label"] + (" lost" if row["fate"] == "lost" else ""), 220))
