"""precommitted-read: a transaction polls a value that it wrote itself, before it committed."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.view import View


@anomaly(
    "precommitted-read",
    "A transaction polls a value that it wrote itself before it committed; legal under read_uncommitted.",
    needs=("operations", "log", "reads"),
)
def precommitted_read(check: Check, view: View) -> Examined:
    """Reads by a process that also writes transactions, against what its own transactions had not ended yet."""
    writers = {t.process for t in view.transactions}
    reads = [r for r in view.history.reads if r.process in writers]
    found = []
    for read in reads:
        place = (read.key, read.offset)
        own, record = view.transaction_of.get(place), view.at.get(place)
        if own is None or record is None or own.process != read.process or record.value != read.value:
            continue
        if own.end_step == -1 or read.step < own.end_step:
            text = f"{read.consumer} polled {read.value!r}, which {own.id} of the same process had not committed"
            policy = FORBIDDEN if read.isolation_level == "read_committed" else ALLOWED
            steps = [record.step, read.step, own.end_step]
            found.append(check.make_finding(text, steps, [read.key], [read.offset], policy))
    return len(reads), found
