"""unseen: committed, but not polled by the end of the history; it may only be late."""

from __future__ import annotations

from kafkalab.checks.check import REPORTED, Check, Examined, anomaly
from kafkalab.checks.reading import collect_polls
from kafkalab.checks.view import View


@anomaly(
    "unseen",
    "A committed value was not polled by the end of the history; it may only be late.",
    REPORTED,
    needs=("log", "reads"),
)
def unseen(check: Check, view: View) -> Examined:
    """One finding for each key that was polled at all, with what nobody was given."""
    given = collect_polls(view)
    keys = list(dict.fromkeys(key for key, _ in given if key in view.known))
    examined, found = 0, []
    for key in keys:
        examined += len(view.known[key])
        unseen = [o for o in view.known[key] if (key, o) not in given or view.at[key, o].value not in given[key, o]]
        if unseen:
            text = f"{key}: {len(unseen)} committed value(s) were not polled, the first at offset {unseen[0]}"
            found.append(check.make_finding(text, [view.at[key, unseen[0]].step], [key], unseen))
    return examined, found
