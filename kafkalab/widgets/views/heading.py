"""The first lines of the text twins: the run, the position, the sentence of the step."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalab.widgets.payload.text import Payload, head_of

DAY_MS = 86_400_000


def where(payload: Payload, step: int, places: Sequence[int]) -> str:
    """ "step 12 of 61 · t = 14 ms", as the bar of a view says it; `places` are the steps at which the cursor stops."""
    place = sum(1 for s in places if s <= step)
    return f"step {place} of {len(places)} · t = {time(payload['events'][step]['at'])}"


def time(ms: int) -> str:
    """ "14 ms", from ten seconds on "70.023 s", and from a day on "8 d 5126 ms"."""
    if ms >= DAY_MS:
        return f"{ms // DAY_MS} d {time(ms % DAY_MS)}"
    return f"{ms} ms" if ms < 10_000 else f"{ms / 1000:.3f} s"


def head_lines(payload: Payload, step: int, places: Sequence[int]) -> list[str]:
    """Return title, faults, position and sentence of `step`."""
    lines = [head_of(payload)]
    if payload["faults"]:
        lines.append("faults: " + ", ".join(payload["faults"]))
    return [*lines, where(payload, step, places), payload["events"][step]["text"]]
