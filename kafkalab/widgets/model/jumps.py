"""Presses that take the cursor to a chapter, a change, a frame, or that fold and open steps of the walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkalab.limits import quote
from kafkalab.widgets.payload.tour import changes_at, fold_at

KINDS = ("change", "chapter", "frame")
JUMPS = tuple(f"{way}_{kind}" for kind in KINDS for way in ("next", "previous"))
WALKS = (*JUMPS, "find", "every", "open")
Payload = dict[str, Any]


def chapters_at(payload: Payload, places: Sequence[int]) -> list[tuple[int, str]]:
    """Return the chapters with the stop of the walk `places` at which each begins: it may be folded into that one.

    A walk without stops, because all frames are hidden, has each chapter at its own step.
    """
    found = []
    for chapter in payload.get("chapters", ()):
        last = places[-1] if places else int(chapter["step"])
        found.append((next((stop for stop in places if stop >= chapter["step"]), last), str(chapter["name"])))
    return found


def chapter_at(payload: Payload, places: Sequence[int], step: int) -> str:
    """Return the name of the chapter that a step belongs to; "" before the first."""
    return next((name for at, name in reversed(chapters_at(payload, places)) if at <= step), "")


def walk_lines(payload: Payload, places: Sequence[int], inside: Sequence[int], step: int) -> list[str]:
    """Return what the text twin says of the walk at a step: its chapter, all chapters, what is folded.

    `places` are the stops of the walk, `inside` the steps that are folded into the one at the cursor.
    """
    known = chapters_at(payload, places)
    at = [f"{name} ({places.index(stop) + 1})" for stop, name in known if places]
    lines = [f"chapter: {chapter_at(payload, places, step) or 'none yet'}; by stop: {', '.join(at)}"] if at else []
    if step in places and (told := fold_at(payload, step, places)):
        lines.append(told)
    hiding = [s for s in inside if s not in places]
    return [*lines, f"folded into this stop: {len(hiding)} steps"] if hiding and step in places else lines


def jump(payload: Payload, places: Sequence[int], every: Sequence[int], step: int, action: str) -> int:
    """Return the step to which `action`, one of `JUMPS`, takes a cursor at `step`.

    `places` are the stops of the walk, `every` all stops. ValueError if there is nothing further on that side.
    """
    way, kind = action.split("_")
    if kind == "chapter":
        known = [at for at, _ in chapters_at(payload, places)]
    else:
        known = changes_at(payload, every) if kind == "change" else list(every)
    found = [at for at in known if at > step] if way == "next" else [at for at in reversed(known) if at < step]
    if not found:
        raise ValueError(f"there is no {kind} {'after' if way == 'next' else 'before'} this step")
    return min(found) if way == "next" else max(found)


def find(payload: Payload, places: Sequence[int], name: str) -> int:
    """Return the step of what a link names: where "EndTxn#1" is sent, or where "chapter:decision" begins.

    ValueError if the run has no such frame or chapter.
    """
    if name.startswith("chapter:"):
        slugs = [f"chapter:{chapter['slug']}" for chapter in payload.get("chapters", ())]
        if name in slugs:
            return chapters_at(payload, places)[slugs.index(name)][0]
    elif name in payload["frames"]:
        return int(payload["frames"][name]["sent"])
    raise ValueError(f"this run has no {quote(name)}")
