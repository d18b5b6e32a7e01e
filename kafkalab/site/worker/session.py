"""The Python side of a page: make a journey of the page again when it is first asked something, and answer it.

The models in the page come first: each has an id and shows a recorded run. The widgets that are made here take over
these ids; from then on the page hears of what changes in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Any

from kafkalab.grading.challenge import answer_challenge
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.sim.codec import code_of, scenario_of_code
from kafkalab.site.worker.opening import opening
from kafkalab.site.worker.stand_in import Page, Widget
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import sentence
from kafkalab.widgets.payload.text import hideable

Message = dict[str, Any]
VIEWS = "kafkalab.widgets.views"
ELSEWHERE = {"incident_room": "kafkalab.diagnose.room"}
"""The modules of the pictures that are in no module of VIEWS, by their part."""


class Session:
    """The widgets of a page, by the ids of their models there. What it says goes to `post` as JSON."""

    def __init__(self, post: Callable[[str], None]) -> None:
        """Show every widget from now on in the page behind `post`."""
        self._post = post
        self._todo = {
            "open": self._open,
            "journey": self._journey,
            "view": self._view,
            "comm": self._comm,
            "answer": self._answer,
        }
        self._codes: dict[str, list[str]] = {}
        Widget.shown_in = Page(self.post)

    def post(self, message: Message) -> None:
        """Send a message to the page."""
        self._post(json.dumps(message, ensure_ascii=False, separators=(",", ":")))

    def receive(self, text: str) -> None:
        """Do what a message of the page asks for; what goes wrong is answered as a sentence."""
        message: Message = json.loads(text)
        try:
            self._todo[message["kind"]](message)
        except (ValueError, RuntimeError) as error:
            self.post({"kind": "custom", "id": message["id"], "content": {"kind": "error", "text": sentence(error)}})

    @contextmanager
    def _unheard(self) -> Iterator[None]:
        """Send nothing: the page has it already."""
        Widget.shown_in.post = lambda _: None
        try:
            yield
        finally:
            Widget.shown_in.post = self.post

    def _open(self, message: Message) -> None:
        """Make the run that an address names, and tell the page's model of it all; "opened" has its challenge."""
        found = opening(str(message["address"]))
        with self._unheard():
            journey = Journey(found.scenario, step=found.step)
            if found.at:
                journey.press("find", found.at)
            _take_over(journey, message)
        self._codes[message["id"]] = [code_of(journey.scenario)]
        self.post({"kind": "codes", "id": message["id"], "codes": self._codes[message["id"]]})
        journey.send_state()
        journey.send({"kind": "opened", "challenge": str(found.challenge or "")})

    def _journey(self, message: Message) -> None:
        """Make the runs of a journey again, of their codes, and take the place of its model."""
        codes, values = message["codes"], message["values"]
        with self._unheard():
            journey = Journey.again([scenario_of_code(code) for code in codes], values["tree"], values["place"])
            _take_over(journey, message)
            _set(journey, values)
        self._codes[message["id"]] = codes

    def _view(self, message: Message) -> None:
        """Make a picture, of the journey that it names if it is of one, and take the place of its model.

        A model without values gets all of them, and is "opened" then. One that is behind, since a press has made
        another run of its journey, gets those that the page may not set.
        """
        kind, values = kind_of(message["part"]), message["values"]
        journey = Widget.shown_in.widgets.get(message["journey"])
        with self._unheard():
            if journey is not None:
                view = kind(journey)
            else:
                view = kind(**{name: values[name] for name in signature(kind).parameters if name in values})
            _take_over(view, message)
            _set(view, values)
        if not values:
            view.send_state()
            view.send({"kind": "opened"})
        if message.get("behind"):
            told = (set(view.keys) & set(values)) - {"journey", *view.SETTABLE}
            news = [name for name, value in view.get_state(told).items() if value and value != values[name]]
            view.send_state(sorted(news))

    def _comm(self, message: Message) -> None:
        """Hand a message of a model to its widget; then tell the codes of the runs that it has made."""
        Widget.shown_in.widgets[message["id"]]._handle_msg({"content": {"data": message["data"]}})  # type: ignore[attr-defined]
        for id_, codes in self._codes.items():
            if made := Widget.shown_in.widgets[id_].scenarios[len(codes) :]:  # type: ignore[attr-defined]
                codes += map(code_of, made)
                self.post({"kind": "codes", "id": id_, "codes": codes})

    def _answer(self, message: Message) -> None:
        """Send the line to hand in for the presses of the run shown, or say what is missing."""
        journey = Widget.shown_in.widgets[message["id"]]
        try:
            line, right = str(answer_challenge(str(message["challenge"]), str(message["name"]), journey)), True
        except WrongAnswer as wrong:
            line, right = str(wrong), False
        journey.send({"kind": "answered", "right": right, "text": line})


def kind_of(part: str) -> Any:
    """Return the class of pictures whose part in the browser has this name."""
    module = import_module(ELSEWHERE.get(part, f"{VIEWS}.{part}"))
    return next(kind for kind in vars(module).values() if getattr(kind, "part", "") == part)


def _take_over(widget: Widget, message: Message) -> None:
    """Give the widget the id of the model in the page whose place it takes."""
    widgets = Widget.shown_in.widgets
    widgets[message["id"]] = widgets.pop(widget.model_id)
    widget.model_id = message["id"]


def _set(widget: Any, values: Message) -> None:
    """Set what the page may set to what it has; the cursor last, since the rest may move it."""
    if "hidden" in values:
        values["hidden"] = [name for name in values["hidden"] if name in hideable(widget.payload)]
    for name in sorted(set(widget.SETTABLE) & set(values), key=lambda name: name == "step"):
        setattr(widget, name, values[name])


def start(post: Callable[[str], None]) -> Callable[[str], None]:
    """Return the function that takes the page's messages; `post` takes those for the page."""
    return Session(post).receive
