"""The cost meter: what a run has cost up to the step shown, by API or by phase, and what one transaction costs."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import traitlets

from kafkalab.history.costs import BY, COLUMNS, PHASE_OF, PHASES, START, Costs, SizeOf, costs_of
from kafkalab.limits import quote
from kafkalab.palette import BLUE, DARK, DIM, RULE
from kafkalab.widgets.views.canvas import BOLD, Canvas, standalone
from kafkalab.widgets.views.view import Source, View

HEADS = {"frames": "frames", "bytes": "bytes", "entries": "log entries", "round_trips": "round trips", "ms": "ms"}
ONE = "per transaction"


class CostMeter(View):
    """The cost of a run up to the step that is shown: `CostMeter(walk, size_of=frame_bytes)`.

    `by` is "api" or "phase". `size_of` (kafkalab/wire/frame_bytes.py) says how long a frame is; without it no bytes
    are shown. `rows()` is the table as plain data, `print(meter)` as text.
    """

    part = "cost_meter"
    SETTABLE = ("by",)

    by = traitlets.Unicode("api").tag(sync=True)
    costs = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Source, by: str = "api", size_of: SizeOf | None = None, size: str = "laptop") -> None:
        """See `View`. ValueError for any other `by`."""
        self._size_of = size_of
        super().__init__(run, size, by=by)
        self._count()
        self.journey.observe(self._count, "payload")

    @traitlets.validate("by")
    def _known_by(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in BY:
            raise ValueError(f"by is 'api' or 'phase', not {quote(proposal['value'])}")
        return str(proposal["value"])

    def _count(self, _: Any = None) -> None:
        counted = self._costs = costs_of(self.journey.run, self._size_of)
        self.costs = {
            "phases": PHASE_OF,
            "order": [*PHASES, "other"],
            "start": START,
            "trips": [list(astuple(trip)) for trip in counted.trips],
            "entries": [list(astuple(entry)) for entry in counted.entries],
            "decided": list(counted.decided),
        }

    @property
    def counted(self) -> Costs:
        """All that was counted of the run that is shown."""
        return self._costs

    def rows(self) -> list[dict[str, Any]]:
        """Return the table at the step shown: a row for each API or phase, "all", "per transaction" if one ended."""
        one = self._costs.per_transaction(self.step)
        return [*self._costs.rows(self.by, self.step), *([{"name": ONE, **one}] if one else [])]

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """`press("by", "phase")` changes the rows; everything else as `Journey.press`."""
        if action != "by":
            return super().press(action, target, **details)
        self.by = target

    def sentence(self) -> str:
        """Return how many transactions were decided by the step that is shown."""
        count = self._costs.transactions(self.step)
        return f"{count or 'No'} transaction{'' if count == 1 else 's'} decided by step {self.step}."

    def text(self) -> str:
        """Return the table as text."""
        cells = [["", *HEADS.values()], *([r["name"], *(format_cost(r[k]) for k in COLUMNS)] for r in self.rows())]
        wide = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join([row[0].ljust(wide[0]), *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True))])
            for row in cells
        ]
        return "\n".join([f"Cost by {self.by}: {self.sentence()}", *lines])

    def svg(self) -> str:
        """Return the table with a bar behind each number: its part of all."""
        canvas, rows = Canvas(y=32), self.rows()
        canvas.text(18, canvas.y, f"Cost by {self.by}", more=BOLD + ' font-size="15"')
        canvas.text(140, canvas.y, self.sentence(), DIM)
        whole = next(r for r in rows if r["name"] == "all")
        canvas.y += 28
        for i, head in enumerate(HEADS.values()):
            canvas.text(320 + i * 145, canvas.y, head, DIM, "end")
        for row in rows:
            canvas.y += 24
            is_sum = row["name"] in ("all", ONE)
            if row["name"] == "all":
                canvas.path(f"M18,{canvas.y - 16:g}H912", RULE, 1)
            canvas.text(18, canvas.y, row["name"], DARK, more=BOLD if is_sum else "")
            for i, key in enumerate(COLUMNS):
                x = 320 + i * 145
                if not is_sum and row[key] and whole[key]:
                    wide = 78 * row[key] / whole[key]
                    canvas.box(x - 40 - wide, canvas.y - 11, wide, 13, BLUE, f' fill="{BLUE}" fill-opacity="0.25"')
                canvas.text(x, canvas.y, format_cost(row[key]), DARK, "end", BOLD if is_sum else "")
        canvas.y += 14
        return standalone(canvas, f"Cost by {self.by}")


def format_cost(value: float | None) -> str:
    """ "1,234", "16.5"; "–" for what is not known."""
    return "–" if value is None else f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
