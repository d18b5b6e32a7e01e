"""The order in which frames in flight arrive: the faults that keep the others on their way until it has arrived."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.frame import Delay, Release, Reorder
from kafkalab.limits import quote
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Trace
from kafkalab.widgets.model.presses import Payload, near, why
from kafkalab.widgets.payload.cluster import in_flight as frames_in_flight
from kafkalab.widgets.payload.text import is_shown


def ends(payload: Payload, frame: dict[str, Any]) -> float:
    """Return the step at which the frame has arrived, or is dropped or lost; infinity if it never is."""
    received = frame["received"]
    return float(payload["ends"].get(frame["id"], "inf") if received is None else received)


def in_flight(payload: Payload, step: int, groups: Collection[str], hidden: Sequence[str] = ()) -> list[str]:
    """Return the shown frames that are on their way at `step`, in the order in which they were sent."""
    flying = [f for f in frames_in_flight(payload, step, groups) if not f["copy_of"]]
    shown = [f for f in flying if is_shown(payload, payload["events"][f["sent"]], hidden)]
    return [f["id"] for f in sorted(shown, key=lambda f: int(f["sent"]))]


def why_not_first(payload: Payload, step: int, target: str, flying: Sequence[str]) -> str:
    """Return why the frame cannot be made to arrive before the others of `flying`; "" if it can."""
    try:
        faults_for_first(payload, step, target, flying)
    except ValueError as error:
        return str(error)
    return ""


def faults_for_first(payload: Payload, step: int, target: str, flying: Sequence[str]) -> list[Fault]:
    """Return the faults that let `target` arrive before the other frames of `flying`; it arrives when it would have.

    A frame that was sent earlier arrives right after it, one that was sent later is delayed; a frame that is held is
    released. ValueError, with the reason, if it is not in flight at `step`, never arrives, or arrives first already.
    """
    if fixed := payload["actions"]["fixed"]:
        raise ValueError(fixed)
    frame = _flying(payload, step, target)
    if released := not why(payload, step, "release", target):
        arrives: int | None = payload["events"][step]["at"] + 1
    else:
        arrives = frame["received_at"] if frame["received"] is not None else None
    if arrives is None:
        raise ValueError(f"{target} never arrives in this run")
    found: list[Fault] = [Release(target, at_step=max(step, payload["actions"]["start"]))] if released else []
    for name in flying:
        other = payload["frames"][name]
        if name == target or other["received"] is None:
            continue
        if other["received_at"] < arrives if released else other["received"] < frame["received"]:
            found.append(_later(payload, step, other, frame, arrives))
    if not found:
        raise ValueError(f"{target} is the next to arrive already")
    return found


def _flying(payload: Payload, step: int, target: str) -> dict[str, Any]:
    frame: dict[str, Any] | None = payload["frames"].get(target)
    if frame is None:
        raise ValueError(f"no frame {quote(target)} flies in this run{near(target, payload['frames'])}")
    if frame["copy_of"]:
        raise ValueError(f"{target} is the second delivery of {frame['copy_of']}; a fault strikes both")
    if step < frame["sent"]:
        raise ValueError(f"{target} is not sent yet")
    if step >= ends(payload, frame):
        raise ValueError(f"{target} has arrived" if frame["fate"] == "delivered" else f"{target} is {frame['fate']}")
    return frame


def _later(payload: Payload, step: int, other: dict[str, Any], first: dict[str, Any], arrives: int) -> Fault:
    """Return the fault that lets `other` arrive after `first`, which arrives at `arrives` ms."""
    name = other["id"]
    if other["sent"] < first["sent"]:
        if reason := why(payload, step, "reorder", name, after=first["id"]):
            raise ValueError(reason)
        return Reorder(name, first["id"])
    delay_ms = max(1, arrives - other["at"])
    if reason := why(payload, step, "delay", name, delay_ms=delay_ms):
        raise ValueError(reason)
    return Delay(name, delay_ms)


def all_added(scenario: Scenario, planned: Sequence[Fault], sent: dict[str, int]) -> Scenario:
    """Return the scenario with these faults more. `sent` has the step at which each frame is sent."""
    timed = [fault for fault in planned if not isinstance(fault, FrameFault)]
    scenario = replace(scenario, faults=(*scenario.faults, *timed))
    frames = [fault for fault in planned if isinstance(fault, FrameFault)]
    for fault in sorted(frames, key=lambda f: -sent[f.frame]):  # the last one first: it shifts no earlier frame
        scenario = with_frame_fault(scenario, fault, sent[fault.frame])
    return scenario


def with_frame_fault(scenario: Scenario, fault: FrameFault, sent: int) -> Scenario:
    """Return the scenario with one more fault on a frame that is sent at step `sent`.

    The fault is an event of its own, so what was planned for a later step is planned for one step later.
    """
    noted = sent + 1 + sum(isinstance(f, FrameFault) and f.frame == fault.frame for f in scenario.faults)
    shifted = [
        f if isinstance(f, FrameFault) or f.at_step < noted else replace(f, at_step=f.at_step + 1)
        for f in scenario.faults
    ]
    return replace(scenario, faults=(*shifted, fault))


def arrived_first(trace: Trace, target: str, others: Sequence[str]) -> bool:
    """Return True if `target` arrived, and none of the `others` before it."""
    step = trace.frames[target].received_step
    return step >= 0 and not any(0 <= trace.frames[name].received_step < step for name in others)
