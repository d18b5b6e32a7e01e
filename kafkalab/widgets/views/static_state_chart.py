"""The state chart as a picture that needs no program: the committed layout with literal colours, and the cells."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from kafkalab.palette import AMBER, DARK, DIM, GREEN, RED
from kafkalab.widgets.payload.machines import NOTHING, Place
from kafkalab.widgets.payload.state_diagrams import SVG, read_diagram
from kafkalab.widgets.payload.state_machines import Machine
from kafkalab.widgets.payload.text import Payload
from kafkalab.widgets.views.canvas import BOLD, MARGIN, WIDTH, Canvas, fit
from kafkalab.widgets.views.static_frame import StaticFrame

Look = tuple[str, str, str]
SMALL = ' font-size="11.5"'


def draw(
    payload: Payload, step: int, places: Sequence[int], machine: Machine, place: Place | None, what_if: bool
) -> str:
    """An SVG of a machine at a step: the state drawn bold, what is pending dotted, the last arrow in green."""
    canvas = StaticFrame(payload, step, places, machine.title)
    canvas.rule()
    if place is None:
        canvas.text(MARGIN, canvas.y + 18, NOTHING[machine.name], DIM)
    else:
        label = next((n["label"] for n in payload["nodes"] if n["id"] == place.node), place.node)
        pending = f" → {place.pending}, pending" if place.pending else ""
        canvas.text(MARGIN, canvas.y + 18, f"{place.subject}: {place.state}{pending}", more=BOLD + ' font-size="15"')
        facts = " · ".join([machine.states.get(place.state, ""), *place.facts(label)])
        canvas.text(MARGIN, canvas.y + 36, fit(facts, WIDTH - 2 * MARGIN), DIM)
    canvas.y += 46
    _chart(canvas, machine, place)
    if place is not None and what_if:
        _cells(canvas, machine, place)
    return canvas.svg()


def _chart(canvas: StaticFrame, machine: Machine, place: Place | None) -> None:
    looks: dict[str, Look] = {}
    if place is not None:
        looks = {f"s_{place.pending}": (AMBER, "2.4", "2 4"), f"s_{place.state}": (GREEN, "3.6", "none")}
        if place.pending:
            looks[f"e_{place.state}__{place.pending}"] = (AMBER, "2.4", "2 4")
        elif place.via:
            looks[_arrow(machine, place.via, place.state)] = (GREEN, "2.4", "none")
    diagram = highlight(read_diagram(machine), looks)
    room = min(WIDTH - 2 * MARGIN, view_box(diagram)[2] * 1.35)
    canvas.y += embed(canvas, diagram, (WIDTH - room) / 2, canvas.y, room) + 12


def highlight(svg: str, looks: dict[str, Look]) -> ET.Element:
    """Return a state diagram without ids; draw those in `looks` bold, in their colour, line width and dashes."""
    ET.register_namespace("", SVG)
    root = ET.fromstring(svg)
    for group in root.iter(f"{{{SVG}}}g"):
        colour, width, dashes = looks.get(group.attrib.pop("id", ""), ("", "", ""))
        if colour:
            for path in group.iter(f"{{{SVG}}}path"):
                path.attrib.update({"stroke": colour, "stroke-width": width, "stroke-dasharray": dashes})
            group.set("font-weight", "bold")
    return root


def view_box(diagram: ET.Element) -> list[float]:
    """Return left, top, width and height of a diagram."""
    return [float(n) for n in re.findall(r"[-\d.]+", diagram.get("viewBox", "0 0 1 1"))]


def embed(canvas: Canvas, diagram: ET.Element, x: float, y: float, width: float, scale: float = 1.0) -> float:
    """Put a diagram at (x, y), `width` wide; return its height, `scale` times what its proportions need."""
    left, top, wide, high = view_box(diagram)
    height = high * width / wide * scale
    inner = "".join(ET.tostring(child, encoding="unicode") for child in diagram)
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    canvas.parts.append(f'<svg {size} viewBox="{left:g} {top:g} {wide:g} {high:g}">{inner}</svg>')
    return height


def _arrow(machine: Machine, a: str, b: str) -> str:
    drawn = {(x, y) for x, _, y in machine.edges()}
    return f"e_{a}__{b}" if (a, b) in drawn else f"e_any__{b}"


def _cells(canvas: StaticFrame, machine: Machine, place: Place) -> None:
    canvas.rule()
    columns = (MARGIN, MARGIN + 330, MARGIN + 650)
    head = (f"What if, in {place.state}:", "answer", "next state")
    for x, text in zip(columns, head, strict=True):
        canvas.text(x, canvas.y + 14, text, DARK if x == MARGIN else DIM, more=BOLD + SMALL)
    canvas.y += 18
    for cell in machine.row(place.state):
        room = (310, 310, 260)
        texts = (cell.ask, cell.answer or "–", f"→ {cell.to}" if cell.to else "stays")
        pens = (DARK, RED if cell.kind == "refuse" else DARK, GREEN if cell.to else DIM)
        for x, text, pen, wide in zip(columns, texts, pens, room, strict=True):
            canvas.text(x, canvas.y + 13, fit(text, wide, 11.5), pen, more=SMALL)
        canvas.y += 16
