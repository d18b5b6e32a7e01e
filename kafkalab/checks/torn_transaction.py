"""torn transaction: of one transaction some records took effect and others did not, or joined another transaction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from kafkalab.checks.check import Check, Examined, Finding, anomaly
from kafkalab.checks.offset_commits import find_overwritten
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import OPEN, PREPARED, View
from kafkalab.history.schema import LogRecord, TxnEntry


def _from_a_log(check: Check, view: View) -> Iterator[Finding]:
    yield from _against_decisions(check, view)
    yield from find_overwritten(check, view)


def _against_decisions(check: Check, view: View) -> Iterator[Finding]:
    """Yield markers that ended a part of a transaction in another way than its decision ended the rest of it.

    A marker counts against a decision if no other one explains it, and if the producer id's transaction was ongoing on
    that key, or was being ended, when it was written. That takes brokers' clocks for equal, so it may miss a tear.
    """
    entries: dict[int, list[TxnEntry]] = {}
    for entry in sorted(view.entries, key=lambda e: e.step):
        entries.setdefault(entry.producer_id, []).append(entry)
    carried_out: set[tuple[int, int]] = set()
    suspects: list[tuple[LogRecord, LogRecord, TxnEntry]] = []
    for records in view.logs.values():
        seen: set[tuple[int, int]] = set()
        for marker in (r for r in records if r.control):
            first, own = view.ended.get((marker.key, marker.offset)), view.decision(marker)
            if own is not None and (own.producer_id, own.step) not in seen:
                seen.add((own.producer_id, own.step))
                if first is not None:
                    carried_out.add((own.producer_id, own.step))
            elif first is not None:
                hit = _decision_hit(entries.get(marker.producer_id, []), first, marker)
                suspects += [(first, marker, hit)] if hit is not None else []
    for first, marker, hit in suspects:
        if (hit.producer_id, hit.step) in carried_out:
            part = describe_part(marker.key, marker.control, marker.offset)
            parts = (part, f"elsewhere {PREPARED[hit.state]} as decided")
            text = describe_torn(f"{hit.transactional_id}, producer {marker.producer_id},", parts)
            steps, offsets = [first.step, marker.step, hit.step], [first.offset, marker.offset]
            yield check.make_finding(text, steps, [marker.key], offsets)


def _decision_hit(entries: list[TxnEntry], first: LogRecord, marker: LogRecord) -> TxnEntry | None:
    """The decision of the transaction that a marker without a decision broke into, if it was of the other outcome."""
    place = bisect_left(entries, marker.step, key=lambda e: e.step)
    before = entries[place - 1] if place else None
    if before is None or marker.key not in before.partitions:
        return None
    hit: TxnEntry | None = before
    if before.state == "Ongoing" and before.producer_epoch == first.producer_epoch:
        hit = next((e for e in entries[place:] if e.state in PREPARED), None)
    return hit if hit is not None and PREPARED.get(hit.state, marker.control) != marker.control else None


@anomaly(
    "torn transaction",
    "Of one transaction some records took effect and others did not, or joined another transaction.",
    from_a_log=_from_a_log,
    needs=("operations", "log", "transactions"),
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
            found.append(check.make_finding(_text(view, transaction), steps, keys, [r.offset for r in decided]))
    return examined, [*found, *_find_joined(check, view)]


def _find_joined(check: Check, view: View) -> list[Finding]:
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
            text = describe_joined(records)
            first = list(records.values())
            keys, offsets = [r.key for r in first], [r.offset for r in first]
            found.append(check.make_finding(text, [step, *(r.step for r in first)], keys, offsets))
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
            parts[describe_part(record.key, marker.control, marker.offset)] = None
    return describe_torn(transaction.id, parts)


def describe_torn(transaction: str, parts: Iterable[str]) -> str:
    """The sentence of a transaction whose parts ended in more than one way."""
    return f"{transaction} ended in more than one way: {', '.join(parts)}"


def describe_part(key: str, control: str, offset: int) -> str:
    """Return how and where a part of a transaction ended, in words."""
    return f"{key} {control} at offset {offset}"


def describe_joined(transactions: Iterable[str]) -> str:
    """The sentence of transactions with one COMMIT between them."""
    return f"{' and '.join(transactions)} were committed by one decision"
