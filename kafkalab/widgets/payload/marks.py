"""The marks that a picture needs besides the events: a few words for each event on its lane, and where frames end."""

from __future__ import annotations

from typing import Any

from kafkalab.widgets.payload.database import SAYS, statement_of
from kafkalab.widgets.payload.text import Payload, ViewState

FRAMES = ("send", "receive")


def with_marks(payload: Payload) -> Payload:
    """The payload with two more keys, "marks" and "ends"; the given one is not changed."""
    return {**payload, "marks": marks_of(payload), "ends": ends_of(payload)}


def marks_of(payload: Payload) -> dict[str, str]:
    """By step, as text: "append out-0 @0–1", "Ongoing → PrepareCommit", "out-0: HW 0→2 · LSO 0"; not for frames."""
    shown, marks = ViewState(), {}
    for op in payload["initial"]:
        shown.apply(op)
    for event in payload["events"]:
        if event["kind"] not in FRAMES and event["stop"]:
            marks[str(event["step"])] = mark_of(event, shown)
        for op in event["patch"]:
            shown.apply(op)
    return marks


def ends_of(payload: Payload) -> dict[str, int]:
    """By id of a frame that never arrives: the step at which the picture may show it dropped or lost."""
    dropped = {e["frame"]: e["step"] for e in payload["events"] if e["kind"] == "fault" and e["frame"]}
    crashes: dict[str, list[int]] = {}
    for event in payload["events"]:
        for op in event["patch"]:
            if op[0] == "node" and op[2] == "down":
                crashes.setdefault(op[1], []).append(event["step"])
    ends = {}
    for id_, frame in payload["frames"].items():
        if frame["fate"] == "dropped":
            ends[id_] = dropped.get(id_, frame["sent"])
        elif frame["fate"] == "lost":
            later = (step for step in crashes.get(frame["to"], []) if step > frame["sent"])
            down = _is_down(payload, frame["to"], frame["sent"], crashes)
            ends[id_] = frame["sent"] + 1 if down else next(later, frame["sent"] + 1)
    return ends


def _is_down(payload: Payload, node: str, step: int, crashes: dict[str, list[int]]) -> bool:
    """Return True if the node is down at a step: it has crashed before and not been started again since."""
    last = max((s for s in crashes.get(node, []) if s <= step), default=-1)
    if last < 0:
        return False
    ups = (e for e in payload["events"][last : step + 1] if e["node"] == node and e["kind"] == "recover")
    return next(ups, None) is None


def mark_of(event: dict[str, Any], shown: ViewState) -> str:
    """Return the mark of an event, whose changes are not applied to `shown` yet."""
    if event["name"] == "database":
        return statement_of(event["text"].partition(SAYS)[2].rstrip("."))
    words = [w for op in event["patch"] if (w := _words(op, event["patch"], shown))]
    if words:
        return ", ".join(words)
    if event["kind"] == "timer":
        return str(event["text"]).removesuffix(" without an answer.").replace(" seconds", " s")
    if event["kind"] == "state" or event["name"] == "program":
        return _without_node(event["text"])
    if event["kind"] == "fault":
        return f"{event['name']} {event['frame'] or ''}".strip()
    return {"crash": "crash", "recover": "restart"}.get(event["kind"], str(event["name"]))


def _without_node(text: str) -> str:
    """ "leads out-0 now" of "b2 leads out-0 now.": the lane says whose mark it is."""
    return text.rstrip(".").partition(" ")[2]


def _words(op: list[Any], patch: list[list[Any]], shown: ViewState) -> str:
    match op:
        case ["batch", _, partition, batch]:
            offsets = span(batch["base"], batch["last"])
            return f"{'append' if batch['kind'] == 'data' else batch['kind'] + ' to'} {partition} @{offsets}"
        case ["client", _, {"last": last}]:
            return str(last)
        case ["truncate", _, partition, offset]:
            return f"truncate {partition} to {offset}"
        case ["hw", node, partition, mark]:
            old, old_stable = (shown.marks.get((which, node, partition), 0) for which in ("hw", "lso"))
            stable = next((o[3] for o in patch if o[:3] == ["lso", node, partition]), old_stable)
            moved = f"{old_stable}→{stable}" if stable != old_stable else f"{stable}"
            return f"{partition}: HW {old}→{mark} · LSO {moved}"
        case ["txn", tid, now]:
            return _move(shown.transactions.get(tid), now)
    return ""


def _move(old: dict[str, Any] | None, now: dict[str, Any]) -> str:
    if now["pending"]:
        return f"{now['state']} → {now['pending']}, pending"
    if old is None:
        return str(now["state"])
    if old["state"] != now["state"]:
        return f"{old['state']} → {now['state']}"
    added = [p for p in now["partitions"] if p not in old["partitions"]]
    return f"{now['state']} + {', '.join(added)}" if added else str(now["state"])


def span(first: int, last: int) -> str:
    """Offsets as a range: "3" or "3–5"."""
    return f"{first}" if first == last else f"{first}–{last}"
