"""duplicate: one value at more than one offset of a key."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.view import View
from kafkalab.history.schema import LogRecord


@anomaly(
    "duplicate",
    "One value lies at more than one offset of a key; legal for an application's own resend.",
    needs=("operations", "log"),
)
def duplicate(check: Check, view: View) -> Examined:
    """Forbidden where one producer id holds more copies than its application sent; else the application's resend."""
    sent: dict[tuple[str, int, str | None], int] = {}
    for send in view.sends:
        who = (send.invoke.key, send.invoke.producer_id, send.invoke.value)
        sent[who] = sent.get(who, 0) + 1
    examined, found = 0, []
    for key in view.data_keys:
        copies: dict[str | None, list[LogRecord]] = {}
        for record in view.data(key):
            copies.setdefault(record.value, []).append(record)
            examined += 1
        for value, records in copies.items():
            if len(records) > 1 and value is not None:
                policy = FORBIDDEN if _too_many(records, sent) else ALLOWED
                places = [r.offset for r in records]
                text = f"{value!r} lies at the offsets {', '.join(map(str, places))} of {key}{_why(policy)}"
                found.append(check.make_finding(text, [r.step for r in records], [key], places, policy))
    return examined, found


def _too_many(records: list[LogRecord], sent: dict[tuple[str, int, str | None], int]) -> bool:
    """Return True if an idempotent producer has more copies in the log than it sent; it sent no preloaded ones."""
    by_producer: dict[int, int] = {}
    for record in records:
        if record.producer_id >= 0:
            by_producer[record.producer_id] = by_producer.get(record.producer_id, 0) + 1
    first = records[0]
    return any(n > sent.get((first.key, pid, first.value), 1) for pid, n in by_producer.items())


def _why(policy: str) -> str:
    return ", though it was sent once" if policy == FORBIDDEN else ": sent again, or without idempotence"
