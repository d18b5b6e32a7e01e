"""Presses that make a new run: from a button's name and its target to the change, or the reason why it changes nothing.

`why` in presses.js says the same of the same payload, word for word: a button is enabled where it says nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.sim.faults import (
    AdvanceClock,
    Compact,
    Crash,
    Cut,
    Delay,
    DeleteSegment,
    Drop,
    Duplicate,
    ElectLeader,
    Fault,
    Heal,
    Hold,
    NodeFault,
    Pause,
    Release,
    Reorder,
    Restart,
    Resume,
    Roll,
    TimedFault,
)
from kafkalab.widgets.model.enabled_actions import at_step, key_of

MOVES = ("left", "right", "home", "end")
TRAVELS = ("undo", "redo", "goto")
FRAME_FAULTS: dict[str, type[Any]] = {
    "drop": Drop, "duplicate": Duplicate, "delay": Delay, "hold": Hold, "reorder": Reorder
}  # fmt: skip
NODE_FAULTS: dict[str, type[NodeFault]] = {"crash": Crash, "restart": Restart, "pause": Pause, "resume": Resume}
STORAGE_FAULTS: dict[str, type[Any]] = {"compact": Compact, "roll": Roll, "delete_segment": DeleteSegment}
FAULTS = (*FRAME_FAULTS, "release", *NODE_FAULTS, "cut", "heal", "advance", "elect", *STORAGE_FAULTS)
RULE_PRESSES = ("rule_off", "rule_on")
ACTIONS = (*MOVES, *FAULTS, *RULE_PRESSES, *TRAVELS, "name", "hide", "show")
DELAY_MS, ADVANCE_MS = 1_000, 10_000
Payload = dict[str, Any]


def fault_of(payload: Payload, step: int, action: str, target: str = "", **details: Any) -> tuple[int, Fault]:
    """The step to fork at and the fault that the button of this name adds.

    `details` are delay_ms for delay, after for reorder, ms for advance, broker and unclean for elect. The target of
    cut and heal is two nodes, "b1|b2", with commas between several on a side; one node alone is cut off from all
    others. ValueError, with the reason, if the press would change nothing or is none.
    """
    if action in ("drop", "duplicate", "delay", "hold", "reorder") and not target:
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
    """Why the press would change nothing at this step, as the rest of a sentence; "" if it would."""
    if action not in FAULTS:
        return f"no action {action!r}; there are {', '.join(ACTIONS)}{near(action, ACTIONS)}"
    if payload["actions"]["fixed"]:
        return str(payload["actions"]["fixed"])
    at = max(step, payload["actions"]["start"])
    if action in FRAME_FAULTS:
        return _why_frame(payload, action, target, details)
    if action == "release":
        kept = at_step(payload["actions"]["kept"], at)
        reason = "" if target in kept else f"{target} is not held at this step" if target else "choose a frame first"
    elif action in NODE_FAULTS:
        reason = _why_node(payload, at, action, target)
    elif action in ("cut", "heal"):
        reason = _why_network(payload, at, action, target)
    elif action == "advance":
        ms = details.get("ms", ADVANCE_MS)
        reason = "" if _whole(ms) else f"ms is a number of milliseconds from 1 on, not {ms!r}"
    else:
        reason = _why_partition(payload, at, action, target, details)
    if reason or action == "advance":
        return reason
    again = f"{at} {key_of(_fault(payload, action, target, details))}" in payload["actions"]["planned"]
    return "this happens right after this step already" if again else ""


def _fault(payload: Payload, action: str, target: str, details: dict[str, Any]) -> Any:
    if action in NODE_FAULTS:
        return NODE_FAULTS[action](target)
    if action in STORAGE_FAULTS:
        return STORAGE_FAULTS[action](target)
    match action:
        case "delay":
            return Delay(target, details.get("delay_ms", DELAY_MS))
        case "reorder":
            return Reorder(target, details.get("after", ""))
        case "release":
            return Release(target)
        case "cut" | "heal":
            a, b = sides(payload, target)
            return (Cut if action == "cut" else Heal)(_side(a), _side(b))
        case "advance":
            return AdvanceClock(details.get("ms", ADVANCE_MS))
        case "elect":
            return ElectLeader(target, str(details.get("broker", "")), unclean=bool(details.get("unclean", False)))
    return FRAME_FAULTS[action](target)


# frames


def _why_frame(payload: Payload, action: str, target: str, details: dict[str, Any]) -> str:
    frames, ground = payload["frames"], payload["actions"]
    frame = frames.get(target)
    if frame is None or frame["copy_of"]:
        return f"no frame {target!r} flies in this run{near(target, frames)}" if target else "choose a frame first"
    struck = ground["struck"].get(target, [])
    if frame["fate"] == "dropped":
        return f"{target} is dropped already"
    if any(fault.startswith("Hold ") for fault in struck):
        return f"{target} is held already"
    if any(fault.startswith("Reorder ") for fault in struck):
        return f"{target} is overtaken already"
    if target in ground["stillborn"]:
        return f"{target} never leaves: {frame['from']} crashes in that moment"
    if action == "duplicate" and any(f["copy_of"] == target for f in frames.values()):
        return f"{target} arrives twice already"
    if action == "delay":
        ms = details.get("delay_ms", DELAY_MS)
        if not _whole(ms):
            return f"delay_ms is a number of milliseconds from 1 on, not {ms!r}"
        return f"{target} is {ms} ms late already" if key_of(Delay(target, ms)) in struck else ""
    return _why_reorder(payload, target, str(details.get("after", ""))) if action == "reorder" else ""


def _why_reorder(payload: Payload, target: str, after: str) -> str:
    frames = payload["frames"]
    other = frames.get(after)
    if other is None or other["copy_of"]:
        return f"reorder needs the frame after which {target} arrives{near(after, frames)}"
    if other["sent"] <= frames[target]["sent"]:
        return f"{after} is not sent later than {target}, so it cannot overtake it"
    return ""


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= 10**12


# nodes and the network


def _why_node(payload: Payload, at: int, action: str, target: str) -> str:
    nodes = {n["id"]: n for n in payload["nodes"] if n["kind"] != "controller"}
    if target not in nodes:
        wrong = f"no node {target!r} can {action}" if target else f"{action} needs a node"
        return f"{wrong}; there are {', '.join(nodes)}"
    ground, label = payload["actions"], nodes[target]["label"]
    down, paused = target in at_step(ground["down"], at), target in at_step(ground["paused"], at)
    if action == "restart":
        if nodes[target]["kind"] != "broker":
            return f"{label} is a client; only a broker can be restarted"
        return "" if down else f"{label} is not down"
    if action == "resume":
        return "" if paused else f"{label} is not paused"
    if down:
        return f"{label} is down already" if action == "crash" else f"{label} is down"
    return f"{label} is paused already" if paused and action == "pause" else ""


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
    known = [n["id"] for n in payload["nodes"]]
    a, b = sides(payload, target)
    wrong = next((name for name in (*a, *b) if name not in known), "")
    if wrong:
        return f"no node {wrong!r} in this run; there are {', '.join(known)}"
    if not a or not b or any(name in b for name in a):
        return f'{action} needs two nodes such as "b1|b2", or one to part from all others'
    cut = at_step(payload["actions"]["cut"], at)
    pairs = ["|".join(sorted((x, y))) for x in a for y in b]
    if action == "cut":
        return "" if any(pair not in cut for pair in pairs) else "no frame gets through there already"
    return "" if any(pair in cut for pair in pairs) else "nothing is cut there"


# leaders and storage


def _why_partition(payload: Payload, at: int, action: str, target: str, details: dict[str, Any]) -> str:
    ground = payload["actions"]
    if target not in ground["leads"]:
        known = ", ".join(ground["leads"])
        return f"no partition {target!r} is shown in this run; there are {known}" if target else "choose a partition"
    if action == "elect":
        return _why_elect(payload, at, target, details)
    if action in at_step(ground["storage"][target], at):
        return ""
    return {
        "compact": f"nothing in {target} can be compacted at this step",
        "roll": f"no active segment of {target} has records at this step",
        "delete_segment": f"no segment of {target} is full and replicated at this step",
    }[action]


def _why_elect(payload: Payload, at: int, target: str, details: dict[str, Any]) -> str:
    ground, broker = payload["actions"], str(details.get("broker", ""))
    label = next((n["label"] for n in payload["nodes"] if n["id"] == broker), "")
    if broker not in ground["replicas"][target]:
        return f"{label or repr(broker)} is no replica of {target}; there are {', '.join(ground['replicas'][target])}"
    leader, in_sync = at_step(ground["leads"][target], at, ("", ()))
    if leader == broker:
        return f"{label} leads {target} already"
    if broker not in at_step(ground["alive"], at):
        return f"{label} is not alive for the controller"
    anyone = ground["any_leader"] and topic_of(target) != TRANSACTION_TOPIC
    if details.get("unclean"):
        return f"{label} is in sync: elect it cleanly" if broker in in_sync or anyone else ""
    return "" if broker in in_sync or anyone else f"{label} is not in sync for {target}: only an unclean election can"


def near(wrong: str, known: Iterable[str]) -> str:
    """What was meant perhaps, as the end of a sentence; "" where nothing is like it."""
    close = difflib.get_close_matches(wrong, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
