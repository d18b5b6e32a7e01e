"""The Python side of the page: make the run that the address names, and answer what the page sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkalab.grading.challenge import Challenge, answer_challenge
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.limits import told
from kafkalab.sim.codec import code_of
from kafkalab.site.page.opening import opening
from kafkalab.site.page.pictures import picture_named
from kafkalab.site.page.stand_in import Page, Widget
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.listening import sentence
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.view import View

Message = dict[str, Any]
STOPPED = "Stopped. The run that was shown before is still there."


class Session:
    """A run that is shown, with its journey and its challenge. What it says goes to `post` as JSON."""

    def __init__(self, post: Callable[[str], None]) -> None:
        """Show every widget from now on in the page behind `post`."""
        self._post = post
        self.journey: Journey | None = None
        self.challenge: Challenge | None = None
        self.pictures: dict[tuple[str, str], View] = {}
        self._todo = {
            "open": self._open,
            "comm": self._comm,
            "picture": self._picture,
            "answer": self._answer,
            "digest": self._digest,
        }
        Widget.page = Page(self.post)

    def post(self, message: Message) -> None:
        """Send a message to the page."""
        self._post(json.dumps(message, ensure_ascii=False, separators=(",", ":")))

    @contextmanager
    def _as_one(self) -> Iterator[None]:
        """Send a new model with the values that it has at the end of the block; after an error send nothing."""
        models: dict[str, Message] = {}

        def collect(message: Message) -> None:
            if message["kind"] == "model":
                models[message["id"]] = message
            else:
                models[message["id"]]["state"] |= message["state"]

        Widget.page.post = collect
        try:
            yield
        finally:
            Widget.page.post = self.post
        for model in models.values():
            self.post(model)

    def receive(self, text: str) -> None:
        """Do what a message of the page asks for; what goes wrong is answered as a sentence."""
        message: Message = json.loads(text)
        try:
            self._todo[message["kind"]](message)
        except KeyboardInterrupt:
            self.post({"kind": "stopped", "text": STOPPED})
            if self.journey:
                self.journey.send({"kind": "error", "text": STOPPED})
        except (ValueError, RuntimeError) as error:
            self.post({"kind": "refused", "text": sentence(error)})

    def _open(self, message: Message) -> None:
        """Make the run that the address names, and show it in place of the present one."""
        found = opening(str(message.get("address", "")))
        with self._as_one():
            journey = Journey(found.scenario, step=found.step)
            if found.at:
                journey.press("find", found.at)
        for widget in list(Widget.page.widgets.values()):
            if widget is not journey:
                widget.close()
        self.journey, self.challenge, self.pictures = journey, found.challenge, {}
        view = Sequence(journey)
        self.post({"kind": "show", "id": view.model_id, "challenge": str(found.challenge or "")})
        self._tell_run()

    def _picture(self, message: Message) -> None:
        """Send a picture of the journey, made when it is first asked for; why there is none is said in its place."""
        if not self.journey:
            raise ValueError("this page shows no run yet")
        name, asked = str(message.get("name")), str(message.get("of", ""))
        picture = picture_named(name)
        subjects = picture.subjects(self.journey.payload)
        of = asked or next(iter(subjects), "")
        answer = {"kind": "picture", "ask": message.get("ask"), "of": of, "subjects": subjects, "note": picture.note}
        try:
            if (name, of) not in self.pictures:
                self.pictures[name, of] = picture.made(self.journey, of)
        except ValueError as error:
            self.post({**answer, "id": "", "why": sentence(error)})
        else:
            self.post({**answer, "id": self.pictures[name, of].model_id, "why": ""})

    def _comm(self, message: Message) -> None:
        """Hand a message of a model to its widget; one that is gone needs none."""
        if widget := Widget.page.widgets.get(message["id"]):
            shown = self.journey and self.journey.place
            widget._handle_msg({"content": {"data": message["data"]}})  # type: ignore[attr-defined]
            if self.journey and self.journey.place != shown:
                self._tell_run()

    def _tell_run(self) -> None:
        """Say which run is shown, so that the page can name it in a link, and make it again."""
        assert self.journey, "a run is shown"
        try:
            code, why = code_of(self.journey.scenario), ""
        except ValueError as error:
            code, why = "", told(str(error))
        self.post({"kind": "run", "code": code, "why": why, "title": self.journey.payload["title"]})

    def _digest(self, _: Message) -> None:
        """Say which run is shown by its digest, which takes as long as a press, so only who asks gets it."""
        if not self.journey:
            raise ValueError("this page shows no run yet")
        self.post({"kind": "digest", "digest": self.journey.cluster.trace.digest()})

    def _answer(self, message: Message) -> None:
        """Send the line to hand in for the presses of the run shown, or say what is missing."""
        if not self.challenge or not self.journey:
            raise ValueError("this page shows no challenge: its address ends with #challenge=…")
        try:
            line = answer_challenge(self.challenge.code, str(message.get("name", "")), self.journey)
        except WrongAnswer as wrong:
            self.post({"kind": "answered", "right": False, "text": str(wrong)})
        else:
            self.post({"kind": "answered", "right": True, "text": str(line)})


def start(post: Callable[[str], None]) -> Callable[[str], None]:
    """Return the function that takes the page's messages; `post` takes those for the page."""
    return Session(post).receive
