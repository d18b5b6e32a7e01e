"""Presses that make a new run: from a button's name and its target to the change, or the reason why it changes nothing.

A button is enabled where `why` returns "". The reasons come from the simulator (see enabled_actions.py); here is only
what nobody can press in the browser: targets and numbers that do not exist.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.link import sides_of
from kafkalab.faults.registry import BY_PRESS, FAULTS
from kafkalab.limits import QUOTE, list_names, quote
from kafkalab.widgets.model.enabled_actions import find_reason, reason_at
from kafkalab.widgets.model.jumps import WALKS

MOVES = ("left", "right", "home", "end")
TRAVELS = ("undo", "redo", "goto")
RULE_PRESSES = ("rule_off", "rule_on")
ACTIONS = (*MOVES, *BY_PRESS, "next", *RULE_PRESSES, *TRAVELS, "name", "hide", "show", *WALKS)
DETAILS = tuple(dict.fromkeys(name for kind in FAULTS for name in kind.details))
"""The details that a press may have beside its target."""
Payload = dict[str, Any]


def move_cursor(places: Sequence[int], step: int, action: str) -> int:
    """Return where left, right, home or end takes a cursor at `step` that stops at `places`."""
    before, after = [place for place in places if place < step], [place for place in places if place > step]
    found = {"left": before[-1:], "right": after[:1], "home": places[:1], "end": places[-1:]}[action]
    return found[0] if found else step


def fault_of(payload: Payload, step: int, action: str, target: str = "", **details: Any) -> tuple[int, Fault]:
    """Return the step to fork at and the fault that the button of this name adds.

    `details` are those of DETAILS: delay_ms for delay, after for reorder, before for late, ms for advance, broker and
    unclean for elect, sent for crash (the frame whose sending is this step arrives). The target of a fault of links is
    two nodes, "b1|b2", with commas between several on a side; one node alone is cut off from all others. ValueError,
    with the reason, if the press would change nothing or is none.
    """
    if is_frame_fault(action) and not target:
        event = payload["events"][step]
        if event["kind"] != "send":
            raise ValueError(f'no frame is sent at step {step}; go to one that is, or name it: "EndTxn#1"')
        target = event["frame"]
    if reason := why(payload, step, action, target, **details):
        raise ValueError(reason)
    fault = BY_PRESS[action].of_press(target, details, _nodes_of(payload))
    if isinstance(fault, FrameFault):
        return payload["frames"][target]["sent"], fault
    at = max(step, payload["actions"]["start"])
    return at, replace(fault, at_step=at)


def is_frame_fault(action: str) -> bool:
    """Return whether the button adds a fault that strikes a frame when it is sent."""
    return action in BY_PRESS and issubclass(BY_PRESS[action], FrameFault)


def _nodes_of(payload: Payload) -> list[str]:
    return [node["id"] for node in payload["nodes"]]


def why(payload: Payload, step: int, action: str, target: str = "", **details: Any) -> str:
    """Return why the press would change nothing at this step, as the rest of a sentence; "" if it would."""
    kind = BY_PRESS.get(action)
    if len(target) > QUOTE and (kind is None or kind.target_kind != "link"):
        return f"no target {quote(target)} in this run"
    if kind is None:
        return f"no action {quote(action)}; there are {', '.join(ACTIONS)}{near(action, ACTIONS)}"
    actions = payload["actions"]
    if actions["fixed"]:
        return str(actions["fixed"])
    at = max(step, actions["start"])
    if reason := _unknown(payload, kind, target, details):
        return reason
    if issubclass(kind, FrameFault) and (reason := reason_at(actions, at, action, target)):
        return reason
    if kind.number:
        number, (least, most, otherwise) = details.get(*kind.number), actions["limits"][action]
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            return str(otherwise).format(quote(number))
    if issubclass(kind, FrameFault) and kind.of_requests_only:
        sender = payload["frames"][target]["from"] if target and "Response#" not in target else ""
        if (
            sender
            and kind.of_clients_only
            and not any(node["id"] == sender and node["kind"] == "client" for node in payload["nodes"])
        ):
            return f"{target} is not sent by a client"
        try:
            kind.of_press(target, details, _nodes_of(payload)).check((), None)
        except (TypeError, ValueError) as error:
            return str(error)
    if kind.other:
        return _why_other(payload, kind, target, str(details.get(kind.other, "")))
    if kind.target_kind == "link":
        return _why_link(payload, at, action, target)
    detail = kind.of_press(target, details, _nodes_of(payload)).detail
    return reason_at(actions, at, action, target, detail) or (
        _why_sent(payload, at, target) if details.get("sent") and "sent" in kind.details else ""
    )


def _why_sent(payload: Payload, at: int, node: str) -> str:
    """Return why no frame of the node leaves at this step: a crash that lets it arrive is a crash like any other."""
    event = payload["events"][at]
    if (event["kind"], event["node"]) == ("send", node):
        return ""
    return f"{next(n['label'] for n in payload['nodes'] if n['id'] == node)} sends no frame at this step"


# what does not exist


def _unknown(payload: Payload, kind: type[Fault], target: str, details: dict[str, Any]) -> str:
    """Return why no button has this target; "" if one has."""
    if issubclass(kind, FrameFault):
        frames = payload["frames"]
        if target and (target not in frames or frames[target]["copy_of"]):
            return f"no frame {quote(target)} flies in this run{near(target, frames)}"
    elif kind.target_kind == "node":
        nodes = [n["id"] for n in payload["nodes"] if n["kind"] != "controller"]
        if target not in nodes:
            wrong = f"no node {quote(target)} can {kind.press}" if target else f"{kind.press} needs a node"
            return f"{wrong}; there are {', '.join(nodes)}"
    elif kind.target_kind in ("leader", "log"):
        known = payload["partitions"]
        if target not in known:
            wrong = f"no partition {quote(target)} is shown in this run; there are {', '.join(known)}"
            return wrong if target else "choose a partition"
        broker, replicas = str(details.get("broker", "")), replicas_of(payload, target)
        if "broker" in kind.details and broker not in replicas:
            label = next((n["label"] for n in payload["nodes"] if n["id"] == broker), quote(broker))
            return f"{label} is no replica of {target}; there are {', '.join(replicas)}"
    return ""


def _why_other(payload: Payload, kind: type[Fault], target: str, name: str) -> str:
    frames = payload["frames"]
    other = frames.get(name)
    if other is None or other["copy_of"]:
        return f"{kind.press} needs the frame {kind.other} which {target} arrives{near(name, frames)}"
    if other["sent"] <= frames[target]["sent"]:
        return f"{name} is not sent later than {target}, so it cannot overtake it"
    return ""


def replicas_of(payload: Payload, partition: str) -> list[str]:
    """Return the brokers that have a replica of the partition: those that may be elected."""
    reasons = payload["actions"]["reasons"]
    return [n["id"] for n in payload["nodes"] if f"elect {partition} {n['id']}" in reasons]


def _why_link(payload: Payload, at: int, action: str, target: str) -> str:
    actions, known = payload["actions"], _nodes_of(payload)
    a, b = sides_of(target, known)
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
