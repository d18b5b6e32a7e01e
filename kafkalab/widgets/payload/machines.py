"""The state of each transactional id, producer and group of a run at a step, for the state charts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kafkalab.widgets.payload.state_machines import Machine
from kafkalab.widgets.payload.text import Payload

OPS = {"coordinator": "txn", "producer": "client", "group": "group"}
NOTHING = {"coordinator": "no transactional id yet", "producer": "no producer yet", "group": "no group yet"}

FEW = 2
"""Of so many questions that lead to a state each is named: the run does not say which of them it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The state of a subject from a step on. `via` is the state it came from, "" where no arrow led here."""

    step: int
    subject: str
    state: str
    pending: str
    via: str
    node: str
    known: dict[str, Any]

    def is_told_by(self, other: Place) -> bool:
        """Return whether a chart of the other says the same."""
        mine, its = ((p.subject, p.state, p.pending, p.known) for p in (self, other))
        return mine == its

    def facts(self, label: str) -> list[str]:
        """In a few words each: ids, partitions, members, and who holds it (`label`)."""
        known = self.known
        if "generation" in known:
            members = [f"{m}: {', '.join(p) or 'nothing'}" for m, p in known["members"].items()]
            leader = [f"led by {known['leader']}"] if known["leader"] else []
            return [f"on {label}", f"generation {known['generation']}", *leader, *(members or ["no members"])]
        ids = (
            f"producer {known['producer_id']}, epoch {known['epoch']}"
            if known["producer_id"] >= 0
            else "no producer id"
        )
        return [f"on {label}" if "partitions" in known else f"in {label}", ids, *known.get("partitions", [])]


def places(payload: Payload, machine: Machine) -> list[Place]:
    """Every change of every subject of a machine, in the order of steps."""
    found: list[Place] = []
    last: dict[str, Place] = {}
    arrows = {(a, b) for a, _, b in machine.edges()}
    for event in payload["events"]:
        for op in event["patch"]:
            if op[0] != OPS[machine.name] or (op[0] == "client" and "tid" not in op[2]):
                continue
            known = op[2]
            subject = f"{op[1]} {known['tid']}".strip() if op[0] == "client" else op[1]
            node = op[1] if op[0] == "client" else known["node"]
            before = last.get(subject)
            via = _via(before, known["state"], known.get("pending", ""), node, arrows)
            last[subject] = Place(
                step=event["step"], subject=subject, state=known["state"], pending=known.get("pending", ""), via=via,
                node=node, known=known,
            )  # fmt: skip
            found.append(last[subject])
    return found


def _via(before: Place | None, state: str, pending: str, node: str, arrows: set[tuple[str, str]]) -> str:
    if before is None or before.node != node:
        return ""
    if before.state == state:
        again = (state, state) in arrows and not pending and not before.pending
        return state if again else before.via if pending else ""
    return before.state


def place_at(found: list[Place], step: int, subject: str) -> Place | None:
    """Return the subject's place at a step; with "" the one that changed last; None before anything has."""
    until = [p for p in found if p.step <= step and subject in ("", p.subject)]
    return until[-1] if until else None


def turns_of(found: list[Place], subject: str, stops: Sequence[int]) -> list[int]:
    """Return the stops at which the chart of a subject, or with "" of the one that changed last, shows something else.

    ← and → go from one to the next.
    """
    shown = [p for p in found if subject in ("", p.subject)]
    changes = shown[:1] + [p for before, p in pairwise(shown) if not p.is_told_by(before)]
    at = [bisect_left(stops, p.step) for p in changes]
    return [stops[i] for i in sorted(set(at)) if i < len(stops)]


def chart_text(
    payload: Payload,
    machine: Machine,
    found: list[Place],
    step: int,
    subject: str,
    turns: list[int],
    what_if: bool,
    question: str,
) -> list[str]:
    """The chart in lines: the subject, its state and what that means, the arrow that fired, all cells of the state."""
    place = place_at(found, step, subject)
    change = f"  change {bisect_right(turns, step)} of {len(turns)} in this chart: ← and → go from one to the next"
    if place is None:
        nothing = f"  {subject or NOTHING[machine.name]}" + (": nothing yet" if subject else "")
        return [machine.title, nothing, change]
    label = next((n["label"] for n in payload["nodes"] if n["id"] == place.node), place.node)
    lines = [
        machine.title,
        f"  {place.subject}: {place.state}" + (f" → {place.pending}, pending" if place.pending else ""),
    ]
    lines += [f"  {machine.states.get(place.state, '')}", f"  {' · '.join(place.facts(label))}"]
    if place.via:
        asked = questions(machine, place.via, place.state)
        because = f": {' or '.join(asked)}" if len(asked) <= FEW else ""
        lines.append(f"  came by {place.via} → {place.state}{because}")
    lines.append(change)
    for cell in machine.row(place.state) if what_if else []:
        sign = "> " if cell.ask == question else "  "
        lines.append(f"  {sign}{cell.ask} | {cell.answer or '–'} | {cell.to or 'stays'}")
        if cell.ask == question and cell.why:
            lines.append(f"      {cell.why}")
    return lines


def questions(machine: Machine, a: str, b: str) -> list[str]:
    """The questions that lead from one state to the other."""
    return [c.ask for c in machine.cells if (c.state, c.to) == (a, b)]
