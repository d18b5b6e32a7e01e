"""sequence gap, reorder: the accepted sequences of a producer id, epoch and key do not follow each other."""

from __future__ import annotations

from kafkalab.checks.check import FORBIDDEN, Check, Examined
from kafkalab.checks.view import View
from kafkalab.core.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.core.records import sequence_after
from kafkalab.history_rows import LogRecord


def examine(check: Check, view: View) -> Examined:
    """They count records and wrap; a new epoch begins at 0 unless the leader knew nothing of the producer."""
    examined, found = 0, []
    for key, records in view.logs.items():
        if topic_of(key) == OFFSETS_TOPIC:
            continue  # a group coordinator's batches all have sequence 0
        last: dict[int, LogRecord] = {}
        holes, expected_offset = 0, records[0].offset
        missing: dict[int, int] = {}
        for record in records:
            holes += record.offset - expected_offset  # offsets of which the history says nothing
            expected_offset = record.offset + 1
            if record.producer_id < 0:
                continue
            before = last.get(record.producer_id)
            if not record.control:
                examined += 1
                wrong = _wrong(before, record, holes - missing.get(record.producer_id, 0))
                if wrong and before is not None:
                    text = f"offset {record.offset} of {key}, producer {record.producer_id}: {wrong}"
                    offsets = [before.offset, record.offset]
                    found.append(check.found(text, [before.step, record.step], [key], offsets))
            if not (record.control and before is not None and before.producer_epoch == record.producer_epoch):
                last[record.producer_id], missing[record.producer_id] = record, holes
    return examined, found


def _wrong(before: LogRecord | None, record: LogRecord, unknown: int) -> str:
    """What is wrong with this sequence after that one; empty if nothing is. `unknown` records may lie in between."""
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


CHECK = Check(
    name="sequence gap",
    policy=FORBIDDEN,
    meaning="The accepted sequences of a producer id, epoch and key do not follow each other in offset order.",
    examine=examine,
)
