"""Inside a notebook's kernel: tell what presses make of the recorded runs, so that a page answers them without Python.

`notebooks.run_solution` puts a call of `foretell` after the last cell. A future is what a page has to know to show it:
its payload as a difference from the recorded one, where the cursor stands, its row in the tree of runs, what the checks
say, and its code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from IPython.display import display

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.node import NodeFault
from kafkalab.run.again import ENDLESS
from kafkalab.run.run import Run
from kafkalab.sim.codec import code_of, scenario_of_code
from kafkalab.sim.scenario import Scenario
from kafkalab.site.book.recorder import SHOWN, Kept
from kafkalab.widgets.model.findings import report_of
from kafkalab.widgets.model.forks import Fork
from kafkalab.widgets.model.futures import payload_with_actions, strike
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.presses import fault_of
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.text import Payload
from kafkalab.widgets.views.share import shared_of

FUTURES = "application/vnd.kafkalab.futures+json"
MOST = 40
"""The most single faults of a run of which each is foretold; of a run with more, those that its article talks about."""
LONGEST = 2_000
"""Events of the longest run that is foretold."""
BLOCK, SHORTEST = 8, 16
"""Letters by which a part of a text is found in another one, and of the shortest part."""
WITH_BUTTONS, WITH_COSTS = {"sequence", "fault_panel"}, {"cost_meter"}
"""Parts of pictures: those in which a press makes another run, and one for which Python has to count its frames."""
ROW = ("label", "at", "landed", "outcome")
Future = dict[str, Any]
Delta = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """A press of a button at a step."""

    action: str
    target: str
    step: int
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Return what the page looks it up by: a fault on a frame is the same at whatever step it is pressed."""
        where = "" if "#" in self.target else f" @{self.step}"
        details = json.dumps(self.details, separators=(",", ":"), sort_keys=True) if self.details else ""
        return f"{self.action} {self.target}{where} {details}".strip()


def foretell(talked: Sequence[str]) -> None:
    """Put out the futures of the journeys that have been shown, by their state; `talked` are frames of the text.

    A journey has None whose codes do not make its run again.
    """
    codes = dict.fromkeys(code for journey in SHOWN.values() for code in journey["codes"])
    beside = [scenario_of_code(code) for code in codes]
    display({FUTURES: {state: futures_of(one, talked, beside) for state, one in SHOWN.items()}}, raw=True)  # type: ignore[no-untyped-call]


def futures_of(shown: Kept, talked: Sequence[str], beside: Sequence[Scenario]) -> dict[str, Future] | None:
    """Return by key what presses make of a recorded journey, `beside` being the runs that its article shows.

    The keys are those of `Press`, and "run 0" for the other runs of the tree. There are none for a journey without a
    picture that has buttons, and for one with a picture whose values only Python computes.
    """
    codes, parts, values = shown["codes"], shown["parts"], shown["values"]
    journey = Journey.again([scenario_of_code(code) for code in codes], values["tree"], values["place"])
    journey.groups = values["groups"]
    if pack(journey.payload) != values["payload"]:
        return None
    if not parts & WITH_BUTTONS or parts & WITH_COSTS:
        return {}
    difference = Difference(values["payload"])

    def future(payload: Payload, run: Run, spend: bool = False) -> Future:
        shared = shared_of(run, 0) if "share" in parts else {"code": code_of(run.scenario_or_why())}
        delta = difference.of(pack(payload))
        return {"payload": delta, "verdict": report_of(run, spend=spend), "shared": shared}

    found: dict[str, Future] = {}
    for press in presses_on(journey, talked, beside):
        if press.key not in found and (struck := _strike(journey, press)):
            run, row = struck
            future_of = future(payload_with_actions(run), run, spend=not run.ending)
            found[press.key] = {**future_of, "step": row["landed"], "row": row}
    for place in range(len(codes)):
        if place != values["place"]:
            found[f"run {place}"] = future(*journey.run_at(place))
    return found


def _strike(journey: Journey, press: Press) -> tuple[Run, dict[str, object]] | None:
    """Return the run that a press makes, and its row in the tree; None if nothing changes, or it does not soon end."""
    try:
        at, fault = fault_of(journey.payload, press.step, press.action, press.target, **press.details)
        run, landed = strike(journey.scenario, fault, journey.payload["actions"]["start"], at, LONGEST)
    except ValueError:  # only the run tells that it cannot go on so, or that nothing would change
        return None
    if run.ending.startswith(ENDLESS):
        return None
    row = Fork(id=0, parent=0, run=run, label=repr(fault), at=at, landed=landed).row()
    return run, {name: row[name] for name in ROW}


# which presses


def presses_on(journey: Journey, talked: Sequence[str], beside: Sequence[Scenario]) -> list[Press]:
    """Return the presses to foretell, those that the article talks about first.

    On a run that was itself made by a press there are none: a second press is Python's.
    """
    if journey.can_undo:
        return []
    single = list(single_faults(journey))
    told = [*_told_by_runs(journey.scenario, beside), *_told_by_names(journey, talked)]
    return [*told, *(single if len(single) <= MOST else [])]


def single_faults(journey: Journey) -> Iterator[Press]:
    """Yield the single faults of a run: what the bar offers at the stops of its walk.

    It offers to drop and to duplicate the frame that is sent at the step.
    """
    for step in journey.stops():
        event = journey.payload["events"][step]
        if event["kind"] == "send":
            yield from _on_frame(event["frame"], step)


def _on_frame(frame: str, step: int) -> Iterator[Press]:
    for action in ("drop", "duplicate"):
        yield Press(action=action, target=frame, step=step)


def _told_by_names(journey: Journey, talked: Sequence[str]) -> Iterator[Press]:
    """Yield the faults on frames that the text names."""
    frames = journey.payload["frames"]
    for name in talked:
        if name in frames:
            yield from _on_frame(name, frames[name]["sent"])


def _told_by_runs(scenario: Scenario, beside: Sequence[Scenario]) -> Iterator[Press]:
    """Yield the faults by which other runs of the article differ from this one."""
    base = replace(scenario, faults=())
    for other in beside:
        more = [fault for fault in other.faults if fault not in scenario.faults]
        if len(more) == 1 and replace(other, faults=()) == base and (press := press_of(more[0])):
            yield press


def press_of(fault: Fault) -> Press | None:
    """Return the press that makes the fault; None for one whose moment no press has."""
    if not isinstance(fault, FrameFault | NodeFault) or getattr(fault, "at_ms", -1) >= 0:
        return None
    details = {name: value for name in fault.details if (value := getattr(fault, name))}
    return Press(action=fault.press, target=fault.target, step=getattr(fault, "at_step", 0), details=details)


# differences


class Difference:
    """Tells texts as parts of another one, `before`, of which most of them is."""

    def __init__(self, before: str) -> None:
        """Note where in `before` each block of letters stands, the first place of each."""
        self.before = before
        self._places = {before[i : i + BLOCK]: i for i in range(len(before) - BLOCK, -1, -1)}

    def of(self, after: str) -> Delta:
        """Return `after` as [text, distance, length, text, distance, length, …, text].

        Each text is followed by `length` letters of `before`, which stand `distance` after the place that so many
        letters lead to. Parts begin behind a comma. The inverse is `patched` in the page.
        """
        parts: Delta = []
        at = begun = ahead = 0  # `ahead` goes with `at`, through `before`
        while at < len(after):
            starts = {ahead, self._places.get(after[at : at + BLOCK], ahead)}
            length, start = max((_alike(self.before, start, after, at), start) for start in starts)
            if length < SHORTEST:
                length = (after.find(",", at) + 1 or len(after)) - at
                at, ahead = at + length, ahead + length
                continue
            parts += [after[begun:at], start - ahead, length]
            at, ahead = at + length, start + length
            begun = at
        return [*parts, after[begun:]]


def _alike(one: str, i: int, other: str, k: int) -> int:
    """Return how many letters are the same from these places on."""
    if one[i : i + SHORTEST] != other[k : k + SHORTEST]:
        return 0
    same, step = SHORTEST, 4096
    while step:
        part = one[i + same : i + same + step]
        if len(part) == step and part == other[k + same : k + same + step]:
            same += step
        else:
            step //= 4
    return same
