"""The sequence widget as a picture that needs no program: on white, with literal colours, for saved notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.palette import AMBER, BLUE, CATEGORY_COLOUR, DARK, DIM, GREEN, PALE, RED, RULE, WHITE
from kafkalab.widgets.model.findings import UNBROKEN, findings_at, lines_at
from kafkalab.widgets.model.jumps import chapter_at
from kafkalab.widgets.payload.marks import FRAMES, with_marks
from kafkalab.widgets.payload.text import ALWAYS, Payload, group_line, head_of, is_shown, memory_lines, replay, stops
from kafkalab.widgets.payload.tour import fold_at
from kafkalab.widgets.views import static_rail, static_strips
from kafkalab.widgets.views.canvas import BOLD, FLAT, HALO, MARGIN, WIDTH, fit, standalone, width_of
from kafkalab.widgets.views.static_logs import LogStrips

GUTTER, ROW, ARRIVAL = 62.0, 25.0, 12.0
ROWS, RAILS, LONG_MS = 40, 2, 25
PREVIEWED = 4
"""The arrows to come, drawn pale, of a picture in which nothing has been sent yet."""
CUT = 4.0
"""The distance that a dropped frame's arrow sinks: its word ends above the chip of the next row."""
MARK = {"append": GREEN, "state": AMBER, "fault": RED, "crash": RED}


def draw(
    payload: Payload,
    step: int,
    groups: tuple[str, ...],
    hidden: Sequence[str] = (),
    report: dict[str, Any] | None = None,
    places: Sequence[int] = (),
    strips: Sequence[dict[str, Any]] = (),
) -> str:
    """An SVG of the run up to `step`: the newest rows of the sequence, the transaction's state, the logs.

    With the `report` of the checks it says what they have found up to the step. `places` are the stops of the walk if
    some are folded. `strips` are what would become of the run at each of them: see `WhatIfStrips`.
    """
    picture = _Picture(payload if "marks" in payload else with_marks(payload), step, groups, hidden)
    picture.places = places or stops(payload, groups, hidden)
    picture.take(findings_at(report or {}, step))
    picture.head()
    for line in lines_at(report or {}, step):
        picture.verdict(line)
    if strips:
        static_strips.draw(picture, strips, picture.places, step)
    picture.sequence()
    picture.states()
    picture.logs()
    return picture.svg()


@dataclass(slots=True)
class _Row:
    event: dict[str, Any]
    stop: bool
    y: float
    height: float


class _Picture(LogStrips):
    def __init__(self, payload: Payload, step: int, groups: tuple[str, ...], hidden: Sequence[str]) -> None:
        super().__init__(payload, replay(payload, step), MARGIN)
        self.step, self.groups, self.hidden = step, groups, hidden
        self.until = step
        self.lanes: dict[str, float] = {}
        self.places: Sequence[int] = ()
        self.rows: list[_Row] = []
        self.row_at: dict[int, _Row] = {}

    def svg(self) -> str:
        """The parts on a white, rounded ground."""
        return standalone(self, f"{self.payload['title']}, step {self.step}")

    def head(self) -> None:
        """Title, position, the event's sentence, the faults."""
        payload, event = self.payload, self.payload["events"][self.step]
        place = sum(1 for s in self.places if s <= self.step)
        chapter = chapter_at(payload, self.places, self.step)
        self.text(MARGIN, self.y + 12, head_of(payload), more=BOLD)
        where = f"{chapter}{' · ' if chapter else ''}step {place} of {len(self.places)} · t = {event['at']} ms"
        self.text(WIDTH - MARGIN, self.y + 12, where, DIM, "end")
        told = fold_at(payload, self.step, self.places) or event["text"]
        self.text(MARGIN, self.y + 33, fit(told, WIDTH - 2 * MARGIN, 14), more=' font-size="14"')
        self.y += 44
        if payload["faults"]:
            self.text(MARGIN, self.y + 10, fit("faults: " + ", ".join(payload["faults"]), WIDTH - 2 * MARGIN), RED)
            self.y += 20

    def verdict(self, line: str) -> None:
        """A line of what the checks say: red if a promise is broken, amber for what Kafka allows."""
        colour = GREEN if line == UNBROKEN else RED if line.startswith("✕") else AMBER
        sign = "✓ " if line == UNBROKEN else ""
        self.text(MARGIN, self.y + 12, fit(sign + line, WIDTH - 2 * MARGIN), colour, more=BOLD)
        self.y += 20

    # the sequence

    def sequence(self) -> None:
        """Lanes, and on them the newest rows up to the step; before the first frame the first few, pale."""
        known = [n for n in self.payload["nodes"] if n["kind"] != "controller" or "metadata" in self.groups]
        visible = [n for n in known if n["id"] not in self.hidden] or known[:1]
        lane = (WIDTH - 2 * MARGIN - GUTTER) / len(visible)
        self.lanes = {n["id"]: MARGIN + GUTTER + lane * (i + 0.5) for i, n in enumerate(visible)}
        self.box(MARGIN, self.y, WIDTH - 2 * MARGIN, 46, RULE, f' fill="{PALE}"')
        for node in visible:
            self._lane_head(node, lane)
        self.y += 46
        top = self.y
        arrows = [f for f in self.payload["frames"].values() if f["category"] in self.groups and self._flies(f)]
        to_come = [] if any(f["sent"] <= self.step for f in arrows) else arrows[:PREVIEWED]
        self.until = max((f["sent"] for f in to_come), default=self.step)
        earlier = self._place_rows()
        self.y = (self.rows[-1].y + self.rows[-1].height if self.rows else self.y + ROW) + 22
        for node_id, x in self.lanes.items():
            self._life(node_id, x, top)
        if earlier:
            self.text(WIDTH / 2, top + 13, f"… {earlier} earlier rows", DIM, "middle", HALO)
        present = [row for row in self.rows if row.event["step"] <= self.step]
        for row in present:
            self._time(row, row is present[-1])
        group = ('<g opacity="0.35">', "</g>") if to_come else ()
        self.parts += group[:1]
        for frame in arrows:
            if frame["sent"] <= self.until:
                self._arrow(frame)
        self.parts += group[1:]
        for row in present:
            if row.stop and row.event["kind"] not in FRAMES:
                self._chip(row, lane)

    def _lane_head(self, node: dict[str, str], lane: float) -> None:
        x, life = self.lanes[node["id"]], self.shown.nodes.get(node["id"], "up")
        label = node["label"] if life == "up" else f"{node['label']} ({life})"
        self.text(x, self.y + 16, label, DARK if life == "up" else RED, "middle", BOLD)
        client, roles = self.shown.clients.get(node["id"]), self.shown.roles.get(node["id"], [])
        led = ", ".join(r.removeprefix("leader of ") for r in roles if r.startswith("leader of "))
        lines = [", ".join(r for r in roles if not r.startswith("leader of ")), f"leads {led}" if led else ""]
        if client:
            known = client.get("producer_id", -1) >= 0
            producer = f"producer {client['producer_id']}, epoch {client['epoch']}" if known else ""
            lines = [client.get("state", ""), producer]
        for i, line in enumerate([text for text in lines if text]):
            self.text(x, self.y + 29 + 12 * i, fit(line, lane, 10.5), DIM, "middle", ' font-size="10.5"')

    def _place_rows(self) -> int:
        """The rows in view, from `self.y` down; how many there were before them."""
        events, frames = self.payload["events"][: self.until + 1], self.payload["frames"]
        at_stop = set(stops(self.payload, self.groups, self.hidden))
        found = []
        for event in events:
            frame = frames.get(event["frame"])
            flies = frame and frame["category"] in self.groups and event["kind"] in FRAMES
            if event["step"] in at_stop or (flies and self._is_shown(event["step"])):
                found.append(event)
        y = self.y + (18 if len(found) > ROWS else 6)
        for before, event in zip([None, *found[-ROWS:]], found[-ROWS:], strict=False):
            y += 16 if before and event["at"] - before["at"] >= LONG_MS else 0
            stop = event["step"] in at_stop
            copy = not stop and frames[event["frame"]]["copy_of"]
            self.rows.append(_Row(event, stop, y, ROW if stop else ARRIVAL * 2 if copy else ARRIVAL))
            self.row_at[event["step"]] = self.rows[-1]
            y += self.rows[-1].height
        return max(0, len(found) - ROWS)

    def _flies(self, frame: dict[str, Any]) -> bool:
        """Return True if both ends of the frame's arrow have a lane, and its sending is not hidden."""
        return {frame["from"], frame["to"]} <= set(self.lanes) and self._is_shown(frame["sent"])

    def _is_shown(self, step: int) -> bool:
        return is_shown(self.payload, self.payload["events"][step], self.hidden)

    def _life(self, node_id: str, x: float, top: float) -> None:
        turns = [(top, "up")]
        for event in self.payload["events"][: self.step + 1]:
            for op in event["patch"]:
                if op[:2] == ["node", node_id]:
                    row = self.row_at.get(event["step"])
                    turns.append((row.y + ROW / 2 if row else top, op[2]))
        for (y, life), (end, _) in zip(turns, [*turns[1:], (self.y, "")], strict=True):
            if end > y:
                look = (DIM, 2.5, FLAT + ' stroke-dasharray="1 6"') if life == "down" else (RULE, 1.3, FLAT)
                self.path(f"M{x:g},{y:g}V{end:g}", *look)

    def _time(self, row: _Row, now: bool) -> None:
        if now:
            self.box(MARGIN, row.y, WIDTH - 2 * MARGIN, row.height, "none", f' fill="{BLUE}" fill-opacity="0.1"')
        before = self.rows[self.rows.index(row) - 1] if row is not self.rows[0] else None
        fault = row.event["kind"] in ALWAYS
        if now or fault or before is None or before.event["at"] != row.event["at"]:
            self.text(MARGIN + GUTTER - 8, row.y + row.height * 0.66, f"{row.event['at']} ms", DIM, "end")

    def _arrow(self, frame: dict[str, Any]) -> None:
        sent = self.row_at.get(frame["sent"])
        if sent is None:
            return
        x1, x2 = self.lanes[frame["from"]], self.lanes[frame["to"]]
        fate, end = self._fate(frame)
        y1 = sent.y + sent.height * 0.8
        arrival = self.row_at.get(end)
        y2 = max(arrival.y + arrival.height * 0.55 if arrival else 0.0, y1 + 10) if fate == "delivered" else y1 + 10
        if fate == "in flight" and sent is not self.rows[-1]:
            y2 = self.y - 8
        part, loop = 0.55 if fate == "dropped" else 1.0, 26.0 if x1 == x2 else 0.0
        if fate in ("dropped", "lost") and not loop:
            y2 = y1 + CUT
        if loop and frame["from"] == list(self.lanes)[-1]:
            loop = -loop
        ex, ey = x1 + (x2 - x1) * part, y1 + (y2 - y1) * part
        colour = CATEGORY_COLOUR[frame["category"]]
        style = FLAT + (' stroke-dasharray="6 4"' if frame["kind"] == "response" else "")
        way = f"H{x1 + loop:g}V{y2:g}H{x1:g}" if loop else f"L{ex:g},{ey:g}"
        self.path(f"M{x1:g},{y1:g}{way}", colour, 1.6, style + (' opacity="0.5"' if fate == "in flight" else ""))
        if fate == "delivered":
            angle = (180 if loop > 0 else 0) if loop else math.degrees(math.atan2(y2 - y1, x2 - x1))
            fill = f' fill="{colour}"' if frame["kind"] == "request" else FLAT
            turn = f' transform="translate({ex:g},{ey:g}) rotate({angle:.1f})"'
            self.path("M-9,-4L0,0L-9,4" + ("Z" if frame["kind"] == "request" else ""), colour, 1.5, fill + turn)
        elif fate == "in flight":
            self.text(x1 + loop + (x2 - x1) * 0.6, y1 + (y2 - y1) * 0.6 + 4, "in flight", DIM, "middle", HALO)
        else:
            self._end(ex, ey, fate, 1 if x2 >= x1 else -1)
        self._label(frame, x1, y1, x2, loop, (ex, ey))

    def _fate(self, frame: dict[str, Any]) -> tuple[str, int]:
        """Return what the picture may say of a frame at this step, and the step at which that happened.

        A frame to come is drawn as if it arrived: the picture tells nothing of what becomes of it.
        """
        end = frame["received"] if frame["received"] is not None else self.payload["ends"].get(frame["id"], -1)
        if frame["sent"] > self.step:
            return "delivered", end
        return ("in flight", -1) if end < 0 or end > self.step else (frame["fate"], end)

    def _end(self, x: float, y: float, fate: str, side: int) -> None:
        """A cross, and beyond it what became of the frame; before it where there is no room."""
        self.path(f"M{x - 6:g},{y - 6:g}l12,12m0,-12l-12,12", RED, 2.6)
        side = -1 if x > WIDTH - 90 else 1 if x < MARGIN + GUTTER + 90 else side
        self.text(x + side * 10, y + 4, fate, RED, "start" if side > 0 else "end", HALO + BOLD)

    def _label(
        self, frame: dict[str, Any], x1: float, y1: float, x2: float, loop: float, end: tuple[float, float]
    ) -> None:
        sent = [v for name, v in frame["fields"] if name.endswith(".base_sequence") and int(v) >= 0]
        counted = f" seq {', '.join(sent)}" if frame["name"] == "Produce" and sent else ""
        words = (
            frame["id"].partition("~")[0]
            + counted
            + (f" · attempt {frame['attempt']}" if frame["attempt"] > 1 and not frame["of"] else "")
        )
        words += " · copy" if frame["copy_of"] else ""
        bad = frame["error"] not in ("", "NONE")
        words += f" · {frame['error']}" if bad else ""
        right = loop > 0 or x2 > x1
        x, y = x1 + (abs(loop) + 8) * (1 if right else -1), y1 + (8 if loop else -4)
        if frame["copy_of"]:
            x, y, right = end[0] + (-12 if right else 12), end[1] - 5, not right
        colour = RED if bad else CATEGORY_COLOUR[frame["category"]]
        self.text(x, y, words, colour, "start" if right else "end", HALO + (BOLD if bad else ""))

    def _chip(self, row: _Row, lane: float) -> None:
        event, centre = row.event, self.lanes.get(row.event["node"])
        words = self.payload["marks"].get(str(event["step"]), event["name"]) if centre else event["text"]
        words = fit(words, lane * 2.5 if centre else WIDTH - 2 * MARGIN - GUTTER - 20, 11.5)
        wide = width_of(words, 11.5) + 14
        left = max(MARGIN + GUTTER, min((centre or WIDTH / 2) - wide / 2, WIDTH - MARGIN - wide - 2))
        colour = MARK.get(event["kind"], RULE)
        look = f' fill="{WHITE}" rx="{2 if event["kind"] == "append" else 9}"'
        self.box(left, row.y + 4, wide, 19, colour, look)
        self.text(left + wide / 2, row.y + 17.5, words, RED if colour == RED else DARK, "middle", ' font-size="11.5"')

    # states and logs

    def states(self) -> None:
        """Groups, what leaders remember, and a rail of states for each of the newest transactional ids."""
        lines = [group_line(name, known) for name, known in self.shown.groups.items()]
        for line in [*lines, *(m for p in self.payload["partitions"] for m in memory_lines(p, self.shown))]:
            self.text(MARGIN, self.y + 14, fit(line, WIDTH - 2 * MARGIN))
            self.y += 18
        for tid, known in list(self.shown.transactions.items())[-RAILS:]:
            self._transaction(tid, known)

    def _transaction(self, tid: str, known: dict[str, Any]) -> None:
        x = WIDTH - MARGIN - static_rail.WIDTH
        self.text(MARGIN, self.y + 14, fit(f"{tid}: producer {known['producer_id']}, epoch {known['epoch']}", x - 40))
        told = f"pending: {known['pending']}" if known["pending"] else ", ".join(known["partitions"])
        if told:
            self.text(MARGIN, self.y + 31, fit(told, x - 40), AMBER if known["pending"] else DIM)
        if known["state"] in static_rail.RAIL:
            static_rail.rail(self, known, x, self.y + 2)
        else:
            self.text(x, self.y + 22, known["state"], more=BOLD)
        self.y += static_rail.HEIGHT + 8
