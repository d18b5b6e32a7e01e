"""The state chart: a transaction at its coordinator, a producer or a group, and what every question would get."""

from __future__ import annotations

from typing import Any

import traitlets

from kafkalab.limits import quote
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.presses import check_known, move_cursor, near
from kafkalab.widgets.payload.machines import Place, chart_text, place_at, places, turns_of
from kafkalab.widgets.payload.state_diagrams import read_diagram
from kafkalab.widgets.payload.state_machines import Machine, machine
from kafkalab.widgets.views.static_state_chart import draw
from kafkalab.widgets.views.view import Source, View, beside


class StateChart(View):
    """A state machine of a run: `StateChart(lab03())`, or of a journey: `StateChart(journey, "producer")`, or "group".

    `subject` is the transactional id, producer ("app payments-0") or group that is shown; "" is the one that changed
    last. `what_if` shows what every question would get in its present state, `question` is the one looked at.
    """

    part = "state_chart"

    SETTABLE = ("subject", "what_if", "question")

    machine = traitlets.Dict().tag(sync=True)
    picture = traitlets.Unicode("").tag(sync=True)
    subject = traitlets.Unicode("").tag(sync=True)
    what_if = traitlets.Bool(True).tag(sync=True)
    question = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        run: Source,
        name: str = "coordinator",
        size: str = "laptop",
        subject: str = "",
        version: str = "",
    ) -> None:
        """See `View`. ValueError for an unknown machine, subject or transaction version ("TV1", "TV2").

        Without `version` the coordinator's machine is that of the run's profile.
        """
        journey = Journey.of(run)
        version = version or ("TV2" if journey.payload["profile"].endswith("TV2") else "TV1")
        self._machine: Machine = machine(name, version)
        super().__init__(journey, size, machine=self._machine.plain(), picture=read_diagram(self._machine))
        self._choose(subject)

    def _places(self) -> list[Place]:
        return places(self.payload, self._machine)

    def _turns(self) -> list[int]:
        stops = self.journey.stops()
        end = stops[-1:] if self.payload.get("live") else []  # there → lets a frame go
        return list(dict.fromkeys([*turns_of(self._places(), self.subject, stops), *end]))

    def _is_at_the_end(self) -> bool:
        """Return True if → lets a frame go: the cursor is at the end of a run that goes on."""
        return bool(self.payload.get("live")) and self.step >= max(self.journey.stops(), default=0)

    def _choose(self, subject: str) -> None:
        known = list(dict.fromkeys(place.subject for place in self._places()))
        if subject and subject not in known:
            there = ", ".join(known) or "none"
            raise ValueError(f"this run has no {quote(subject)} to show; there is {there}{near(subject, known)}")
        self.subject, self.question = subject, ""

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does: left, right, up, down, what_if, subject, ask; else `View.press`.

        left and right go to the stop before or after at which this chart changes; where there is none, nothing happens.
        up and down go through the questions of the present state, ask takes one of them, subject a transactional id,
        producer or group. ValueError, and nothing changes, for one that is not there.
        """
        if action in ("left", "right") and not (action == "right" and self._is_at_the_end()):
            self.step = move_cursor(self._turns(), self.step, action)
        elif action in ("up", "down"):
            self._next(-1 if action == "up" else 1)
        elif action == "ask":
            self._ask(target)
        elif action == "what_if":
            self.what_if = not self.what_if
        elif action == "subject":
            self._choose(target)
        else:
            super().press(action, target, **details)

    def _asks(self) -> list[str]:
        place = place_at(self._places(), self.step, self.subject)
        if place is None:
            raise ValueError("nothing is known yet at this step; go forward")
        return [cell.ask for cell in self._machine.row(place.state)]

    def _ask(self, question: str) -> None:
        self.question, self.what_if = check_known(question, self._asks(), f"no question {quote(question)}"), True

    def _next(self, by: int) -> None:
        self.question, self.what_if = beside(self._asks(), self.question, by, "question"), True

    def text(self) -> str:
        """Return the text twin: the subject's state, the arrow that led there, and the answer to every question."""
        asked = self._turns(), self.what_if, self.question
        lines = chart_text(self.payload, self._machine, self._places(), self.step, self.subject, *asked)
        return "\n".join([*self._head(), *lines])

    def svg(self) -> str:
        """Return the chart at the cursor as a standalone SVG."""
        place = place_at(self._places(), self.step, self.subject)
        return draw(self.payload, self.step, self.journey.stops(), self._machine, place, self.what_if)
