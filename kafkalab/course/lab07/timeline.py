"""Time as a picture: who runs from when to when, on one axis, each with the limit that its clock keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.palette import AMBER, DARK, DIM, GREEN, HUES, PALE, RED, RULE, WHITE
from kafkalab.widgets.views.canvas import BOLD, MARGIN, Canvas, fit, standalone

ROLE = {"client": HUES["client"], "coordinator": HUES["txn-coordinator"]}
WIDTH, LEFT, RIGHT, LANE, BAR = 830.0, 186.0, 580.0, 30.0, 14.0
"""As wide as a cell at 1280x800 with the file browser open."""
STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3_600, 21_600, 86_400, 604_800)
DAY_S = 86_400
TICKS, MOST_LOOKS = 10, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something that runs from `start_ms` to `end_ms`; a clock that has a `limit_ms` should end it after that long."""

    start_ms: int
    end_ms: int
    limit_ms: int = 0
    says: str = ""
    struck: bool = False
    """True if it ended badly."""
    asleep: bool = False

    @property
    def due_ms(self) -> int:
        """The time at which its limit is reached; its end if it has none or ended before."""
        return min(self.end_ms, self.start_ms + self.limit_ms) if self.limit_ms else self.end_ms

    def __str__(self) -> str:
        limit = f", limit {seconds(self.limit_ms)}" if self.limit_ms else ""
        return f"{seconds(self.start_ms)} to {seconds(self.end_ms)}{limit}{': ' if self.says else ''}{self.says}"


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: its name, who keeps its clock ("client" or "coordinator"), its bars, and how the first of them ended."""

    name: str
    keeper: str
    bars: tuple[Bar, ...]

    @property
    def says(self) -> str:
        """Its end in words: what the first bar that ended badly says, and the last one if it did not."""
        awake = [bar for bar in self.bars if not bar.asleep]
        bad = [bar.says for bar in awake if bar.struck][:1]
        return ", then ".join([*bad, *(bar.says for bar in awake[-1:] if bar.says and not bar.struck)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The lanes of one run, below its name; `jumps` are the times that its clocks left out."""

    title: str
    lanes: tuple[Lane, ...]
    jumps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Parts over one another on the same axis; with `look_ms` the moments at which the coordinator looks are marked."""

    parts: tuple[Part, ...]
    look_ms: int = 0

    @property
    def end_ms(self) -> int:
        """The end of the last bar."""
        return max(bar.end_ms for part in self.parts for lane in part.lanes for bar in lane.bars)

    def __str__(self) -> str:
        wide = max(len(lane.name) for part in self.parts for lane in part.lanes)
        lines = []
        for part in self.parts:
            lines += [part.title] if part.title else []
            for lane in part.lanes:
                lines += [f"  {lane.name:{wide}}  {bar}" for bar in lane.bars]
            for start, end in part.jumps:
                lines.append(f"  {'all clocks':{wide}}  jump from {seconds(start)} to {seconds(end)}")
        return "\n".join(lines)

    __repr__ = __str__

    def svg(self) -> str:
        """The picture on white with literal colours, as the other pictures of a notebook without a kernel."""
        canvas = Canvas(y=MARGIN)
        for part in self.parts:
            self._part(canvas, part)
        self._axis(canvas)
        return standalone(canvas, str(self), WIDTH)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}

    # drawing

    def _x(self, ms: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * ms / self.end_ms, 1)

    def _part(self, canvas: Canvas, part: Part) -> None:
        if part.title:
            canvas.text(MARGIN, canvas.y + 12, part.title, DARK, more=BOLD)
            canvas.y += 20
        top, high = canvas.y, LANE * len(part.lanes)
        ends: list[tuple[float, float]] = []
        for ms in self._looks():
            canvas.path(f"M{self._x(ms):g},{top:g}v{high:g}", RULE, 1)
        for lane in part.lanes:
            canvas.text(MARGIN, canvas.y + 19, fit(lane.name, LEFT - MARGIN - 8), ROLE[lane.keeper], more=BOLD)
            for bar in lane.bars:
                self._bar(canvas, bar, ROLE[lane.keeper])
                ends += [(self._x(bar.end_ms), canvas.y + LANE / 2)] if bar.struck else []
            bad = any(bar.struck for bar in lane.bars)
            canvas.text(RIGHT + 24, canvas.y + 19, fit(lane.says, WIDTH - RIGHT - 36), RED if bad else GREEN)
            canvas.y += LANE
        for start, end in (map(self._x, jump) for jump in part.jumps):
            veil = f' fill="{WHITE}" fill-opacity="0.75" stroke-dasharray="2 3"'
            canvas.box(start, top, end - start, high, AMBER, veil)
            canvas.text((start + end) / 2, top + high / 2 + 4, "all clocks jump", AMBER, "middle", BOLD)
        for x, y in ends:
            canvas.path(f"M{x - 5:g},{y - 5:g}l10,10m-10,0l10,-10", RED, 2.5)
        canvas.y += 10

    def _bar(self, canvas: Canvas, bar: Bar, colour: str) -> None:
        top, start = canvas.y + (LANE - BAR) / 2, self._x(bar.start_ms)
        if bar.asleep:
            look = f' fill="{PALE}" stroke-dasharray="4 3"'
            canvas.box(start, top, self._x(bar.end_ms) - start, BAR, DIM, look)
            canvas.text((start + self._x(bar.end_ms)) / 2, top + 11, bar.says, DIM, "middle")
            return
        canvas.box(start, top, max(self._x(bar.due_ms) - start, 3), BAR, colour, f' fill="{colour}"')
        if bar.due_ms < bar.end_ms:
            late = self._x(bar.due_ms)
            canvas.box(late, top, self._x(bar.end_ms) - late, BAR, AMBER, f' fill="{WHITE}" stroke-dasharray="4 3"')
        if 0 < bar.limit_ms <= bar.end_ms - bar.start_ms:
            limit = self._x(bar.start_ms + bar.limit_ms)
            canvas.path(f"M{limit:g},{top - 6:g}v{BAR + 12:g}", DARK, 2)
            canvas.text(limit - 5, top + 11, f"{bar.limit_ms // 1_000} s", WHITE, "end", BOLD)

    def _looks(self) -> Iterator[int]:
        if self.look_ms and self.end_ms // self.look_ms <= MOST_LOOKS:
            yield from range(self.look_ms, self.end_ms + 1, self.look_ms)

    def _axis(self, canvas: Canvas) -> None:
        step = next((s for s in STEPS_S if self.end_ms <= 1_000 * s * TICKS), STEPS_S[-1])
        canvas.path(f"M{LEFT:g},{canvas.y:g}H{RIGHT:g}", DIM, 1)
        for s in range(0, self.end_ms // 1_000 + 1, step):
            canvas.path(f"M{self._x(1_000 * s):g},{canvas.y:g}v4", DIM, 1)
            when = f"{s // DAY_S} d" if step >= DAY_S else f"{s} s"
            canvas.text(self._x(1_000 * s), canvas.y + 17, when, DIM, "middle")
        words = "thin line: the coordinator looks" if self.look_ms else "thick line: what is set"
        canvas.text(RIGHT + 24, canvas.y + 17, words, DIM)
        canvas.y += 22


def seconds(ms: int) -> str:
    """`seconds(30_100) == "30.1 s"`."""
    return f"{ms / 1_000:.1f} s"
