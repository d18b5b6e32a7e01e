"""torn transaction: of one transaction some records took effect and others did not, or joined another transaction."""

from __future__ import annotations

from kafkalab.checks.check import Check, Examined, Finding, anomaly
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import OPEN, View
from kafkalab.history.schema import LogRecord


@anomaly(
    "torn transaction", "Of one transaction some records took effect and others did not, or joined another transaction."
)
def torn_transaction(check: Check, view: View) -> Examined:
    """Records that are still undecided do not count: a marker that is late is no tear."""
    examined, found = 0, []
    for transaction in view.transactions:
        decided = [r for r in transaction.records if view.outcomes[r.key, r.offset] != OPEN]
        if not decided:
            continue
        examined += 1
        if len({_ending(view, r.key, r.offset) for r in decided}) > 1:
            keys = list(dict.fromkeys(r.key for r in decided))
            steps = [r.step for r in decided] + [view.markers[r.key, r.offset].step for r in decided]
            found.append(check.found(_text(view, transaction), steps, keys, [r.offset for r in decided]))
    return examined, [*found, *_joined(check, view)]


def _joined(check: Check, view: View) -> list[Finding]:
    """Two transactions of clients with one COMMIT between them: the one took effect because the other did."""
    together: dict[tuple[int, int], dict[str, LogRecord]] = {}
    for transaction in (t for t in view.transactions if t.client):
        for record in transaction.records:
            marker = view.markers.get((record.key, record.offset))
            decision = view.decision(marker) if marker is not None and marker.control == "COMMIT" else None
            if decision is not None:
                here = together.setdefault((decision.producer_id, decision.step), {})
                here.setdefault(transaction.id, record)
    found = []
    for (_, step), records in together.items():
        if len(records) > 1:
            text = f"{' and '.join(records)} were committed by one decision"
            first = list(records.values())
            keys, offsets = [r.key for r in first], [r.offset for r in first]
            found.append(check.found(text, [step, *(r.step for r in first)], keys, offsets))
    return found


def _ending(view: View, key: str, offset: int) -> tuple[str, int]:
    """COMMIT or ABORT, and the decision that the marker carries out (-1 where the transaction log has none)."""
    marker = view.markers[key, offset]
    decision = view.decision(marker)
    return marker.control, decision.step if decision else -1


def _text(view: View, transaction: ClientTxn) -> str:
    parts: dict[str, None] = {}
    for record in transaction.records:
        place = (record.key, record.offset)
        if place in view.markers:
            marker = view.markers[place]
            parts[f"{record.key} {marker.control} at offset {marker.offset}"] = None
    return f"{transaction.id} ended in more than one way: {', '.join(parts)}"
