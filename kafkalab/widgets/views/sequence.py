"""The sequence view: a run stepped through frame by frame, with buttons that make new futures of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import traitlets

from kafkalab.limits import quote
from kafkalab.run.source import Source as RunSource
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import lines_at
from kafkalab.widgets.model.journey import SHOWN, Journey
from kafkalab.widgets.model.jumps import walk_lines
from kafkalab.widgets.model.messages import Content
from kafkalab.widgets.model.tried_rules import TriedRules
from kafkalab.widgets.model.what_if_strips import WhatIfStrips, strip_lines
from kafkalab.widgets.payload.text import flying_line, invitation_lines, text_at
from kafkalab.widgets.views import static_sequence as static_svg
from kafkalab.widgets.views.view import Source, View

TIMES = ("down", "across")


class Sequence(WhatIfStrips, TriedRules, View):
    """A run as a sequence diagram with logs and states: `Sequence(lab03())`, `Sequence(cluster, size="projector")`.

    `step` is the event up to which everything is shown; setting it moves the cursor and clamps. `groups` are the
    frames shown, but for those of nodes, APIs and transactional ids in `hidden`. The walk has at most 25 stops, or one
    in eight where a run is long; `press("every")` makes it stop at every frame. `press("drop")` does what the button
    does; `print(widget)` is the text twin of the picture. `time` is "down" or "across", the way that time runs on the
    screen; the text twin and the static picture are the same for both. `what_if` shows over the slider what becomes of
    the run if a node crashes, or the frame is lost, at each step.
    """

    part = "sequence"

    SETTABLE = ("time", "what_if")

    time = traitlets.Unicode("down").tag(sync=True)

    def __init__(
        self,
        run: Source,
        size: str = "laptop",
        groups: Iterable[str] | None = None,
        step: int | None = None,
        time: str = "down",
        what_if: bool = False,
    ) -> None:
        """Run to the end and put the cursor at `step`, or at the first stop; of a journey, where its cursor stands.

        TypeError for anything that is no run; ValueError for an unknown size, group or time, and for a cluster that
        kept no events.
        """
        if isinstance(run, Scenario | RunSource) and not hasattr(run, "journey"):
            super().__init__(Journey(run, SHOWN if groups is None else groups, step), size, time=time, what_if=what_if)
            return
        super().__init__(run, size, time=time, what_if=what_if)
        if groups is not None:
            self.groups = list(groups)
        if step is not None:
            self.step = step

    def handlers(self) -> dict[str, Callable[[Content], Any]]:
        """Return by kind of message what is done with it."""
        return TriedRules.handlers(self) | WhatIfStrips.handlers(self)

    @traitlets.validate("time")
    def _known_time(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in TIMES:
            raise ValueError(f"time runs {' or '.join(map(repr, TIMES))}, not {quote(proposal['value'])}")
        return str(proposal["value"])

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does: see `Journey.press`.

        `press("time")` turns the picture; `press("size")` makes all views of the journey as large as a projector needs
        them, or as small as they were; `press("what_if")` opens and closes the strips.
        """
        if action == "size":
            self.journey.size = "laptop" if (self.journey.size or self.size) == "projector" else "projector"
        elif action == "time":
            self.time = TIMES[1 - TIMES.index(self.time)]
        elif action == "what_if":
            self.what_if = not self.what_if
        else:
            super().press(action, target, **details)

    def text(self) -> str:
        """Return the text twin: what the picture shows at the cursor."""
        payload, places = self.payload, self.journey.stops()
        walked = walk_lines(payload, places, self.journey.fold(), self.step)
        flying = flying_line(payload, self.journey.in_flight())
        begin = invitation_lines(payload, self.step, self.groups, self.hidden)
        told = text_at(payload, self.step, tuple(self.groups), self.hidden, places, [*walked, flying, *begin])
        strips = strip_lines(self.futures(), places, self.step) if self.what_if else []
        return "\n".join([told, *lines_at(self.journey.known_report(), self.step), *strips])

    def svg(self) -> str:
        """Return the picture at the cursor as a standalone SVG."""
        report = self.journey.known_report()
        places = self.journey.stops()
        rows = self.futures() if self.what_if else []
        return static_svg.draw(self.payload, self.step, tuple(self.groups), self.hidden, report, places, rows)
