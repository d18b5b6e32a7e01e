"""G1a, aborted read: a read_committed poll returns a value whose transaction definitely aborted."""

from __future__ import annotations

from kafkalab.checks.check import Check, Examined, anomaly
from kafkalab.checks.view import ABORTED, View


@anomaly(
    "G1a",
    "A read_committed poll returns a value whose transaction definitely aborted.",
    needs=("operations", "log", "reads"),
)
def g1a(check: Check, view: View) -> Examined:
    """A transaction aborted if its ABORT marker says so, or if its client was told so and never asked for more."""
    reads = [r for r in view.history.reads if r.isolation_level == "read_committed"]
    found = []
    for read in reads:
        place = (read.key, read.offset)
        outcome = view.outcome(read)
        if outcome == ABORTED:
            why, step = "which an ABORT marker ended", view.markers[place].step
        elif outcome and place in view.transaction_of and view.transaction_of[place].definitely_aborted:
            transaction = view.transaction_of[place]
            why, step = f"which {transaction.client} aborted", transaction.ends[-1].step
        else:
            continue
        text = f"{read.consumer} was given {read.value!r} of {read.key} at offset {read.offset}, {why}"
        found.append(check.make_finding(text, [view.at[place].step, read.step, step], [read.key], [read.offset]))
    return len(reads), found
