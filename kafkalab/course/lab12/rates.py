"""The rates at which inputs went wrong, with their intervals: a table and a bar chart.

The interval comes from resampling whole runs. The inputs of a run share its faults, so they are no independent draws:
one crash doubles several of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkalab.course.lab12.configurations import CONFIGURATIONS, FATES, LEVELS
from kafkalab.palette import AMBER, DARK, DIM, RED, RULE
from kafkalab.widgets.views.canvas import BOLD, Canvas, standalone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RESAMPLES, CONFIDENCE = 2_000, 0.95
WRONG = {"lost": RED, "more": AMBER}
"""The fates that break a promise, and the colours of their bars."""
SAID = {"lost": "lost", "more": "more than one effect"}
WIDTH, LEFT, RIGHT, LINE, TOP = 800.0, 240.0, 640.0, 17.0, 62.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of inputs, in percent, and the interval at CONFIDENCE; `runs` had any.

    Where no run had any, `high` is the upper bound: that many runs without one say no more.
    """

    percent: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        if not self.runs:
            return f"none (< {self.high:.1f} %)"
        return f"{self.percent:.1f} % ({self.low:.1f} to {self.high:.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One row of the table: what became of the inputs of a configuration, for readers of an isolation level."""

    configuration: str
    isolation_level: str
    counts: dict[str, int]
    shares: dict[str, Share]


class Rates:
    """The rates of several configurations; a notebook shows them as a bar chart, `print` as a table."""

    def __init__(self, rows: Sequence[Rate]) -> None:
        self.rows = tuple(rows)

    def __str__(self) -> str:
        head = ("configuration", "isolation level", *FATES, "lost, 95 %", "more, 95 %")
        cells: list[tuple[str, ...]] = [head]
        for row in self.rows:
            numbers = (f"{row.counts[fate]:,}" for fate in FATES)
            cells.append((row.configuration, row.isolation_level, *numbers, *(str(row.shares[f]) for f in WRONG)))
        wide = [max(len(line[i]) for line in cells) for i in range(len(head))]
        lines = [
            "  ".join(c.rjust(w) if 2 <= i < 6 else c.ljust(w) for i, (c, w) in enumerate(zip(line, wide, strict=True)))
            for line in cells
        ]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def svg(self) -> str:
        """Return the chart: two bars a row with their intervals; a bar of no run is only its upper bound."""
        canvas = Canvas(y=TOP + 2 * LINE * len(self.rows))
        most = max((share.high for row in self.rows for share in row.shares.values()), default=0.0) or 1.0
        canvas.text(18, 24, "Share of inputs, under the same drawn faults", DARK, more=BOLD)
        for place, (fate, colour) in enumerate(WRONG.items()):
            canvas.text(LEFT + 60 * place, 44, f"■ {SAID[fate]}", colour)
        canvas.text(WIDTH - 18, 24, "├─┤ 95 % of the resampled runs", DIM, "end")
        canvas.text(WIDTH - 18, 44, "┄┄┤ upper bound where no run had any", DIM, "end")
        for number, row in enumerate(self.rows):
            y = TOP + 2 * LINE * number
            canvas.path(f"M18 {y - 4:g}H{WIDTH - 18:g}", RULE, 0.6)
            canvas.text(18, y + 20, row.configuration, DARK)
            canvas.text(LEFT - 14, y + 20, row.isolation_level, DIM, "end")
            for place, (fate, colour) in enumerate(WRONG.items()):
                _bar(canvas, y + LINE * place, row.shares[fate], colour, most)
        label = "Shares of lost inputs and of inputs with more than one effect, by configuration"
        return standalone(canvas, label, WIDTH)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}


def _bar(canvas: Canvas, y: float, share: Share, colour: str, most: float) -> None:
    def x(percent: float) -> float:
        return LEFT + (RIGHT - LEFT) * percent / most

    middle = y + LINE / 2
    if share.percent:
        canvas.box(LEFT, y + 2, x(share.percent) - LEFT, LINE - 4, colour, f' fill="{colour}" fill-opacity="0.45"')
    ends = f"M{x(share.low):.1f} {y + 5:g}v7" * bool(share.runs) + f"M{x(share.high):.1f} {y + 5:g}v7"
    dashes = "" if share.runs else ' fill="none" stroke-dasharray="3 3"'
    canvas.path(f"M{x(share.low):.1f} {middle:g}H{x(share.high):.1f}", DARK, 1.2, dashes)
    canvas.path(ends, DARK, 1.2)
    canvas.text(x(share.high) + 6, middle + 4, str(share), DARK if share.runs else DIM)


def rates(fates: DataFrame, seed: int = 1) -> Rates:
    """Add up the fates of all runs and resample the runs; `seed` makes the intervals the same every time.

    `fates` has a row for each configuration, isolation level and run, with the columns lost, once, more, unfinished.
    ValueError for a column that is missing.
    """
    columns = ("configuration", "isolation_level", "run", *FATES)
    lacking = [name for name in columns if name not in fates.columns]
    if lacking:
        raise ValueError(f"the column {lacking[0]} is missing; there are {', '.join(fates.columns)}")
    return rates_of((tuple(row) for row in fates.select(*columns).collect()), seed)


def rates_of(rows: Iterable[tuple[Any, ...]], seed: int = 1) -> Rates:
    """Return the rates of rows (configuration, isolation level, run, lost, once, more, unfinished)."""
    by_place: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for configuration, level, _, *counts in sorted(rows):
        by_place.setdefault((configuration, level), []).append(tuple(counts))
    order = [(name, level) for name in CONFIGURATIONS for level in LEVELS]
    places = [*(p for p in order if p in by_place), *(p for p in by_place if p not in order)]
    return Rates([_rate(*place, by_place[place], seed) for place in places])


def _rate(configuration: str, level: str, runs: Sequence[tuple[int, ...]], seed: int) -> Rate:
    counts = {fate: sum(run[place] for run in runs) for place, fate in enumerate(FATES)}
    inputs = [sum(run) for run in runs]
    shares = {fate: share_of([run[FATES.index(fate)] for run in runs], inputs, seed) for fate in WRONG}
    return Rate(configuration=configuration, isolation_level=level, counts=counts, shares=shares)


def share_of(wrong: Sequence[int], inputs: Sequence[int], seed: int = 1) -> Share:
    """Return the share of `wrong` of `inputs`, given for each run, and its interval.

    As many runs are drawn with replacement, RESAMPLES times; the interval holds the middle 95 % of the shares. If no
    run had any, it ends at the share of runs that would still show none in as many runs with probability 5 %.
    """
    import numpy as np

    runs = len(inputs)
    some = sum(number > 0 for number in wrong)
    if not some:
        high = 1 - (1 - CONFIDENCE) ** (1 / runs) if runs else 1.0
        return Share(percent=0.0, low=0.0, high=100 * high, runs=0)
    drawn = np.random.default_rng(seed).integers(0, runs, (RESAMPLES, runs))
    shares = np.asarray(wrong)[drawn].sum(axis=1) / np.asarray(inputs)[drawn].sum(axis=1)
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    percent = 100 * sum(wrong) / sum(inputs)
    return Share(percent=percent, low=100 * float(low), high=100 * float(high), runs=some)
