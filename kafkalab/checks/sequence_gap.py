"""sequence gap, reorder: the accepted sequences of a producer id, epoch and key do not follow each other."""

from __future__ import annotations

from kafkalab.checks.check import Check, Examined, anomaly
from kafkalab.checks.view import Place, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.protocol.records import sequence_after

IMPLICIT_ADD = 12
"""From this version of Produce on the partition is added on the way, which is what transaction version 2 does."""

EXPIRATION = "producer_id_expiration_ms="


@anomaly(
    "sequence gap",
    "The accepted sequences of a producer id, epoch and key do not follow each other in offset order.",
    needs=("operations", "log", "frames"),
)
def sequence_gap(check: Check, view: View) -> Examined:
    """They count records and wrap; a new epoch begins at 0 unless the leader knew nothing of the producer."""
    examined, found = 0, []
    from_zero, limit_ms = _of_version_2(view), expiration_ms(view.history)
    for key, records in view.logs.items():
        if topic_of(key) == OFFSETS_TOPIC:
            continue  # a group coordinator's batches all have sequence 0
        last: dict[int, LogRecord] = {}
        missing: dict[int, int] = {}
        for record, unknown in zip(records, view.unknown[key], strict=True):
            if record.producer_id < 0:
                continue
            before = last.get(record.producer_id)
            if not record.control:
                examined += 1
                if before is not None and _may_be_forgotten(before, record, limit_ms):
                    before = None
                wrong = _wrong(before, record, unknown - missing.get(record.producer_id, 0))
                if before is None and not unknown and record.sequence > 0 and (key, record.offset) in from_zero:
                    wrong = f"a transaction of version 2 begins at sequence {record.sequence}"
                if wrong:
                    text = f"offset {record.offset} of {key}, producer {record.producer_id}: {wrong}"
                    proof = [r for r in (before, record) if r is not None]
                    found.append(check.make_finding(text, [r.step for r in proof], [key], [r.offset for r in proof]))
            if not (record.control and before is not None and before.producer_epoch == record.producer_epoch):
                last[record.producer_id], missing[record.producer_id] = record, unknown
    return examined, found


def _of_version_2(view: View) -> set[Place]:
    """The records that clients sent with Produce 12 or later, in transactions: their sequences begin at 0 in each."""
    sent = {f.sent_step for f in view.history.frames if f.name == "Produce" and f.version >= IMPLICIT_ADD}
    sends = [s for s in view.sends if s.invoke.transactional_id is not None and s.invoke.step in sent]
    return {(r.key, r.offset) for s in sends for r in s.records}


def expiration_ms(history: History) -> int:
    """producer.id.expiration.ms of the run, Kafka's default where the history does not say it."""
    given = [value.partition("=")[2] for value in history.label("config") if value.startswith(EXPIRATION)]
    return int(given[-1]) if given else EXPIRATION_MS


def _may_be_forgotten(before: LogRecord, record: LogRecord, limit_ms: int) -> bool:
    """Return True if the leader may know nothing of the producer any more; it never forgets one in a transaction."""
    return record.at_ms - before.at_ms >= limit_ms and (bool(before.control) or not before.transactional)


def _wrong(before: LogRecord | None, record: LogRecord, unknown: int) -> str:
    """Return what is wrong with this sequence after that one, or "". `unknown` records may lie in between."""
    if before is None or before.removed == "deleted":
        return ""
    if before.control or before.producer_epoch != record.producer_epoch:
        if record.sequence == 0 or (before.control and before.sequence == -1 and unknown):
            return ""
        return f"epoch {record.producer_epoch} begins at sequence {record.sequence}" if unknown == 0 else ""
    jump = (record.sequence - sequence_after(before.sequence, 1)) & 0x7FFFFFFF
    if jump <= unknown:
        return ""
    return f"sequence {record.sequence} follows {before.sequence}"
