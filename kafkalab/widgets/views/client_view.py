"""The client's-eye view: what an application knows at the cursor, and nothing else, until it is revealed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import traitlets

from kafkalab.limits import quote
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.presses import MOVES, check_known, move_cursor
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.static_client_view import draw
from kafkalab.widgets.views.view import Source, View

KNOWN = ("invoke", "complete")
AT_ONCE = ("begin_transaction",)
"""Calls that return without a request: no application waits in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKnowledge:
    """An application's knowledge: its moments up to a step, what it waits for, its clock.

    `meanwhile` has, for each moment and for now, the events before it that the application cannot know.
    """

    moments: list[dict[str, Any]]
    meanwhile: list[list[dict[str, Any]]]
    waits: str
    clock_ms: int
    alive: bool


def known_by(payload: dict[str, Any], node: str, step: int, stops: list[int]) -> ClientKnowledge:
    """Return what `node` knows at `step`, and which of the events at `stops` it does not know."""
    events, moments, waits = payload["events"], [], ""
    meanwhile: list[list[dict[str, Any]]] = [[]]
    visible = set(stops)
    for event in events[: step + 1]:
        if event["node"] == node and event["kind"] in KNOWN:
            moments.append(event)
            meanwhile.append([])
            waits = event["name"] if event["kind"] == "invoke" and event["name"] not in AT_ONCE else ""
        elif event["step"] in visible:
            meanwhile[-1].append(event)
    alive = replay(payload, step).nodes.get(node, "up") != "down"
    return ClientKnowledge(
        moments=moments, meanwhile=meanwhile, waits=waits if alive else "", clock_ms=events[step]["at"], alive=alive
    )


class ClientView(View):
    """An application's view of a run: `ClientView(lab03())`, `ClientView(journey, node="app")`.

    Its calls, their answers or exceptions, what its polls returned, its own clock. While `revealed` is false the arrow
    keys go from one such moment to the next, and nothing else of the run is shown.
    """

    part = "client_view"

    SETTABLE = ("node", "revealed")

    node = traitlets.Unicode().tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)

    def __init__(self, run: Source, node: str = "", size: str = "laptop", revealed: bool = False) -> None:
        """Show the client `node`; without one, the first client. ValueError if no client has this name."""
        journey = Journey.of(run)
        clients = [n["id"] for n in journey.payload["nodes"] if n["kind"] == "client"]
        if not clients:
            raise ValueError("no client takes part in this run: give the scenario a Program, or connect a client")
        node = check_known(node or clients[0], clients, f"no client is called {quote(node)}")
        super().__init__(journey, size, node=node, revealed=revealed)

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """As `Journey.press`; "reveal" shows what the client cannot know, or hides it again; moves go by moments."""
        if action == "reveal":
            self.revealed = not self.revealed
        elif action in MOVES:
            self.step = move_cursor(self.journey.every_stop() if self.revealed else self.moments(), self.step, action)
        else:
            super().press(action, target, **details)

    def moments(self) -> list[int]:
        """Return the steps at which the client learns something."""
        events = self.journey.payload["events"]
        return [e["step"] for e in events if e["node"] == self.node and e["kind"] in KNOWN]

    def collect_known(self) -> ClientKnowledge:
        """Return what the client knows at the cursor."""
        return known_by(self.journey.payload, self.node, self.step, self.journey.every_stop())

    def text(self) -> str:
        """Return the text twin: the moments, each with its time, and what the client waits for."""
        known = self.collect_known()
        lines = [f"What {self.node} knows at {known.clock_ms} ms of its clock"]
        for moment, unknown in zip([*known.moments, None], known.meanwhile, strict=True):
            if self.revealed:
                lines += [f"        ({e['at']} ms: {e['text']})" for e in unknown]
            if moment:
                lines.append(f"  {moment['at']:>5} ms  {moment['text']}")
        return "\n".join([*lines, f"  {self.present()}"])

    def present(self) -> str:
        """Return what the client is doing at the cursor, as a sentence."""
        known, shown = self.collect_known(), self.payload["events"][self.step]
        if shown["name"] == "recording stopped":
            return str(shown["text"])
        if not known.alive:
            return f"{self.node} is gone: it knows nothing any more."
        if known.waits:
            since = known.clock_ms - known.moments[-1]["at"]
            return f"{self.node} waits in {known.waits}() for {since} ms, and cannot know what happens meanwhile."
        return f"No transactional call of {self.node} is under way."

    def svg(self) -> str:
        """Return the same as a standalone SVG."""
        return draw(self.text().split("\n"), self.payload["title"])
