"""hanging transaction: open on a partition, and no coordinator will ever end it; the last stable offset stays."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.checks.check import UNKNOWN, Check, Examined, Finding, anomaly
from kafkalab.checks.view import Place, View
from kafkalab.history.schema import LogRecord, TxnEntry
from kafkalab.protocol.transaction_metadata import TWO_PHASE_TIMEOUT_MS

OVERDUE_MS = 30_000
"""So long after its timeout an open transaction would be aborted (the coordinator looks every 10 s)."""

LONGEST_MS = 900_000
"""transaction.max.timeout.ms: what was begun without a timeout counts as given up after that."""


@anomaly(
    "hanging transaction",
    "An open transaction on a partition that no coordinator will ever end; the last stable offset stays.",
    needs=("log", "transactions"),
)
def hanging_transaction(check: Check, view: View) -> Examined:
    """Not hanging: one that its coordinator knows on this key, and that is decided or not overdue.

    Hanging, too: records that are still there although compaction has removed the marker that ended them. A leader that
    reads this log takes them for an open transaction (`LogCleaner` keeps a marker as long as its data).
    """
    newest: dict[int, TxnEntry] = {entry.producer_id: entry for entry in view.entries}
    groups = {(r.key, r.producer_id) for records in view.logs.values() for r in records if r.transactional}
    first: dict[tuple[str, int], LogRecord] = {}
    for record in view.open:
        first.setdefault((record.key, record.producer_id), record)
    found = []
    for (key, producer_id), record in first.items():
        entry = newest.get(producer_id)
        why, policy = _why(view, key, entry), ""
        if not why and entry is not None and _began_later(view, entry):
            why = f"it began {entry.start_ms - view.end_ms} ms after the history ends, so its age is unknown"
            policy = UNKNOWN
        if why:
            text = f"{key} has an open transaction of producer {producer_id} from offset {record.offset} on: {why}"
            steps = [record.step, entry.step if entry else -1]
            found.append(check.make_finding(text, steps, [key], [record.offset], policy))
    return len(groups), [*found, *_without_marker(check, view)]


def _without_marker(check: Check, view: View) -> Iterator[Finding]:
    """Yield a finding for each key and marker that was compacted away before all the records that it ended."""
    first: dict[Place, LogRecord] = {}
    for place, marker in view.markers.items():
        if marker.removed == "compacted" and not view.at[place].removed:
            first.setdefault((marker.key, marker.offset), view.at[place])
    for (key, offset), record in first.items():
        text = (
            f"{key} has an open transaction of producer {record.producer_id} from offset {record.offset} on: "
            f"compaction removed its marker at offset {offset}"
        )
        steps = [record.step, view.markers[key, record.offset].removed_step]
        yield check.make_finding(text, steps, [key], [record.offset])


def _began_later(view: View, entry: TxnEntry) -> bool:
    """Return whether clocks disagree on when a transaction began, so that nobody can say whether it is overdue."""
    return entry.state == "Ongoing" and entry.start_ms - view.end_ms > OVERDUE_MS


def _why(view: View, key: str, entry: TxnEntry | None) -> str:
    """Return why nobody will end it; empty if somebody will."""
    if entry is None:
        return "no coordinator knows the producer"
    if entry.state in ("PrepareCommit", "PrepareAbort"):
        return "" if key in entry.partitions else "it is not among the partitions of the decision"
    if entry.state != "Ongoing":
        return f"its coordinator is in {entry.state}"
    if key not in entry.partitions:
        return "its coordinator does not know of the partition"
    if entry.timeout_ms == TWO_PHASE_TIMEOUT_MS:
        open_ms = view.end_ms - entry.start_ms
        return f"it never times out, and has been open for {open_ms} ms" if open_ms > LONGEST_MS else ""
    overdue = view.end_ms - entry.start_ms - entry.timeout_ms
    return f"it timed out {overdue} ms ago, and nothing aborts it" if overdue > OVERDUE_MS else ""
