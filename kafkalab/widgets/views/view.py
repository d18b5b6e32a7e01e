"""A view: one picture of a journey. Each has a text twin and a static SVG that show the same as the live picture."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeAlias

import traitlets
from ipywidgets import widget_serialization

from kafkalab.limits import quote
from kafkalab.run.run import Simulator
from kafkalab.run.source import Source as RunSource
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import MessageWidget
from kafkalab.widgets.views.heading import head_lines
from kafkalab.widgets.views.parts import LOADER, Part, parts_of

SIZES = ("laptop", "projector")


class Picture(MessageWidget):
    """A widget with a text twin and a static SVG, in a `size`. To be written: `part`, `text` and `svg`.

    `part` names the module of `pictures/src/` that draws it in the browser.
    """

    _esm = LOADER
    part: ClassVar[str]

    parts = traitlets.List(traitlets.Instance(Part)).tag(sync=True, **widget_serialization)
    size = traitlets.Unicode("laptop").tag(sync=True)

    @traitlets.default("parts")
    def _own_parts(self) -> list[Part]:
        return parts_of(self.part)

    @traitlets.validate("size")
    def _known_size(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in SIZES:
            raise ValueError(f"size is {' or '.join(map(repr, SIZES))}, not {quote(proposal['value'])}")
        return str(proposal["value"])

    def text(self) -> str:
        """Return the text twin: what the picture shows at the cursor."""
        raise NotImplementedError

    def svg(self) -> str:
        """Return the picture at the cursor as a standalone SVG with literal colours."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the live widget, and for places without a kernel the SVG and the text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "image/svg+xml": self.svg(), "text/plain": self.text()}, metadata


def _of_journey(name: str, doc: str) -> Any:
    """Return a property that reads and sets the journey's trait `name`."""
    return property(lambda view: getattr(view.journey, name), lambda view, to: setattr(view.journey, name, to), doc=doc)


class View(Picture):
    """A picture of a journey; every view of the same journey shows the same run at the same step.

    A view is made of a scenario, of a cluster, of a journey, or of another view, whose journey it then shares.
    """

    journey = traitlets.Instance(Journey).tag(sync=True, **widget_serialization)

    def __init__(self, run: Source, size: str = "laptop", **traits: Any) -> None:
        """Show `run`. TypeError for anything that is no run; ValueError for an unknown size, and see `Journey`."""
        super().__init__(journey=Journey.of(run), size=size, **traits)

    step: int = _of_journey("step", "The event up to which everything is shown; setting it clamps.")
    groups: list[str] = _of_journey("groups", "The categories of frames that are shown.")
    hidden: list[str] = _of_journey("hidden", "The nodes, APIs and transactional ids that are not shown.")
    can_undo: bool = _of_journey("can_undo", "Whether the run shown was made of another.")
    can_redo: bool = _of_journey("can_redo", "Whether a run was made of the one shown.")

    @property
    def cluster(self) -> Simulator:
        """The cluster whose run is shown: see `Journey.cluster`."""
        return self.journey.cluster

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the run that is shown."""
        return dict(self.journey.payload)

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does: see `Journey.press`."""
        self.journey.press(action, target, **details)

    def _head(self) -> list[str]:
        return head_lines(self.payload, self.step, self.journey.stops())

    def __repr__(self) -> str:
        payload = self.journey.payload
        return f"<{type(self).__name__} {payload['title']!r}, step {self.step} of {len(payload['events']) - 1}>"


class HasJourney(Protocol):
    """Another view, a `LiveCluster`, a `Tap`: its pictures share one journey."""

    @property
    def journey(self) -> Any:
        """The journey, which all views of it share."""


Source: TypeAlias = Scenario | RunSource | Journey | HasJourney
"""The sources that a view can be made of."""


def beside(known: list[str], here: str, by: int, what: str) -> str:
    """Return the entry `by` places after `here`; from nowhere the first or the last one.

    ValueError, which calls the entries `what`, beyond either end.
    """
    place = known.index(here) + by if here in known else (0 if by > 0 else len(known) - 1)
    if not 0 <= place < len(known):
        raise ValueError(f"this is the {'first' if by < 0 else 'last'} {what}")
    return known[place]
