"""nonmonotonic-poll and int-nonmonotonic-poll: a later poll, or record of a poll, is not behind the earlier one."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.order_of_polls import comparisons, jumps
from kafkalab.checks.view import View


def examine(check: Check, view: View) -> Examined:
    """Going back is allowed after assign, seek or rebalance."""
    inside = check.name.startswith("int-")
    found = []
    for jump in jumps(view):
        if jump.inside is inside and jump.offset < jump.expected:
            text = f"{jump.after.consumer} went back from {jump.expected} to {jump.offset} of {jump.after.key}"
            policy = ALLOWED if jump.moved else FORBIDDEN
            steps = [jump.before.step, jump.after.step]
            found.append(check.found(text, steps, [jump.after.key], [jump.offset], policy))
    return comparisons(view)[inside], found


BETWEEN = anomaly(
    "nonmonotonic-poll",
    "A later poll starts at or before the end of an earlier one; allowed after seek, assign or rebalance.",
)(examine)
INSIDE = anomaly("int-nonmonotonic-poll", "Inside one poll a later record has an earlier offset.")(examine)
