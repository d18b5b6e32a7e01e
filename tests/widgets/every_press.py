"""Every button of a run: the presses that the fault panel offers, and a few that nobody should try."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from kafkalab.widgets.model.presses import is_frame_fault, replicas_of

Press = tuple[str, str, dict[str, Any]]


def presses(payload: dict[str, Any], random: Random) -> Iterator[Press]:
    """Each action on some of what it can be done to, by chance; all nodes, all partitions."""
    frames = list(payload["frames"])
    noted = [key.split(" ") for key in payload["actions"]["reasons"]]
    struck = {key[1]: None for key in noted if is_frame_fault(key[0]) and len(key) > 1 and key[1] in frames}
    for frame in random.sample(frames, min(4, len(frames))) + list(struck):
        for action in ("drop", "duplicate", "hold", "release", "delay"):
            yield action, frame, {}
        yield "delay", frame, {"delay_ms": random.choice([1, 40, 2500])}
        yield "reorder", frame, {"after": random.choice(frames)}
        for action in ("crash_at", "respond_with"):
            yield action, frame, random.choice([{}, {"handled": True}])
        yield "late", frame, {"before": random.choice(frames)}
    nodes = [n["id"] for n in payload["nodes"]]
    for node in nodes:
        for action in ("crash", "restart", "pause", "resume", "cut", "heal", "throttle"):
            yield action, node, {}
        yield "crash", node, {"sent": True}
    for a in nodes:
        b = random.choice(nodes)
        yield "cut", f"{a}|{b}", {}
        yield "heal", f"{b}|{a}", {}
        yield "throttle", f"{a}|{b}", {"frame_ms": random.choice([1, 500, 70_000])}
    yield "upgrade", "", {}
    yield "advance", "", {"ms": random.choice([1, 500, 70_000])}
    for partition in payload["partitions"]:
        for action in ("compact", "roll", "delete_segment"):
            yield action, partition, {}
        for broker in replicas_of(payload, partition):
            yield "elect", partition, {"broker": broker, "unclean": random.random() < 0.5}
