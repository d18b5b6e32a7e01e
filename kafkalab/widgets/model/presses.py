"""Presses that make a new run: from a button's name and its target to the change, or the reason why it changes nothing.

A button is enabled where `why` returns "". The reasons come from the simulator (see enabled_actions.py); here is only
what nobody can press in the browser: targets and numbers that do not exist.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

from kafkalab.limits import QUOTE, list_names, quote
from kafkalab.sim import faults
from kafkalab.sim.faults import Fault, FrameFault, NodeFault, TimedFault
from kafkalab.widgets.model.enabled_actions import find_reason, reason_at
from kafkalab.widgets.model.jumps import WALKS

MOVES = ("left", "right", "home", "end")
TRAVELS = ("undo", "redo", "goto")
FRAME_FAULTS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(FrameFault)}
NODE_FAULTS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(NodeFault)}
STORAGE_FAULTS: dict[str, type[Any]] = {
    "compact": faults.Compact, "roll": faults.Roll, "delete_segment": faults.DeleteSegment
}  # fmt: skip
FAULTS = (*FRAME_FAULTS, "release", *NODE_FAULTS, "cut", "heal", "advance", "upgrade", "elect", *STORAGE_FAULTS)
RULE_PRESSES = ("rule_off", "rule_on")
ACTIONS = (*MOVES, *FAULTS, "next", *RULE_PRESSES, *TRAVELS, "name", "hide", "show", *WALKS)
DELAY_MS, ADVANCE_MS = 1_000, 10_000
DETAILS = ("delay_ms", "after", "ms", "broker", "unclean", "sent")
"""The details that a press may have beside its target."""
Payload = dict[str, Any]


def move_cursor(places: Sequence[int], step: int, action: str) -> int:
    """Return where left, right, home or end takes a cursor at `step` that stops at `places`."""
    before, after = [place for place in places if place < step], [place for place in places if place > step]
    found = {"left": before[-1:], "right": after[:1], "home": places[:1], "end": places[-1:]}[action]
    return found[0] if found else step


def fault_of(payload: Payload, step: int, action: str, target: str = "", **details: Any) -> tuple[int, Fault]:
    """The step to fork at and the fault that the button of this name adds.

    `details` are delay_ms for delay, after for reorder, ms for advance, broker and unclean for elect, sent for crash
    (the frame whose sending is this step arrives). The target of
    cut and heal is two nodes, "b1|b2", with commas between several on a side; one node alone is cut off from all
    others. ValueError, with the reason, if the press would change nothing or is none.
    """
    if action in FRAME_FAULTS and not target:
        event = payload["events"][step]
        if event["kind"] != "send":
            raise ValueError(f'no frame is sent at step {step}; go to one that is, or name it: "EndTxn#1"')
        target = event["frame"]
    if reason := why(payload, step, action, target, **details):
        raise ValueError(reason)
    fault = _fault(payload, action, target, details)
    if isinstance(fault, TimedFault):
        at = max(step, payload["actions"]["start"])
        return at, replace(fault, at_step=at)
    return payload["frames"][target]["sent"], fault


def why(payload: Payload, step: int, action: str, target: str = "", **details: Any) -> str:
    """Return why the press would change nothing at this step, as the rest of a sentence; "" if it would."""
    if len(target) > QUOTE and action not in ("cut", "heal"):
        return f"no target {quote(target)} in this run"
    if action not in FAULTS:
        return f"no action {quote(action)}; there are {', '.join(ACTIONS)}{near(action, ACTIONS)}"
    actions = payload["actions"]
    if actions["fixed"]:
        return str(actions["fixed"])
    at, number = max(step, actions["start"]), _number_of(action, details)
    if reason := _unknown(payload, action, target, details):
        return reason
    if action in FRAME_FAULTS and (reason := reason_at(actions, at, action, target)):
        return reason
    if action in actions["limits"]:
        least, most, otherwise = actions["limits"][action]
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            return str(otherwise).format(quote(number))
    if action == "reorder":
        return _why_reorder(payload, target, str(details.get("after", "")))
    if action in ("cut", "heal"):
        return _why_network(payload, at, action, target)
    if reason := reason_at(actions, at, action, target, detail_of(action, details)):
        return reason
    return _why_sent(payload, at, target) if action == "crash" and details.get("sent") else ""


def _why_sent(payload: Payload, at: int, node: str) -> str:
    """Return why no frame of the node leaves at this step: a crash that lets it arrive is a crash like any other."""
    event = payload["events"][at]
    if (event["kind"], event["node"]) == ("send", node):
        return ""
    return f"{next(n['label'] for n in payload['nodes'] if n['id'] == node)} sends no frame at this step"


def _number_of(action: str, details: dict[str, Any]) -> Any:
    return details.get("delay_ms", DELAY_MS) if action == "delay" else details.get("ms", ADVANCE_MS)


def detail_of(action: str, details: dict[str, Any]) -> str:
    """Return what a button is about beside its target, as `reason_at` looks it up: "1000", "b2 unclean", "sent"."""
    if action == "elect":
        return str(details.get("broker", "")) + (" unclean" if details.get("unclean") else "")
    if action == "crash":
        return "sent" if details.get("sent") else ""
    return str(_number_of(action, details)) if action in ("delay", "advance") else ""


def _fault(payload: Payload, action: str, target: str, details: dict[str, Any]) -> Any:
    match action:
        case "delay":
            return faults.Delay(target, details.get("delay_ms", DELAY_MS))
        case "reorder":
            return faults.Reorder(target, details["after"])
        case "cut" | "heal":
            a, b = sides(payload, target)
            return (faults.Cut if action == "cut" else faults.Heal)(_side(a), _side(b))
        case "crash":
            return faults.Crash(target, sent=bool(details.get("sent")))
        case "advance":
            return faults.AdvanceClock(details.get("ms", ADVANCE_MS))
        case "upgrade":
            return faults.Upgrade()
        case "elect":
            return faults.ElectLeader(target, str(details["broker"]), unclean=bool(details.get("unclean")))
    return {**FRAME_FAULTS, "release": faults.Release, **NODE_FAULTS, **STORAGE_FAULTS}[action](target)


# what does not exist


def _unknown(payload: Payload, action: str, target: str, details: dict[str, Any]) -> str:
    """Return why no button has this target; "" if one has."""
    if action in FRAME_FAULTS:
        frames = payload["frames"]
        if target and (target not in frames or frames[target]["copy_of"]):
            return f"no frame {quote(target)} flies in this run{near(target, frames)}"
    elif action in NODE_FAULTS:
        nodes = [n["id"] for n in payload["nodes"] if n["kind"] != "controller"]
        if target not in nodes:
            wrong = f"no node {quote(target)} can {action}" if target else f"{action} needs a node"
            return f"{wrong}; there are {', '.join(nodes)}"
    elif action in (*STORAGE_FAULTS, "elect"):
        known = payload["partitions"]
        if target not in known:
            wrong = f"no partition {quote(target)} is shown in this run; there are {', '.join(known)}"
            return wrong if target else "choose a partition"
        broker, replicas = str(details.get("broker", "")), replicas_of(payload, target)
        if action == "elect" and broker not in replicas:
            label = next((n["label"] for n in payload["nodes"] if n["id"] == broker), quote(broker))
            return f"{label} is no replica of {target}; there are {', '.join(replicas)}"
    return ""


def _why_reorder(payload: Payload, target: str, after: str) -> str:
    frames = payload["frames"]
    other = frames.get(after)
    if other is None or other["copy_of"]:
        return f"reorder needs the frame after which {target} arrives{near(after, frames)}"
    if other["sent"] <= frames[target]["sent"]:
        return f"{after} is not sent later than {target}, so it cannot overtake it"
    return ""


def replicas_of(payload: Payload, partition: str) -> list[str]:
    """Return the brokers that have a replica of the partition: those that may be elected."""
    reasons = payload["actions"]["reasons"]
    return [n["id"] for n in payload["nodes"] if f"elect {partition} {n['id']}" in reasons]


# the network


def sides(payload: Payload, target: str) -> tuple[list[str], list[str]]:
    """The two sides of a cut: of "b1|b2,b3" they are [b1] and [b2, b3], of "b1" alone [b1] and all other nodes."""
    first, bar, second = target.partition("|")
    a = [name.strip() for name in first.split(",") if name.strip()]
    if bar:
        return a, [name.strip() for name in second.split(",") if name.strip()]
    return a, [n["id"] for n in payload["nodes"] if n["id"] not in a]


def _side(nodes: list[str]) -> Any:
    return nodes[0] if len(nodes) == 1 else tuple(nodes)


def _why_network(payload: Payload, at: int, action: str, target: str) -> str:
    actions, known = payload["actions"], [n["id"] for n in payload["nodes"]]
    a, b = sides(payload, target)
    wrong = next((name for name in (*a, *b) if name not in known), "")
    if wrong:
        return f"no node {quote(wrong)} in this run; there are {', '.join(known)}"
    if not a or not b or any(name in b for name in a):
        return reason_at(actions, at, action, "")
    pairs = [f"{action} {'|'.join(sorted((x, y)))}" for x in a for y in b]
    if len(pairs) > 1:
        alone = len(a) == 1 and len(b) == len(known) - 1
        planned = find_reason(actions, at, f"{action} {a[0]}" if alone else f"{action} {','.join(a)}|{','.join(b)}")
        if planned is not None:
            return planned
    reasons = [find_reason(actions, at, pair) or "" for pair in pairs]
    return "" if "" in reasons else reasons[0]


def check_known(wanted: str, known: Sequence[str], wrong: str) -> str:
    """Return `wanted`; ValueError, which begins with `wrong`, if it is not known."""
    if wanted not in known:
        raise ValueError(f"{wrong}; there are {list_names(known)}{near(wanted, known)}")
    return wanted


def near(wrong: str, known: Iterable[str]) -> str:
    """Return the name that was meant perhaps, as the end of a sentence; "" where nothing is like it."""
    close = difflib.get_close_matches(wrong, list(known), 1) if len(wrong) <= QUOTE else []
    return f"; did you mean {close[0]!r}?" if close else ""
