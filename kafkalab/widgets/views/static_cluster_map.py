"""The cluster map as a picture that needs no program: nodes on an ellipse, frames in flight, walls, replicas below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kafkalab.palette import CATEGORY_COLOUR, DARK, DIM, GREEN, RED, WHITE
from kafkalab.widgets.payload.cluster import end_of, home_of, list_coordinated, list_replicated, replica_word
from kafkalab.widgets.payload.text import Payload, ViewState, replay
from kafkalab.widgets.views.canvas import BOLD, FLAT, HALO, MARGIN, WIDTH, fit
from kafkalab.widgets.views.static_frame import StaticFrame

CARD, TALL, HEIGHT = 190.0, 66.0, 330.0
SIGN = {"up": "●", "paused": "‖ paused", "down": "✕ crashed"}
SMALL = ' font-size="10.5"'
Point = tuple[float, float]


def draw(payload: Payload, step: int, places: Sequence[int], flying: list[dict[str, Any]]) -> str:
    """An SVG of the cluster at a step, with these frames in flight."""
    canvas = StaticFrame(payload, step, places, "Cluster")
    canvas.rule()
    picture = _Map(canvas, payload, replay(payload, step))
    picture.flights(flying)
    picture.walls()
    picture.cards()
    canvas.y += HEIGHT + 10
    picture.replicas()
    return canvas.svg()


def places_of(nodes: list[dict[str, str]]) -> dict[str, Point]:
    """Return each node's place in a field of one by one: clients left, brokers on an ellipse, the controller right."""
    clients, brokers = ([n["id"] for n in nodes if n["kind"] == kind] for kind in ("client", "broker"))
    places = {c: (0.1, (i + 0.5) / len(clients)) for i, c in enumerate(clients)}
    angles = [math.tau * i / len(brokers) - math.pi / 2 for i in range(len(brokers))]
    low, high = min(map(math.sin, angles)), max(map(math.sin, angles))
    for broker, angle in zip(brokers, angles, strict=True):
        y = 0.15 + 0.7 * (math.sin(angle) - low) / (high - low) if high > low else 0.5
        places[broker] = (0.55 + (0.26 * math.cos(angle) if len(brokers) > 1 else 0.0), y)
    return places | {n["id"]: (0.885, 0.14) for n in nodes if n["kind"] == "controller"}


class _Map:
    def __init__(self, canvas: StaticFrame, payload: Payload, shown: ViewState) -> None:
        self.canvas, self.payload, self.shown = canvas, payload, shown
        wide = WIDTH - 2 * MARGIN
        self.at = {n: (MARGIN + x * wide, canvas.y + y * HEIGHT) for n, (x, y) in places_of(payload["nodes"]).items()}

    def flights(self, flying: list[dict[str, Any]]) -> None:
        """A line and an envelope for each frame in flight; several of one way share the line."""
        ways: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for frame in flying:
            ways.setdefault((frame["from"], frame["to"]), []).append(frame)
        for (a, b), frames in ways.items():
            if a == b:
                x, y = self.at[a]
                colour = CATEGORY_COLOUR[frames[0]["category"]]
                self.canvas.text(x, y - TALL / 2 - 6, f"↻ {frames[0]['id']}", colour, "middle", HALO)
                continue
            self._line(a, b, frames)

    def _line(self, a: str, b: str, frames: list[dict[str, Any]]) -> None:
        (x1, y1), (x2, y2) = self.at[a], self.at[b]
        way = math.hypot(x2 - x1, y2 - y1)
        dx, dy = -(y2 - y1) / way * 9, (x2 - x1) / way * 9
        colour = CATEGORY_COLOUR[frames[0]["category"]]
        self.canvas.path(
            f"M{x1 + dx:g},{y1 + dy:g}L{x2 + dx:g},{y2 + dy:g}", colour, 1.4, FLAT + ' stroke-dasharray="6 4"'
        )
        x, y = x1 + (x2 - x1) * 0.55 + dx, y1 + (y2 - y1) * 0.55 + dy
        self.canvas.path(f"M{x - 8:g},{y - 6:g}h16v12h-16zl8,6l8,-6", colour, 1.5, f' fill="{WHITE}"')
        held = ", held" if self.shown.held.get(frames[0]["id"]) else ""
        more = f" +{len(frames) - 1}" if len(frames) > 1 else ""
        self.canvas.text(x, y - 9, f"{frames[0]['id']}{held}{more}", colour, "middle", HALO + ' font-size="11"')

    def walls(self) -> None:
        """A wall across the way between each pair that is cut."""
        for (a, b), yes in sorted(self.shown.cuts.items()):
            if yes and a in self.at and b in self.at:
                (x1, y1), (x2, y2) = self.at[a], self.at[b]
                turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
                x, y = (x1 + x2) / 2, (y1 + y2) / 2
                self.canvas.path(f"M{x1:g},{y1:g}L{x2:g},{y2:g}", RED, 1, FLAT + ' stroke-dasharray="1 5"')
                bricks = "M-6,-30h12v60h-12zM-6,-18h12M-6,-6h12M-6,6h12M-6,18h12M0,-30v12M0,-6v12M0,18v12"
                more = f' fill="{WHITE}" transform="translate({x:g},{y:g}) rotate({turn:.1f})"'
                self.canvas.path(bricks, RED, 1.6, more)
                self.canvas.text(x + 12, y - 34, "cut", RED, "middle", HALO + BOLD)

    def cards(self) -> None:
        """A box for each node: who it is, how it is, what it does."""
        for node in self.payload["nodes"]:
            x, y = self.at[node["id"]]
            life = self.shown.nodes.get(node["id"], "up")
            dashes = {"down": ' stroke-dasharray="2 4"', "paused": ' stroke-dasharray="9 4"'}.get(life, "")
            look = f' fill="{WHITE}" rx="{16 if node["kind"] == "client" else 4}" stroke-width="1.6"{dashes}'
            self.canvas.box(x - CARD / 2, y - TALL / 2, CARD, TALL, RED if life == "down" else DARK, look)
            sign = SIGN[life] if life != "up" else ""
            self.canvas.text(
                x, y - TALL / 2 + 17, f"{node['label']} {sign}".strip(), RED if sign else DARK, "middle", BOLD
            )
            for i, line in enumerate(self._facts(node)[:3]):
                self.canvas.text(x, y - TALL / 2 + 32 + 13 * i, fit(line, CARD - 12, 10.5), DIM, "middle", SMALL)

    def _facts(self, node: dict[str, str]) -> list[str]:
        name, shown = node["id"], self.shown
        led = [p for p in self.payload["partitions"] if shown.leaders.get(p) == name and not p.startswith("__")]
        ours = list_coordinated(self.payload, shown, name)
        lines = [f"★ leads {', '.join(led)}"] if led else []
        lines += [f"◆ coordinates {', '.join(ours)}"] if ours else []
        known = shown.clients.get(name, {})
        ids = f"producer {known['producer_id']}, epoch {known['epoch']}" if known.get("producer_id", -1) >= 0 else ""
        return lines + [t for t in (known.get("state", ""), ids, known.get("last", "")) if t]

    def replicas(self) -> None:
        """A row for each partition, a column for each broker."""
        brokers = [n for n in self.payload["nodes"] if n["kind"] == "broker"]
        column = (WIDTH - 2 * MARGIN - 250) / len(brokers)
        self.canvas.rule()
        for i, broker in enumerate(brokers):
            self.canvas.text(MARGIN + 250 + column * i, self.canvas.y + 14, broker["label"], more=BOLD)
        self.canvas.y += 20
        for partition in list_replicated(self.payload):
            home = home_of(self.payload, partition)
            name = f"{partition} ({home})" if home else partition
            self.canvas.text(MARGIN, self.canvas.y + 13, fit(name, 244, 11.5), more=' font-size="11.5"')
            for i, broker in enumerate(brokers):
                word = replica_word(self.shown, partition, broker["id"])
                told = f"{'★ ' if word == 'leader' else ''}{word}, end {end_of(self.shown, partition, broker['id'])}"
                pen = {"leader": GREEN, "out of sync": RED, "in sync": DARK}.get(word, DIM)
                x = MARGIN + 250 + column * i
                self.canvas.text(x, self.canvas.y + 13, told if word != "–" else word, pen, more=' font-size="11.5"')
            self.canvas.y += 17
