"""Presses that make a new run: from a button's name and its target to the fault and the step at which it strikes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from kafkalab.sim.faults import Crash, Drop, Duplicate, Fault

MOVES = ("left", "right", "home", "end")
FRAME_FAULTS: dict[str, type[Drop | Duplicate]] = {"drop": Drop, "duplicate": Duplicate}
TRAVELS = ("undo", "redo", "goto")
ACTIONS = (*MOVES, *FRAME_FAULTS, "crash", *TRAVELS, "name", "hide", "show")


def fault_of(payload: dict[str, Any], step: int, action: str, target: str, **details: Any) -> tuple[int, Fault]:
    """The step to fork at and the fault that the button of this name adds; ValueError if it would change nothing."""
    if action in FRAME_FAULTS:
        return _frame_fault(payload, step, action, target)
    if action == "crash":
        return step, Crash(_node(payload, target))
    raise ValueError(f"no action {action!r}; there are {', '.join(ACTIONS)}{near(action, ACTIONS)}")


def _frame_fault(payload: dict[str, Any], step: int, action: str, target: str) -> tuple[int, Fault]:
    event, frames = payload["events"][step], payload["frames"]
    if not target and event["kind"] != "send":
        raise ValueError(f'no frame is sent at step {step}; go to one that is, or name it: "EndTxn#1"')
    target = target or event["frame"]
    frame = frames.get(target)
    if frame is None or frame["copy_of"]:
        raise ValueError(f"no frame {target!r} flies in this run{near(target, frames)}")
    if frame["fate"] == "dropped":
        raise ValueError(f"{target} is dropped already")
    if action == "duplicate" and any(f["copy_of"] == target for f in frames.values()):
        raise ValueError(f"{target} arrives twice already")
    return frame["sent"], FRAME_FAULTS[action](target)


def _node(payload: dict[str, Any], target: str) -> str:
    nodes = [n["id"] for n in payload["nodes"] if n["kind"] != "controller"]
    if target not in nodes:
        asked = f"no node {target!r} can crash" if target else "crash needs a node"
        raise ValueError(f"{asked}; there are {', '.join(nodes)}")
    return target


def near(wrong: str, known: Iterable[str]) -> str:
    """What was meant perhaps, as the end of a sentence; "" where nothing is like it."""
    close = difflib.get_close_matches(wrong, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
