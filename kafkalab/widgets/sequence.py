"""The sequence view: a run stepped through frame by frame, with buttons that make new futures of it."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets import static_svg
from kafkalab.widgets.code import code, style
from kafkalab.widgets.journey import Journey
from kafkalab.widgets.story_text import text_at
from kafkalab.widgets.view import View


class Sequence(View):
    """A run as a sequence diagram with logs and states: `Sequence(lab03())`, `Sequence(cluster, size="projector")`.

    `step` is the event up to which everything is shown; setting it moves the cursor and clamps. `groups` are the
    frames shown, but for those of nodes, APIs and transactional ids in `hidden`. `press("drop")` does what the button
    does; `print(widget)` is the text twin of the picture.
    """

    _esm = code("presses.js", "inspector.js", "sequence.js")
    _css = style("sequence.css")

    def __init__(
        self,
        run: Scenario | Cluster | Journey | View,
        size: str = "laptop",
        groups: Iterable[str] | None = None,
        step: int | None = None,
    ) -> None:
        """The run to its end, with the cursor at `step`, or at the first stop; of a journey, where its cursor stands.

        TypeError for anything that is no run; ValueError for an unknown size or group, and for a cluster that kept
        no events.
        """
        super().__init__(run, size)
        if groups is not None:
            self.groups = list(groups)
        if step is not None:
            self.step = step
        elif groups is not None and isinstance(run, (Scenario, Cluster)):
            self.press("home")

    def text(self) -> str:
        """The text twin: what the picture shows at the cursor."""
        return text_at(self.payload, self.step, tuple(self.groups), self.hidden)

    def svg(self) -> str:
        """The picture at the cursor as a standalone SVG."""
        return static_svg.draw(self.payload, self.step, tuple(self.groups), self.hidden)
