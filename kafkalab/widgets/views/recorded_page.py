"""A run as one file that any browser opens: no Python, no kernel, no network. The picture is that of `Sequence`."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import Any

from kafkalab.markup import Markup, element
from kafkalab.palette import declare_variables
from kafkalab.sim.codec import code_of, python_of
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.views.parts import read_built
from kafkalab.widgets.views.sequence import Sequence

JOURNEY = ("step", "groups", "hidden", "every", "opened", "verdict", "tree", "place", "can_undo", "can_redo", "size")
PARTS = ("common", "sequence", "recorded_page")


def recorded_page(journey: Journey, about: str = "", links: str = "") -> str:
    """Return the page of the run that the journey shows, which opens at the cursor, with its verdict.

    `about` is what the page says of the run above the picture, `links` the markup of links to other pages.
    It is one file of HTML: the run's steps, chapters and logs, what the checks found, both themes, keys and the words
    for a screen reader. Its address may name a place: `#step=54`, `#EndTxn#1`, `#chapter:decision`.
    """
    values = recorded_values(journey)
    view = Sequence(journey)
    title = journey.payload["title"]
    modules = [read_built(f"{name}.js") for name in PARTS]
    told = element("pre", view.text())
    view.close()
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{element("title", f"{title} · kafkalab")}
<style>{declare_variables(":root")}{"".join(read_built(f"{name}.css") for name in PARTS)}</style>
<header>{element("h1", title)}<button type="button" id="theme">light or dark</button></header>
<main>
{element("p", about) if about else ""}
<p>A recorded run of a Kafka cluster. The keys → and ← step through it, ? shows all keys. {links}</p>
<noscript><p>This page needs JavaScript. What it shows when it is opened:</p>{told}</noscript>
<div id="run"></div>
{_make_it_yours(journey)}
</main>
<script id="packed" type="text/plain">{_pack([*modules, values])}</script>
<script type="module">{read_built("recorded_page_opens.js")}</script>
</html>
"""


def recorded_values(journey: Journey) -> dict[str, dict[str, Any]]:
    """Return the values that the models of a journey and of its `Sequence` have in the browser, with the verdict."""
    journey.report()
    shown = {name: getattr(journey, name) for name in JOURNEY} | {"payload": pack(journey.payload)}
    return {"journey": shown, "view": {"size": "laptop", "time": "down", "what_if": False, "strips": {}}}


def _make_it_yours(journey: Journey) -> Markup:
    """Return how the run is made again in a notebook, or why it cannot be."""
    try:
        code, python = code_of(journey.scenario), python_of(journey.scenario)
    except ValueError as error:
        return element("p", f"This run can be looked at only: {error}.")
    return element(
        "details",
        element("summary", "Make this run yourself, and break it"),
        element("p", "In a lab of kafkalab, in a new cell:"),
        element("pre", python),
        element("p", "Or paste this code into ", element("code", "Share"), ":"),
        element("pre", code),
    )


def _pack(values: list[Any]) -> str:
    """Return JSON, compressed, in letters of which none means anything in HTML: a third of the size."""
    return b64encode(zlib.compress(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode(), 9)).decode()
