"""A view: one picture of a journey. Each has a text twin and a static SVG that say the same as the live picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets
from ipywidgets import widget_serialization

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey

SIZES = ("laptop", "projector")


class View(anywidget.AnyWidget):
    """A picture of a journey; every view of the same journey shows the same run at the same step.

    A view is made of a scenario, of a cluster, of a journey, or of another view, whose journey it then shares. To be
    written by each view: `_esm` and `_css` (see `code`), `text` and `svg`.
    """

    journey = traitlets.Instance(Journey).tag(sync=True, **widget_serialization)
    size = traitlets.Unicode("laptop").tag(sync=True)

    def __init__(self, run: Scenario | Cluster | Journey | View, size: str = "laptop", **traits: Any) -> None:
        """TypeError for anything that is no run; ValueError for an unknown size, and see `Journey`."""
        super().__init__(journey=Journey.of(run), size=size, **traits)

    @traitlets.validate("size")
    def _known_size(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in SIZES:
            raise ValueError(f"size is {' or '.join(map(repr, SIZES))}, not {proposal['value']!r}")
        return str(proposal["value"])

    # what all views of the journey share

    @property
    def cluster(self) -> Cluster:
        """The cluster whose run is shown."""
        return self.journey.cluster

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the run that is shown."""
        return dict(self.journey.payload)

    @property
    def step(self) -> int:
        """The event up to which everything is shown; setting it moves the cursor and clamps."""
        return int(self.journey.step)

    @step.setter
    def step(self, step: int) -> None:
        self.journey.step = step

    @property
    def groups(self) -> list[str]:
        """The groups of frames that are shown."""
        return list(self.journey.groups)

    @groups.setter
    def groups(self, groups: Iterable[str]) -> None:
        self.journey.groups = list(groups)

    @property
    def hidden(self) -> list[str]:
        """The nodes, APIs and transactional ids that are not shown."""
        return list(self.journey.hidden)

    @hidden.setter
    def hidden(self, hidden: Iterable[str]) -> None:
        self.journey.hidden = list(hidden)

    @property
    def can_undo(self) -> bool:
        """Whether the run shown was made of another."""
        return bool(self.journey.can_undo)

    @property
    def can_redo(self) -> bool:
        """Whether a run was made of the one shown."""
        return bool(self.journey.can_redo)

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """What the button of this name does: see `Journey.press`."""
        self.journey.press(action, target, **details)

    # without a browser

    def text(self) -> str:
        """The text twin: what the picture shows at the cursor."""
        raise NotImplementedError

    def svg(self) -> str:
        """The picture at the cursor as a standalone SVG with literal colours."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        payload = self.journey.payload
        return f"<{type(self).__name__} {payload['title']!r}, step {self.step} of {len(payload['events']) - 1}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live widget, and for places without a kernel the SVG and the text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "image/svg+xml": self.svg(), "text/plain": self.text()}, metadata
