"""poll-skip and int-poll-skip: a consumer jumps over known committed values, between two polls or inside one."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.order_of_polls import comparisons, jumps
from kafkalab.checks.view import View


def examine(check: Check, view: View) -> Examined:
    """Markers, aborted records and what was removed may be jumped over; after assign or seek all may."""
    inside = check.name.startswith("int-")
    found = []
    for jump in jumps(view):
        if jump.inside is not inside or jump.offset <= jump.expected or jump.moved in ("assign", "seek"):
            continue
        missed = view.committed_between(jump.after.key, jump.expected, jump.offset)
        if missed:
            key, consumer = jump.after.key, jump.after.consumer
            text = f"{consumer} went from {jump.expected} to {jump.offset} of {key}, over committed values"
            policy = ALLOWED if jump.moved else FORBIDDEN
            steps = [view.at[key, missed[0]].step, jump.before.step, jump.after.step]
            found.append(check.found(text, steps, [key], missed, policy))
    return comparisons(view)[inside], found


BETWEEN = anomaly("poll-skip", "Two consecutive polls jump over known committed values; allowed across a rebalance.")(
    examine
)
INSIDE = anomaly("int-poll-skip", "One poll jumps over known committed values.")(examine)
