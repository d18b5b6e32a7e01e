"""torn transaction: of one transaction some records took effect and others did not, or joined another transaction."""

from __future__ import annotations

from kafkalab.checks.check import FORBIDDEN, Check, Examined
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import OPEN, View


def examine(check: Check, view: View) -> Examined:
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
    return examined, found


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


CHECK = Check(
    name="torn transaction",
    policy=FORBIDDEN,
    meaning="Of one transaction some records took effect and others did not, or joined another transaction.",
    examine=examine,
)
