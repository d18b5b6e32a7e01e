"""LSO regression: the last stable offset of a key goes back while its leader stays the same."""

from __future__ import annotations

from kafkalab.checks.check import Check, Examined, anomaly
from kafkalab.checks.view import View
from kafkalab.history.schema import Watermark


@anomaly(
    "LSO regression",
    "The last stable offset of a key goes back while its leader stays the same.",
    needs=("watermarks",),
)
def lso_regression(check: Check, view: View) -> Examined:
    """Within one leader epoch; a new leader may know less for a moment."""
    last: dict[tuple[str, str, int], Watermark] = {}
    examined, found = 0, []
    for mark in view.history.watermarks:
        if not mark.leads:
            continue
        examined += 1
        place = (mark.key, mark.node, mark.leader_epoch)
        before = last.get(place)
        if before is not None and mark.last_stable_offset < before.last_stable_offset:
            text = f"{mark.key} on {mark.node}: from {before.last_stable_offset} back to {mark.last_stable_offset}"
            found.append(check.make_finding(text, [before.step, mark.step], [mark.key], [mark.last_stable_offset]))
        last[place] = mark
    return examined, found
