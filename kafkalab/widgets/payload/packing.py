"""Pack a payload for the browser: JSON text with columns instead of rows, each value once.

The inverse is `unpacked` in the module `run` of the pictures.
"""

from __future__ import annotations

import json
from typing import Any

from kafkalab.sim.kernel.kernel import few_collections

EVENT = ("node", "kind", "name", "category", "txn", "text")
FRAME = ("name", "kind", "from", "to", "category", "fate", "copy_of", "error", "txn", "about")
HERE = "\x01"
"""Stands for the id of an event's own frame, and of the frame that a response answers, in texts."""


class _Shared:
    """Values by the order in which they were first seen."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._place: dict[Any, int] = {}

    def place(self, value: Any, key: Any = None) -> int:
        """Return the place of a value, which `key` stands for if it cannot be a key itself."""
        key = value if key is None else key
        found = self._place.get(key)
        if found is None:
            found = self._place[key] = len(self.values)
            self.values.append(value)
        return found


@few_collections()
def pack(payload: dict[str, Any]) -> str:
    """Return the payload as JSON text, with "events" and "frames" as columns of indexes into "shared".

    An event's own frame is its number in "frames" plus one; its cause, and when and where a frame arrives, are told as
    distances. An empty payload is the empty text. It is one text, because ipywidgets looks through every list and
    every object of a value for bytes, in Python and in the browser.
    """
    if not payload:
        return ""
    shared = _Shared()
    frames = list(payload["frames"].values())
    numbers = {frame["id"]: i for i, frame in enumerate(frames, 1)}
    rest = {k: v for k, v in payload.items() if k not in ("events", "frames", "actions")}
    events = _events(payload["events"], numbers, shared)
    actions = _actions(payload["actions"], shared) if "actions" in payload else {}
    whole = {**rest, "events": events, "frames": _frames(frames, shared), "actions": actions, "shared": shared.values}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def _actions(actions: dict[str, Any], shared: _Shared) -> dict[str, Any]:
    """Return the reasons as [[step, place in "shared"], …], -1 for None; {} in a text stands for the target."""
    reasons: dict[str, list[list[int]]] = {}
    for key, changes in actions["reasons"].items():
        target = f"{key} ".split(" ")[1]
        texts = [(step, r.replace(target, "{}") if r and target else r) for step, r in changes]
        reasons[key] = [[step, -1 if text is None else shared.place(text)] for step, text in texts]
    return {**actions, "reasons": reasons}


def _events(events: list[dict[str, Any]], numbers: dict[str, int], shared: _Shared) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in (*EVENT, "stop", "at", "cause", "frame", "patch")}
    before = 0
    for event in events:
        frame = event["frame"]
        for name in EVENT:
            value = event[name]
            columns[name].append(shared.place(value.replace(frame, HERE) if name == "text" and frame else value))
        columns["stop"].append(int(event["stop"]))
        columns["at"].append(event["at"] - before)
        columns["cause"].append(event["step"] - event["cause"] if event["cause"] >= 0 else 0)
        columns["frame"].append(numbers.get(frame, 0))
        columns["patch"].append([_op(op, shared) for op in event["patch"]] or 0)
        before = event["at"]
    return columns


def _op(op: list[Any], shared: _Shared) -> list[Any]:
    """A change of the picture; the batch, the same on each replica, as its place."""
    return [*op[:3], shared.place(op[3], id(op[3]))] if op[0] == "batch" else op


def _frames(frames: list[dict[str, Any]], shared: _Shared) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in (*FRAME, "id", "sent", "at", "attempt")}
    columns |= {"received": [], "received_at": [], "of": [], "fields": []}
    for frame in frames:
        for name in FRAME:
            value = frame[name]
            told = value.replace(frame["of"], HERE) if name == "about" and frame["of"] else value
            columns[name].append(shared.place(told))
        arrived = frame["received"] is not None
        columns["received"].append(frame["received"] - frame["sent"] if arrived else 0)
        columns["received_at"].append(frame["received_at"] - frame["at"] if arrived else 0)
        columns["of"].append(shared.place(frame["of"]))
        names = [name for name, _ in frame["fields"]]
        values = (shared.place(value) for _, value in frame["fields"])
        columns["fields"].append([shared.place(names, tuple(names)), *values])
        for name in ("id", "sent", "at", "attempt"):
            columns[name].append(frame[name])
    return columns
