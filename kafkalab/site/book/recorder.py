"""Inside a notebook's kernel: keep of each picture that a cell shows what a browser needs to show it without Python.

`notebooks.run_solution` puts `PREAMBLE` before the first cell of a solution. Each picture that is displayed then adds
an entry of the type `KEPT` to its output: the picture's part, its models, and how its run is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ipywidgets import Widget, widget_serialization

from kafkalab.reference.gallery import Gallery
from kafkalab.sim.codec import code_of
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.parts import Part
from kafkalab.widgets.views.predict import COMPARE, RIGHT, WRONG, Predict
from kafkalab.widgets.views.predict import KEPT as ANSWERED
from kafkalab.widgets.views.view import Picture

KEPT = "application/vnd.kafkalab.picture+json"
PREAMBLE = "from kafkalab.site.book.recorder import record_pictures\nrecord_pictures()\n"
EXHIBITS = "exhibits"
OF_WIDGETS = ("layout", "tabbable", "tooltip", "parts", "comm", "_own_id")
"""Values of a model that only ipywidgets uses."""
ONLY_HERE = "this run is made by the notebook's own code: open the notebook to change it"

Kept = dict[str, Any]
SHOWN: dict[str, Kept] = {}
"""The journeys so far that a code makes again, by `state_of` them, with the "parts" of their pictures."""


def record_pictures() -> None:
    """Let each picture that is displayed from now on describe itself for a page without a kernel; galleries, too."""
    _add_to_what_is_shown(Picture, describe_picture)
    _add_to_what_is_shown(Gallery, describe_gallery)


def _add_to_what_is_shown(kind: Any, describe: Callable[[Any], Kept]) -> None:
    shown = kind._repr_mimebundle_

    def with_description(thing: Any, **kwargs: Any) -> Any:
        data, metadata = shown(thing, **kwargs)
        return {**data, KEPT: describe(thing)}, metadata

    kind._repr_mimebundle_ = with_description


@contextmanager
def not_foretold() -> Iterator[None]:
    """Within, pictures describe themselves, and nothing is told of what presses would make of their runs."""
    before = deepcopy(SHOWN)
    yield
    SHOWN.clear()
    SHOWN.update(before)


def describe_gallery(gallery: Gallery) -> Kept:
    """Return of each exhibit its key, title, words and picture; and which is chosen."""
    exhibits = []
    for exhibit in gallery.exhibits:
        words, picture = exhibit.show()
        exhibits.append([exhibit.key, exhibit.title, words, picture._repr_mimebundle_()[0]])
    return {EXHIBITS: exhibits, "chosen": gallery.chooser.chosen}


def describe_picture(picture: Picture) -> Kept:
    """Return the picture's `part`, and the values of its models by id; `root` is the picture's own."""
    models: dict[str, Kept] = {}
    _collect(picture, models)
    for journey in (model for model in models.values() if model.get("codes")):
        SHOWN.setdefault(state_of(journey), {**journey, "parts": set()})["parts"].add(picture.part)
    return {"part": picture.part, "root": picture.model_id, "models": models}


def state_of(journey: Kept) -> str:
    """Return what tells a journey's runs, and which of them is shown, from those of others."""
    return json.dumps([journey["codes"], journey["values"]["place"]])


def _collect(widget: Widget, models: dict[str, Kept]) -> None:
    """Add the values of a widget's model, and those of each widget that it names."""
    if widget.model_id in models or isinstance(widget, Part):
        return
    if isinstance(widget, Journey):
        widget.report()
    elif isinstance(widget, Compare):
        widget.known_verdicts()
    state = widget.get_state()
    values = {name: value for name, value in state.items() if not name.startswith("_") and name not in OF_WIDGETS}
    models[widget.model_id] = {"values": values, "part": getattr(widget, "part", "")}
    if isinstance(widget, Journey):
        models[widget.model_id]["codes"] = _codes_of(widget)
    elif isinstance(widget, Predict):
        models[widget.model_id]["card"] = _card_of(widget)
    for child in _named_in(values):
        _collect(child, models)


def _named_in(value: object) -> list[Widget]:
    """Return the widgets that a value names, at any depth."""
    if isinstance(value, dict):
        return [widget for part in value.values() for widget in _named_in(part)]
    if isinstance(value, list):
        return [widget for part in value for widget in _named_in(part)]
    found = widget_serialization["from_json"](value, None)
    return [found] if isinstance(found, Widget) else []


def _codes_of(journey: Journey) -> list[str]:
    """Return the codes of the journey's runs; none if no code can make one of them again."""
    if journey.payload["actions"]["fixed"]:
        return []
    try:
        return [code_of(scenario) for scenario in journey.scenarios]
    except ValueError:
        return []


def _card_of(card: Predict) -> dict[str, str]:
    """Return the card's answer, sealed, and its sentences."""
    sentences = {"asked": card.asked, "kept": ANSWERED, "right": RIGHT, "wrong": WRONG, "compare": COMPARE}
    return {"sealed": card.seal_answer(), **sentences}


def fix(payload: str) -> str:
    """Return the packed payload with the reason why nothing can be pressed, where it has none of its own yet."""
    values = json.loads(payload)
    values["actions"]["fixed"] = values["actions"]["fixed"] or ONLY_HERE
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)
