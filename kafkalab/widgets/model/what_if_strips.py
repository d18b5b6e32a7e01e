"""Strips of "What if it broke here?": the outcome of each of four faults at each step of the run shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from threading import Lock, Thread
from typing import Any

import traitlets

from kafkalab.explore.what_if import CLIENT, COORDINATOR, FRAME, LEADER, WhatIf, what_if
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import Content, MessageWidget

MOST = 1_000
"""Events of the longest run that is tried: the time grows with their square; 300 take some seconds."""
TOLD_EACH = 16
NAMES = {
    CLIENT: "client crashes", COORDINATOR: "coordinator crashes", LEADER: "leader crashes", FRAME: "frame is lost"
}  # fmt: skip
NONE, BROKEN = "none", "broken"
NO_TARGET = "nothing to strike"
Row = dict[str, Any]


class WhatIfStrips(MessageWidget):
    """A widget of a journey that shows `strips` while `what_if` is on.

    `strips` has "place", the number of the run that it is about, and one of "rows", what was found; "tried", how many
    futures have been run so far; "why", the reason why none can be. A row has "name", the fault, and "runs", a list of
    [first step, fate, target, anomalies]: after each step from that one on, up to that of the next entry, the fault to
    the target has this fate: the outcome of `WhatIf`, "broken" where a promise breaks, "none" where nothing is to
    strike. The anomalies are those that break it, or those that Kafka allows. A browser asks for them by a message of
    the kind "what_if"; they are computed beside its presses.
    """

    journey: Journey
    what_if = traitlets.Bool(False).tag(sync=True)
    strips = traitlets.Dict().tag(sync=True)

    def __init__(self, *args: Any, **traits: Any) -> None:
        self._searching = Lock()
        self._known: dict[int, list[Row]] = {}
        super().__init__(*args, **traits)

    def handlers(self) -> dict[str, Callable[[Content], Any]]:
        """Return by kind of message what is done with it."""
        return {"what_if": self._start}

    def _start(self, _: Content) -> None:
        """Compute the rows beside the presses; where Python cannot have a second thread, in a browser, at once."""
        try:
            Thread(target=self._try_action, args=(self._beside,), daemon=True).start()
        except RuntimeError:
            self._try_action(lambda: self._search(self.journey.place, self._tell_tried))

    def futures(self) -> list[Row]:
        """Return the rows of the run shown; they are computed once a run. Empty where nothing can be tried."""
        return self._search(self.journey.place, lambda tried: False)

    def _beside(self) -> None:
        """Compute the rows between presses, until another run is shown or the strips are closed."""
        place = self.journey.place

        def try_and_tell(tried: int) -> bool:
            self.journey.wait_for_press()
            self._tell_tried(tried)
            return self.journey.place != place or not self.what_if

        self._search(place, try_and_tell)

    def _tell_tried(self, tried: int) -> bool:
        """Tell the browser now and then how many futures have been run; return that this ends nothing."""
        if tried % TOLD_EACH == 0:
            self.strips = {"place": self.journey.place, "tried": tried}
        return False

    def _search(self, place: int, left: Callable[[int], bool]) -> list[Row]:
        """Return the rows of a run, computed if they are not known; none if `left`, which gets a count, ends that."""
        with self._searching:
            if place not in self._known:
                if reason := why_no_strips(self.journey.run_at(place)[0]):
                    self.strips = {"place": place, "why": reason}
                    return []
                asked: list[bool] = []

                def stop() -> bool:
                    asked.append(left(len(asked)))
                    return asked[-1]

                found = what_if(self.journey.run_at(place)[1].scenario_or_why(), stop)
                if asked and asked[-1]:
                    return []
                self._known[place] = [row_of(kind, entries) for kind, entries in found.items()]
            self.strips = {"place": place, "rows": self._known[place]}
            return self._known[place]


def why_no_strips(payload: dict[str, Any]) -> str:
    """Return why the futures of a run cannot be tried; "" if they can."""
    if fixed := payload["actions"]["fixed"]:
        return str(fixed)
    count = len(payload["events"])
    return f"this run has {count:,} events; up to {MOST:,} can be tried" if count > MOST else ""


def row_of(kind: str, entries: Sequence[WhatIf]) -> Row:
    """Return the row of a fault, with one entry for all neighbours that are alike."""
    runs = [(entry.step, *_describe(entry)) for entry in entries]
    alike = groupby(runs, key=lambda run: run[1:])
    return {"name": NAMES[kind], "runs": [list(next(group)) for _, group in alike]}


def _describe(entry: WhatIf) -> tuple[str, str, str]:
    if not entry.faults:
        return NONE, "", ""
    fault = entry.faults[0]
    target = fault.node if isinstance(fault, Crash) else fault.frame if isinstance(fault, Drop) else ""
    return (BROKEN, target, entry.verdict) if entry.broken else (entry.outcome, target, entry.allowed)


def at_stops(row: Row, places: Sequence[int]) -> list[list[Any]]:
    """Return for each stop of the walk the entry to show there.

    It is the latest one that strikes anything after the stop before, or the first of these in which a promise breaks.
    """
    runs, found, before = row["runs"], [], -1
    ends = [*(run[0] for run in runs[1:]), float("inf")]
    for stop in places:
        near = [run for run, end in zip(runs, ends, strict=True) if run[0] <= stop and end > before + 1]
        struck = [run for run in near if run[1] != NONE] or near[-1:]
        found.append(next((run for run in struck if run[1] == BROKEN), (struck or [[stop, NONE, "", ""]])[-1]))
        before = stop
    return found


def fate_words(entry: Sequence[Any]) -> str:
    """Return an entry's fate in words."""
    _, fate, target, anomalies = entry
    words = f"✕ {anomalies}" if fate == BROKEN else NO_TARGET if fate == NONE else fate
    if anomalies and fate != BROKEN:
        words = f"{fate}: {anomalies}, allowed"
    return words if "#" not in target else f"{words} ({target})"


def strip_lines(rows: Sequence[Row], places: Sequence[int], step: int) -> list[str]:
    """Return the strips as text: for each row what would become of the run at `step`, then its turns."""
    if not rows:
        return []
    index = max((i for i, place in enumerate(places) if place <= step), default=0)
    lines = ["what if it broke right after this step?"]
    for row in rows:
        cells = at_stops(row, places)
        numbered = groupby(enumerate(cells, 1), key=lambda cell: cell[1][1])
        turns = [(fate, next(group)[0]) for fate, group in numbered if fate != NONE]
        told = [f"{fate} from stop {first}" for fate, first in _merge(turns)]
        lines.append(f"    {row['name']}: {fate_words(cells[index])}; whole run: {', '.join(told) or NO_TARGET}")
    return lines


def _merge(turns: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [next(group) for _, group in groupby(turns, key=lambda turn: turn[0])]
