"""Two runs side by side: where they part, and their stops from there on, those that are the same in one row."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from kafkalab.widgets.payload.text import stops

StepPair = list[Any]
"""[left step, right step, whether both are the same]; -1 where a side has nothing to put beside the other.

Where both say the same and only data differ, two more entries say what: "epoch 0", "epoch 1".
"""

TIMES = ("ts", "start_ms", "update_ms")
ENTRIES = ("fields", "decoded", "records")
MOST_WORDS = 3
BEFORE, MOST = 3, 1500
SHOWN = ("transaction", "verification")


def parting(left: dict[str, Any], right: dict[str, Any]) -> int:
    """Return the first step at which the payloads differ; -1 if they are the same.

    If no event differs, it is the first step at which a frame says something else.
    """
    at = _first_other_event(left, right)
    return at if at >= 0 else _first_other_frame(left, right)


def _first_other_event(left: dict[str, Any], right: dict[str, Any]) -> int:
    a, b = left["events"], right["events"]
    for step, (one, other) in enumerate(zip(a, b, strict=False)):
        if _key(one) != _key(other) or one["at"] != other["at"] or one["patch"] != other["patch"]:
            return step
    return min(len(a), len(b)) if len(a) != len(b) else -1


def _first_other_frame(left: dict[str, Any], right: dict[str, Any]) -> int:
    pairs = enumerate(zip(left["events"], right["events"], strict=True))
    return next((step for step, (one, other) in pairs if _fields_of(left, one) != _fields_of(right, other)), -1)


def _fields_of(payload: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event's frame."""
    return dict(payload["frames"][event["frame"]]["fields"]) if event["frame"] else {}


def rows_of(left: dict[str, Any], right: dict[str, Any], groups: tuple[str, ...] = SHOWN) -> list[StepPair]:
    """The stops of both from a few before they part. Of two events that say the same the one is beside the other."""
    at = parting(left, right)
    a, b = stops(left, groups), stops(right, groups)
    if at < 0:
        return [[step, step, 1] for step in a]
    both = [step for step in a if step < at][-BEFORE:]
    a, b = [s for s in a if s >= at], [s for s in b if s >= at]
    rows = [[step, step, 1] for step in both]
    if len(a) + len(b) > MOST:
        return rows + [[x, y, 0] for x, y in zip_longest(a, b, fillvalue=-1)]
    by_frames = _first_other_event(left, right) < 0
    keys = [_key(left["events"][s]) for s in a], [_key(right["events"][s]) for s in b]
    for kind, i, j, k, m in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        pairs = zip_longest(a[i:j], b[k:m], fillvalue=-1)
        if kind == "equal":
            for x, y in pairs:
                one, other = left["events"][x], right["events"][y]
                said = (_fields_of(left, one), _fields_of(right, other)) if by_frames else ({}, {})
                rows.append([x, y, *_data(one, other, said)])
        else:
            rows += [[x, y, 0] for x, y in pairs]
    return rows


def _data(one: dict[str, Any], other: dict[str, Any], said: tuple[dict[str, Any], dict[str, Any]]) -> list[Any]:
    """Return [1] if both events change the same, but for times, and say the same; else 0 and what differs."""
    words: tuple[list[str], list[str]] = ([], [])
    same = True
    changes = [[_facts(a), _facts(b)] for a, b in zip_longest(one["patch"], other["patch"], fillvalue=())]
    for facts in [*changes, said]:
        for name in dict.fromkeys((*facts[0], *facts[1])):
            values = [known.get(name, "nothing") for known in facts]
            if values[0] != values[1]:
                same = False
                for told, value in zip(words, values, strict=True):
                    told.append(f"{name} {_plain(value)}")
    return [1] if same else [0, *(", ".join(dict.fromkeys(told[:MOST_WORDS])) for told in words)]


def _facts(op: Sequence[Any]) -> dict[str, Any]:
    """Return what a change says, by name: the fields of a batch, its entries or a state, but no times; else a value."""
    if not op:
        return {}
    known = op[-1]
    if op[0] == "memory":
        return {"batches remembered": sum(len(producer["batches"]) for producer in known.values())}
    if not isinstance(known, dict):
        return {" ".join(str(word) for word in op[:-1] if not isinstance(word, list)): known}
    entries = [field for entry in known.get("fields", ()) for field in entry]
    facts = {name: value for name, value in known.items() if not (entries and name in ENTRIES)}
    return {name: value for name, value in {**facts, **dict(entries)}.items() if name not in TIMES}


def _plain(value: Any) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _key(event: dict[str, Any]) -> tuple[str, ...]:
    return event["kind"], event["node"], event["name"], event["frame"], event["text"]


def state_steps(rows: list[StepPair], row: int) -> tuple[int, int]:
    """The steps up to which both sides are shown when the cursor is in a row: a side without one stays where it was."""
    found = []
    for side in (0, 1):
        found.append(next((r[side] for r in reversed(rows[: row + 1]) if r[side] >= 0), 0))
    return found[0], found[1]
