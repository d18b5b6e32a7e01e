"""The offsets that groups have committed, as a log alone tells: overwritten in a transaction, or moved backwards.

Neither is an anomaly of its own. Two commits in one transaction are evidence of a torn transaction, since a late
TxnOffsetCommit of an earlier one may have joined it. An offset that a transaction moves backwards disagrees with the
output of the transactions before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkalab.checks.check import ALLOWED, FORBIDDEN, UNKNOWN, Check, Finding
from kafkalab.checks.view import COMMITTED, View
from kafkalab.history.schema import LogRecord
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of

EITHER = "its application committed twice, or an older TxnOffsetCommit joined it: a log does not say which"


def find_overwritten(check: Check, view: View) -> Iterator[Finding]:
    """Yield the committed transactions that hold two offsets of one group's partition.

    Forbidden if a lower offset overwrites a higher one: the inputs between are done, and will be read again. If a
    higher one overwrites a lower one, it is unknown whether the application committed twice. It did if the marker has a
    later epoch than the records: in transaction version 2 each transaction has its own epoch (KIP-890), so that no
    older request can join.
    """
    together: dict[tuple[str, int, str], list[LogRecord]] = {}
    for record in view.offset_commits:
        place = (record.key, record.offset)
        if record.transactional and view.outcomes[place] == COMMITTED:
            ended = view.markers[place].offset
            together.setdefault((record.key, ended, record.record_key or ""), []).append(record)
    for (_, _, name), records in together.items():
        offsets, marker = [offset_of(r) for r in records], view.markers[records[0].key, records[0].offset]
        is_lower = offsets[-1] < max(offsets)
        if is_lower or (len(set(offsets)) > 1 and marker.producer_epoch == records[-1].producer_epoch):
            yield _make_overwritten(check, name, records, marker, is_lower)


def _make_overwritten(check: Check, name: str, records: list[LogRecord], marker: LogRecord, is_lower: bool) -> Finding:
    last = records[-1]
    text = (
        f"the transaction of producer {last.producer_id}, epoch {last.producer_epoch}, that COMMIT at offset "
        f"{marker.offset} of {last.key} ended, holds the offsets {', '.join(str(r.value) for r in records)} of {name}; "
    )
    text += f"{last.value} counts, which is lower than one before it" if is_lower else EITHER
    steps, places = [*(r.step for r in records), marker.step], [r.offset for r in records]
    return check.make_finding(text, steps, [last.key], places, FORBIDDEN if is_lower else UNKNOWN)


def find_regressions(check: Check, view: View) -> Iterator[Finding]:
    """Yield the commits that took effect and are lower than what the group had committed of the partition before.

    Forbidden where both are of transactions. Allowed otherwise: an administrator's reset is a commit outside
    transactions, and so is what a consumer commits after a seek. A group or topic that was deleted begins anew.
    """
    for records in (of_key for key, of_key in view.logs.items() if topic_of(key) == OFFSETS_TOPIC):
        committed: dict[str, LogRecord] = {}
        for record in _find_effective(records):
            name = record.record_key or ""
            before = committed.get(name)
            if record.value is None:
                committed.pop(name, None)
            elif before is None or before.offset < record.offset:  # else a newer entry counts (docs/protocol.md)
                committed[name] = record
                if before is not None and offset_of(record) < offset_of(before):
                    yield _make_regression(check, name, before, record)


def _make_regression(check: Check, name: str, before: LogRecord, record: LogRecord) -> Finding:
    text = f"the committed offset of {name} went back from {before.value} to {record.value}"
    is_forbidden = before.transactional and record.transactional
    text += f" in a transaction of producer {record.producer_id}" if record.transactional else ", outside transactions"
    steps, places = [before.step, record.step], [before.offset, record.offset]
    return check.make_finding(text, steps, [record.key], places, FORBIDDEN if is_forbidden else ALLOWED)


def _find_effective(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Yield the entries of groups' offsets of a partition as they take effect: with the marker, or when appended.

    Of several in one transaction only the last takes effect.
    """
    pending: dict[int, dict[str, LogRecord]] = {}
    for record in records:
        if record.control:
            ended = pending.pop(record.producer_id, {})
            if record.control == "COMMIT":
                yield from ended.values()
        elif record.record_key and record.transactional:
            pending.setdefault(record.producer_id, {})[record.record_key] = record
        elif record.record_key:
            yield record


def offset_of(record: LogRecord) -> int:
    """Return the offset that an entry commits; -1 for a tombstone."""
    return -1 if record.value is None else int(record.value)
