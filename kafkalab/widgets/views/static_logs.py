"""The logs in a static picture: a strip per partition, its batches as boxes, HW and LSO as bars between offsets."""

from __future__ import annotations

from typing import Any

from kafkalab.checks.check import FORBIDDEN
from kafkalab.palette import AMBER, DARK, DIM, GREEN, RED, RULE, VIOLET, WHITE
from kafkalab.widgets.model.findings_in_logs import LOST
from kafkalab.widgets.payload.log_view import producer_of
from kafkalab.widgets.payload.marks import span
from kafkalab.widgets.payload.text import TABLE, Payload, ViewState, outcome_in
from kafkalab.widgets.views.canvas import BOLD, FLAT, MARGIN, WIDTH, Canvas, fit, in_two, width_of

CELLS, LONG_CELLS = 6, 4
FATE = {"open": AMBER, "committed": GREEN, "aborted": RED, "": RULE, "COMMIT": GREEN, "ABORT": RED}


class LogStrips(Canvas):
    """A canvas for the state `shown` of a payload."""

    def __init__(self, payload: Payload, shown: ViewState, y: float) -> None:
        super().__init__(y=y)
        self.payload, self.shown = payload, shown
        self.wrong: dict[tuple[str, int], dict[str, Any]] = {}
        self.missing: dict[str, list[tuple[int, str]]] = {}

    def take(self, findings: list[dict[str, Any]]) -> None:
        """Note where the findings lie, first those that break a promise; and the values that should be at an offset."""
        for found in sorted(findings, key=lambda one: one["policy"] != FORBIDDEN):
            for partition, offset in found["places"]:
                if found["name"] == LOST:
                    self.missing.setdefault(partition, []).append((offset, found["value"]))
                else:
                    self.wrong.setdefault((partition, offset), found)

    def logs(self) -> None:
        """Draw one strip per partition: the leader's newest batches, high watermark and last stable offset."""
        for partition in self.payload["partitions"]:
            node, batches, mark, stable = self.shown.strip(partition)
            self.path(f"M{MARGIN:g},{self.y:g}H{WIDTH - MARGIN:g}", RULE, 1)
            self.text(MARGIN, self.y + 17, partition, more=BOLD + ' font-size="11"')
            where = next((n["label"] for n in self.payload["nodes"] if n["id"] == node), "")
            self.text(MARGIN, self.y + 32, _where(partition, where, mark), DIM)
            self._strip(partition, batches, mark, stable)
            self.y += 50

    def _strip(self, partition: str, batches: list[dict[str, Any]], mark: int, stable: int) -> None:
        first = max(0, len(batches) - (LONG_CELLS if any(b["decoded"] for b in batches) else CELLS))
        bars = [] if partition.startswith(TABLE) else sorted([("LSO", stable), ("HW", mark)], key=lambda bar: bar[1])
        x = MARGIN + 160
        if first:
            self.text(x, self.y + 28, f"{first} earlier …", DIM)
            x += 62
        for i in range(first, len(batches)):
            while bars and bars[0][1] <= batches[i]["base"]:
                x = self._bar(x, *bars.pop(0))
            here = (self.wrong.get((partition, o)) for o in range(batches[i]["base"], batches[i]["last"] + 1))
            found, room = next(filter(None, here), None), (WIDTH - MARGIN - x - 110) / (len(batches) - i)
            x = self._cell(x, batches[i], outcome_in(partition, batches, i, mark), room, found)
        for offset, value in self.missing.get(partition, []):
            x = self._ghost(x, f"{offset}  {value}")
        for bar in bars:
            x = self._bar(x, *bar)

    def _bar(self, x: float, name: str, offset: int) -> float:
        lso = name == "LSO"
        colour = VIOLET if lso else DARK
        self.path(f"M{x + 2:g},{self.y + 4:g}v42", colour, 2.6, FLAT + (' stroke-dasharray="4 2"' if lso else ""))
        self.text(x + 7, self.y + (42 if lso else 15), f"{name} {offset}", colour, more=BOLD + ' font-size="11"')
        return x + 14 + width_of(f"{name} {offset}", 11.5)

    def _ghost(self, x: float, words: str) -> float:
        wide = max(width_of(words, 11), width_of("✕ lost", 11)) + 14
        self.box(x, self.y + 4, wide, 42, RED, f' fill="{WHITE}" rx="3" stroke-dasharray="5 3" stroke-width="1.8"')
        self.text(x + 6, self.y + 16, words, RED, more=' font-size="11" text-decoration="line-through"')
        self.text(x + 6, self.y + 28.5, "✕ lost", RED, more=' font-size="11"')
        return x + wide + 4

    def _cell(self, x: float, batch: dict[str, Any], outcome: str, room: float, found: dict[str, Any] | None) -> float:
        marker = batch["kind"] != "data"
        sign = batch["kind"] if marker else outcome
        glyph = {"committed": "✓ ", "COMMIT": "✓ ", "aborted": "✕ ", "ABORT": "✕ "}.get(sign, "")
        values = "  ".join(f"{k}={v}" if k else v for k, v in batch["records"])
        who = producer_of(batch)
        lines = [f"{span(batch['base'], batch['last'])}  {glyph}{sign}", "" if marker else batch["decoded"] or values]
        wrong = found is not None and found["policy"] == FORBIDDEN
        who = f"{'✕' if wrong else '–'} {found['name']}" if found else who
        lines = [line for line in [*lines, who] if line.strip()]
        wide = min(max(width_of(line, 11) for line in lines) + 14, max(room, 70.0), 330.0)
        if len(lines) == 2 and not marker and width_of(lines[1], 11) > wide - 10:
            lines[1:] = in_two(lines[1], wide - 10)
        colour = RED if wrong else FATE[sign]
        if marker:
            x2, middle = x + wide, self.y + 25
            shape = f"M{x:g},{self.y + 4:g}H{x2:g}L{x2 + 11:g},{middle:g}L{x2:g},{self.y + 46:g}H{x:g}Z"
            self.path(shape, colour, 1, f' fill="{colour}"')
        else:
            dashes = ' stroke-dasharray="5 3" stroke-width="1.8"' if outcome == "open" else ' stroke-width="1.4"'
            self.box(x, self.y + 4, wide, 42, colour, f' fill="{WHITE}" rx="3"{dashes}')
        for i, line in enumerate(lines):
            fill = (
                WHITE
                if marker
                else colour
                if outcome and i == 0
                else RED
                if wrong
                else AMBER
                if found and line == who
                else DIM
                if i and line == who
                else DARK
            )
            strike = ' text-decoration="line-through"' if outcome == "aborted" and i == 1 else ""
            self.text(x + 6, self.y + 16 + 12.5 * i, fit(line, wide - 10, 11), fill, more=' font-size="11"' + strike)
        return x + wide + (15 if marker else 4)


def _where(partition: str, where: str, mark: int) -> str:
    if partition.startswith(TABLE):
        return f"{f'in {where}, ' if where else ''}committed {mark}"
    return f"on {where}" if where else "no leader"
