"""The log tape as a picture that needs no program: on white, with literal colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kafkalab.palette import AMBER, BLUE, DARK, DIM, GREEN, HUES, PALE_BLUE, RED, VIOLET, WHITE
from kafkalab.widgets.payload.log_view import (
    LEVELS,
    Replica,
    find_delivery,
    lag_of,
    positions_at,
    producer_of,
    reading,
    replicas_at,
    values_of,
)
from kafkalab.widgets.payload.marks import span
from kafkalab.widgets.payload.text import Payload, replay
from kafkalab.widgets.views.canvas import BOLD, FLAT, MARGIN, WIDTH, Canvas, fit, width_of
from kafkalab.widgets.views.static_frame import StaticFrame

CELLS, LABEL, HIGH = 7, 148.0, 46.0
COLOUR = {"open": AMBER, "committed": GREEN, "aborted": RED, "COMMIT": GREEN, "ABORT": RED}
SIGN = {"open": "… open", "committed": "✓ committed", "aborted": "✕ aborted", "COMMIT": "✓ COMMIT", "ABORT": "✕ ABORT"}
READ = {
    "gets": (BLUE, "gets it"),
    "skips": (RED, "✕ skips"),
    "waits": (AMBER, "… waits"),
    "held": (RED, "held up, then skipped"),
}


def draw(payload: Payload, step: int, places: Sequence[int], replicas: bool) -> str:
    """An SVG of the logs at a step, followers too if `replicas`: the newest batches of each."""
    canvas = StaticFrame(payload, step, places, "Logs")
    shown = replay(payload, step)
    for partition in payload["partitions"]:
        logs = replicas_at(payload, shown, partition)
        canvas.rule()
        canvas.text(MARGIN, canvas.y + 14, partition, more=BOLD)
        canvas.y += 18
        if logs:
            readers = [] if partition.startswith("__") else positions_at(payload, shown, partition)
            _Tape(canvas, partition, logs if replicas else logs[:1], readers).draw()
        canvas.y += 6
    return canvas.svg()


class _Tape:
    """The logs of one partition, with a column for each offset at which a batch begins."""

    def __init__(
        self, canvas: Canvas, partition: str, logs: list[Replica], readers: list[tuple[str, int, str]]
    ) -> None:
        self.canvas, self.partition, self.logs, self.leader = canvas, partition, logs, logs[0]
        self.readers, self.end = readers, MARGIN + LABEL
        self.cells = [log.cells() for log in logs]
        self.levels = () if partition.startswith("__") else LEVELS
        bases = sorted({int(b["base"]) for cells in self.cells for b, _, _ in cells})
        self.hidden, self.bases = max(0, len(bases) - CELLS), bases[-CELLS:]
        self.marks = sorted(
            [("LSO", self.leader.last_stable_offset), ("HW", self.leader.high_watermark)], key=lambda m: m[1]
        )
        if self.leader.start:
            self.marks.insert(0, ("start", self.leader.start))
        self.columns: dict[int, tuple[float, float]] = {}

    def draw(self) -> None:
        """Marks, then each log, then the readers."""
        top = self.canvas.y
        bars = self._place()
        for log, cells in zip(self.logs, self.cells, strict=True):
            self.canvas.text(MARGIN, self.canvas.y + 20, fit(log.label, LABEL, 12), more=' font-size="12"')
            marks = f" · HW {log.high_watermark}" if log is not self.leader else ""
            self.canvas.text(MARGIN, self.canvas.y + 35, fit(log.role + marks, LABEL, 11), DIM, more=' font-size="11"')
            for batch, outcome, why in cells:
                if batch["base"] in self.columns:
                    self._cell(batch, outcome, why)
            self.canvas.y += HIGH + 4
        for level in self.levels:
            self._readings(level)
        for reader in self.readers:
            self._position(*reader)
        for x, names in bars:
            self._bar(x, names, top)

    def _place(self) -> list[tuple[float, list[tuple[str, int]]]]:
        """Return where each column begins and how wide it is, and the marks between them."""
        x, bars, marks = MARGIN + LABEL, [], list(self.marks)
        if self.hidden:
            self.canvas.text(x, self.canvas.y + 25, f"{self.hidden} earlier …", DIM, more=' font-size="11"')
            x += 66
        room = WIDTH - MARGIN - x - 62 * len({m[1] for m in marks})
        wide = [self._width(base) for base in self.bases]
        scale = min(1.0, room / max(1.0, math.fsum(wide) + 5 * len(wide)))
        for base, width in zip([*self.bases, None], [*wide, 0.0], strict=True):
            due = [m for m in marks if base is None or m[1] <= base]
            if due:
                marks = [m for m in marks if m not in due]
                bars.append((x, due))
                x += 18 + max(width_of(f"{name} {offset}", 11) for name, offset in due)
            if base is not None:
                self.columns[base] = (x, width * scale)
                x += width * scale + 5
        self.end = x
        return bars

    def _width(self, base: int) -> float:
        found = [line for cells in self.cells for b, o, w in cells if b["base"] == base for line in _lines(b, o, w)]
        found += [READ[state][1] for level in self.levels for state in [self._draw_given(base, level)] if state in READ]
        return min(max(width_of(line, 11) for line in found) + 18, 300.0)

    def _draw_given(self, base: int, level: str) -> str:
        here = ((b, outcome) for b, outcome, why in self.cells[0] if b["base"] == base and not why)
        return next((find_delivery(self.leader, b, outcome, level) for b, outcome in here), "")

    def _bar(self, x: float, names: list[tuple[str, int]], top: float) -> None:
        lso = names[0][0] == "LSO" and len(names) == 1
        dashes = ' stroke-dasharray="4 2"' if lso else ""
        self.canvas.path(f"M{x + 3:g},{top:g}V{self.canvas.y - 2:g}", VIOLET if lso else DARK, 2.6, FLAT + dashes)
        for i, (name, offset) in enumerate(names):
            colour = VIOLET if name == "LSO" else DARK
            self.canvas.text(x + 8, top + 14 + 14 * i, f"{name} {offset}", colour, more=BOLD + ' font-size="11"')

    def _cell(self, batch: dict[str, Any], outcome: str, why: str) -> None:
        canvas, (x, wide) = self.canvas, self.columns[batch["base"]]
        marker, y = batch["kind"] != "data", self.canvas.y
        sign = batch["kind"] if marker else outcome
        colour = DIM if why else COLOUR.get(sign, DIM)
        if marker and not why:
            point = f"H{x + wide - 10:g}L{x + wide:g},{y + HIGH / 2:g}L{x + wide - 10:g},{y + HIGH:g}H{x:g}Z"
            canvas.path(f"M{x:g},{y:g}{point}", colour, 1, f' fill="{colour}"')
        elif outcome == "aborted":
            canvas.path(draw_torn(x, y, wide), colour, 2, f' fill="{WHITE}"')
        else:
            dashes = ' stroke-dasharray="2 3"' if why else ' stroke-dasharray="6 3"' if outcome == "open" else ""
            more = f' fill="{WHITE}" rx="3" stroke-width="{2 if outcome else 1.3}"{dashes}'
            canvas.box(x, y, wide, HIGH, colour, more)
        for i, line in enumerate(_lines(batch, outcome, why)):
            decided = bool(outcome or why) and i == 0
            fill = WHITE if marker and not why else colour if decided else DARK if i == 1 else DIM
            canvas.text(
                x + (10 if outcome == "aborted" else 7),
                y + 14 + 13 * i,
                fit(line, wide - 12, 11),
                fill,
                more=' font-size="11"',
            )

    def _readings(self, level: str) -> None:
        canvas = self.canvas
        canvas.text(MARGIN, canvas.y + 13, level, DIM, more=' font-size="11"')
        for batch, outcome, _ in self.cells[0]:
            state = find_delivery(self.leader, batch, outcome, level)
            if batch["base"] in self.columns and state in READ:
                (x, wide), (colour, words) = self.columns[batch["base"]], READ[state]
                fill = PALE_BLUE if state == "gets" else WHITE
                dashes = ' stroke-dasharray="2 3"' if state in ("waits", "held") else ""
                canvas.box(x, canvas.y + 1, wide, 16, colour, f' fill="{fill}"{dashes}')
                canvas.text(x + wide / 2, canvas.y + 13, fit(words, wide - 4, 11), colour, "middle", ' font-size="11"')
        if not self.bases:
            canvas.text(MARGIN + LABEL + 70, canvas.y + 13, reading(self.leader, level), DIM, more=' font-size="11"')
        canvas.y += 20


    def _position(self, who: str, offset: int, level: str) -> None:
        """Return where a consumer reads next: below the batch that holds the offset, or behind the last one."""
        canvas = self.canvas
        told = f"{who}: position {offset}, lag {lag_of(self.leader, offset, level)}"
        canvas.text(MARGIN, canvas.y + 13, fit(told, LABEL, 11), DIM, more=' font-size="11"')
        last = {int(b["base"]): int(b["last"]) for cells in self.cells for b, _, _ in cells}
        x = next((self.columns[base][0] for base in self.bases if last[base] >= offset), self.end)
        sign = f"▲ {offset}"
        x = min(x, WIDTH - MARGIN - width_of(sign, 11))
        canvas.text(x, canvas.y + 13, sign, HUES["client"], more=BOLD + ' font-size="11"')
        canvas.y += 18


def draw_torn(x: float, y: float, wide: float) -> str:
    """The outline of an aborted batch: its ends are torn off."""
    teeth = "".join(f"l{dx:g},{HIGH / 6:g}" for dx in (-6, 6, -6, 6, -6, 6))
    back = "".join(f"l{dx:g},{-HIGH / 6:g}" for dx in (6, -6, 6, -6, 6, -6))
    return f"M{x:g},{y:g}h{wide:g}{teeth}h{-wide:g}{back}z"


def _lines(batch: dict[str, Any], outcome: str, why: str) -> list[str]:
    marker = batch["kind"] != "data"
    sign = f"− {why}" if why else SIGN.get(batch["kind"] if marker else outcome, "")
    key, cut, entry = batch["decoded"].partition(": ")
    told = [key, entry] if cut and batch["pid"] < 0 else [batch["decoded"] or values_of(batch)]
    lines = [f"{span(batch['base'], batch['last'])}  {sign}", *([] if marker else told)]
    return [line for line in [*lines, producer_of(batch)] if line.strip()]
