"""Inside a notebook's kernel: keep of each picture that a cell shows what a browser needs to show it without Python.

`notebooks.run_solution` puts `PREAMBLE` before the first cell of a solution. Each picture that is displayed then adds
an entry of the type `KEPT` to its output: the picture's part, its models, and how its run is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ipywidgets import Widget, widget_serialization

from kafkalab.grading.builder import FIGURE
from kafkalab.reference.gallery import Gallery
from kafkalab.sim.codec import code_of
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.parts import Part
from kafkalab.widgets.views.predict import ASKED, RIGHT, WRONG, Predict
from kafkalab.widgets.views.predict import KEPT as ANSWERED
from kafkalab.widgets.views.view import Picture

KEPT = "application/vnd.kafkalab.picture+json"
GALLERY = "application/vnd.kafkalab.gallery+json"
PREAMBLE = "from kafkalab.site.book.recorder import record_pictures\nrecord_pictures()\n"
TEXT = "text/plain"
OF_WIDGETS = ("layout", "tabbable", "tooltip", "parts", "comm", "_own_id")
"""Values of a model that only ipywidgets uses."""

Kept = dict[str, Any]


def record_pictures() -> None:
    """Let each picture and each gallery that is displayed from now on describe itself for a page without a kernel."""
    _add_to_output(Picture, KEPT, describe_picture)
    _add_to_output(Gallery, GALLERY, describe_gallery)


def _add_to_output(kind: Any, name: str, describe: Callable[[Any], Kept]) -> None:
    shown = kind._repr_mimebundle_

    def described(widget: Any, **kwargs: Any) -> Any:
        data, metadata = shown(widget, **kwargs)
        return {**data, name: describe(widget)}, metadata

    kind._repr_mimebundle_ = described


def describe_gallery(gallery: Gallery) -> Kept:
    """Return the gallery's list as a picture, and by key what it shows: the words and the picture of each exhibit."""
    exhibits = {}
    for _, key, _ in gallery.chooser.entries:
        words, picture = gallery.exhibit(key)
        exhibits[key] = {"words": words, **_with_static(picture)}
        picture.close()
    return {"list": _with_static(gallery.chooser), "exhibits": exhibits}


def _with_static(picture: Picture) -> Kept:
    return {KEPT: describe_picture(picture), FIGURE: picture.svg(), TEXT: picture.text()}


def describe_picture(picture: Picture) -> Kept:
    """Return the picture's `part`, and the values of its models by id; `root` is the picture's own."""
    models: dict[str, Kept] = {}
    _collect(picture, models)
    return {"part": picture.part, "root": picture.model_id, "models": models}


def _collect(widget: Widget, models: dict[str, Kept]) -> None:
    """Add the values of a widget's model, and those of each widget that it names."""
    if widget.model_id in models or isinstance(widget, Part):
        return
    if isinstance(widget, Journey):
        widget.known_report()
    elif isinstance(widget, Compare):
        widget.known_verdicts()
    state = widget.get_state()
    values = {name: value for name, value in state.items() if not name.startswith("_") and name not in OF_WIDGETS}
    models[widget.model_id] = {"values": values}
    if isinstance(widget, Journey):
        models[widget.model_id]["code"] = _code_of(widget)
    elif isinstance(widget, Predict):
        models[widget.model_id]["card"] = _card_of(widget)
    for child in _named_in(values):
        _collect(child, models)


def _named_in(value: Any) -> list[Widget]:
    """Return the widgets that a value names, at any depth."""
    if isinstance(value, dict):
        return [widget for part in value.values() for widget in _named_in(part)]
    if isinstance(value, list):
        return [widget for part in value for widget in _named_in(part)]
    found = widget_serialization["from_json"](value, None)
    return [found] if isinstance(found, Widget) else []


def _code_of(journey: Journey) -> str:
    """Return the code of the run shown; "" for a run that no code can make again."""
    try:
        return code_of(journey.scenario)
    except ValueError:
        return ""


def _card_of(card: Predict) -> dict[str, str]:
    """Return the card's answer, sealed, and its sentences."""
    return {"sealed": card.sealed(), "asked": ASKED, "kept": ANSWERED, "right": RIGHT, "wrong": WRONG}
