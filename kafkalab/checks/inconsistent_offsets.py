"""inconsistent-offsets: one offset of a key shows two different values, in any sends or polls."""

from __future__ import annotations

from kafkalab.checks.check import Check, Examined, anomaly
from kafkalab.checks.view import View


@anomaly("inconsistent-offsets", "One offset of a key shows two different values.", needs=("operations", "reads"))
def inconsistent_offsets(check: Check, view: View) -> Examined:
    """Offsets that clients were told or shown; what a log held and lost before anybody knew of it is legal."""
    shown: dict[tuple[str, int], dict[str | None, int]] = {}
    for send in view.sends:
        if send.offset >= 0 and send.end is not None:
            shown.setdefault((send.invoke.key, send.offset), {}).setdefault(send.invoke.value, send.end.step)
    for read in view.history.reads:
        shown.setdefault((read.key, read.offset), {}).setdefault(read.value, read.step)
    return len(shown), [
        check.make_finding(
            f"{key} offset {offset} shows {' and '.join(map(repr, values))}", values.values(), [key], [offset]
        )
        for (key, offset), values in shown.items()
        if len(values) > 1
    ]
