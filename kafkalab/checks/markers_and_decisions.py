"""marker without decision, decision without marker: markers and the transaction log say the same, both ways."""

from __future__ import annotations

from kafkalab.checks.check import UNKNOWN, Check, Examined, anomaly
from kafkalab.checks.view import PREPARED, View
from kafkalab.history.operations import SERVER
from kafkalab.history.schema import TOO_FEW_IN_SYNC, TxnEntry

GRACE_MS = 30_000
"""A decision younger than that may still be under way when the history ends."""


@anomaly(
    "marker without decision",
    "A COMMIT or ABORT marker with no PREPARE of that outcome in the transaction log.",
    needs=("log", "frames", "transactions"),
)
def marker_without_decision(check: Check, view: View) -> Examined:
    """Allowed: an ABORT that an administrator asked for (its frame came from a client) to end what hangs.

    Not allowed even then: an ABORT of records that the coordinator has decided to commit.
    """
    senders = {frame.id: frame.sender for frame in view.history.frames}
    examined, found = 0, []
    for key, records in view.logs.items():
        for marker in records:
            if not marker.control or not view.entries:
                continue
            examined += 1
            sender = senders.get(marker.frame, "b0")
            by_hand = marker.control == "ABORT" and not SERVER.fullmatch(sender)
            commit = view.find_contradicted(marker)
            if view.decision(marker) is None and (commit is not None or not by_hand):
                text = (
                    f"{key} has {marker.control} of producer {marker.producer_id}, epoch {marker.producer_epoch}, "
                    f"at offset {marker.offset}, which no PREPARE decided"
                )
                steps = [marker.step]
                if commit is not None:
                    text += f": the coordinator had decided COMMIT at step {commit.step}"
                    steps.append(commit.step)
                found.append(check.make_finding(text, steps, [key], [marker.offset]))
    return examined, found


@anomaly(
    "decision without marker",
    "A PREPARE that never reaches COMPLETE though all its partitions are up.",
    needs=("transactions", "leaders"),
)
def decision_without_marker(check: Check, view: View) -> Examined:
    """The last entry of an id is a PREPARE although all its partitions have leaders that take it, and it is not new."""
    newest: dict[str, TxnEntry] = {}
    decided = 0
    for entry in view.entries:
        newest[entry.transactional_id] = entry
        decided += entry.state in PREPARED
    leaders = {row.key: row.leader for row in view.history.leaders}
    leaders |= dict.fromkeys(view.history.label(TOO_FEW_IN_SYNC), "")
    found = []
    for entry in newest.values():
        up = all(leaders.get(key, "?") for key in (entry.key, *entry.partitions))
        age_ms = view.end_ms - entry.at_ms
        if entry.state not in PREPARED or not up or abs(age_ms) <= GRACE_MS:
            continue
        text, policy = f"{entry.transactional_id} has been in {entry.state} for {age_ms} ms", ""
        if age_ms < 0:
            text, policy = f"{text.partition(' for ')[0]} from {-age_ms} ms after the history ends on", UNKNOWN
        text += "; all its partitions are up"
        found.append(check.make_finding(text, [entry.step], entry.partitions, [entry.offset], policy))
    return decided, found
