"""The frame of static pictures: white, with a title and the sentence of the step."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalab.palette import DIM, RED, RULE
from kafkalab.widgets.payload.text import Payload, head_of
from kafkalab.widgets.views.canvas import BOLD, MARGIN, WIDTH, Canvas, fit, standalone
from kafkalab.widgets.views.heading import where


class StaticFrame(Canvas):
    """A canvas below a heading with the run, the position and what happens."""

    def __init__(self, payload: Payload, step: int, places: Sequence[int], title: str) -> None:
        super().__init__(y=MARGIN)
        self.label = f"{title}: {payload['title']}, step {step}"
        place = where(payload, step, places)
        head = f"{title} · {head_of(payload)}"
        self.text(MARGIN, self.y + 12, fit(head, WIDTH - 260), more=BOLD)
        self.text(WIDTH - MARGIN, self.y + 12, place, DIM, "end")
        sentence = fit(payload["events"][step]["text"], WIDTH - 2 * MARGIN, 14)
        self.text(MARGIN, self.y + 33, sentence, more=' font-size="14"')
        self.y += 46
        if payload["faults"]:
            self.text(MARGIN, self.y + 8, fit("faults: " + ", ".join(payload["faults"]), WIDTH - 2 * MARGIN), RED)
            self.y += 20

    def rule(self) -> None:
        """Draw a line across."""
        self.path(f"M{MARGIN:g},{self.y:g}H{WIDTH - MARGIN:g}", RULE, 1)
        self.y += 4

    def svg(self) -> str:
        """Return the parts on a white, rounded background."""
        return standalone(self, self.label)
