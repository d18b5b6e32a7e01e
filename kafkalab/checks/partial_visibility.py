"""partial visibility: between two markers of one committed transaction a reader sees one part and not yet the other.

Allowed: Kafka promises an atomic outcome, not a snapshot.
"""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, Check, Examined, anomaly
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import COMMITTED, View
from kafkalab.history.schema import LogRecord


@anomaly(
    "partial visibility",
    "Between two markers of a committed transaction a reader sees one part and not yet the other.",
    ALLOWED,
    needs=("operations", "log", "reads"),
)
def partial_visibility(check: Check, view: View) -> Examined:
    """One finding for each consumer and transaction: the consumer reads both keys, one of them too early."""
    reads_of: dict[str, dict[str, None]] = {}
    for consumer, key in view.stretches:
        reads_of.setdefault(consumer, {})[key] = None
    last_marker: dict[str, dict[str, LogRecord]] = {}
    for transaction in view.transactions:
        last_marker[transaction.id] = _markers(view, transaction)
    examined, found = 0, []
    seen: dict[tuple[str, str], None] = {}
    for read in view.history.reads:
        place = (read.key, read.offset)
        owner = view.transaction_of.get(place)
        if owner is None or read.isolation_level != "read_committed" or view.outcome(read) != COMMITTED:
            continue
        examined += 1
        mine = reads_of.get(read.consumer, {})
        late = [m for k, m in last_marker[owner.id].items() if k in mine and k != read.key and m.step > read.step]
        if late and (read.consumer, owner.id) not in seen:
            seen[read.consumer, owner.id] = None
            text = f"{read.consumer} saw {read.key} of {owner.id} before {late[0].key} had its marker"
            steps = [view.markers[place].step, read.step, late[0].step]
            found.append(check.make_finding(text, steps, [read.key, late[0].key]))
    return examined, found


def _markers(view: View, transaction: ClientTxn) -> dict[str, LogRecord]:
    """The COMMIT marker that ended the transaction on each key."""
    return {
        r.key: view.markers[r.key, r.offset] for r in transaction.records if view.outcomes[r.key, r.offset] == COMMITTED
    }
