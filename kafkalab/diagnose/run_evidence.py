"""Turn a run of the lab into the evidence that its own dumps and logs would give, each fact with its step."""

from __future__ import annotations

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Batch, Marker, OffsetCommit, Said, Source, StateRecord
from kafkalab.diagnose.readers.errors_in_text import WATCHED
from kafkalab.log.group_offsets import OffsetCommit as LoggedOffset
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import Batch as LoggedBatch
from kafkalab.protocol.records import ControlType, Record
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Run
from kafkalab.trace import Frame

NAMES = frozenset(error.name for error in WATCHED)


def evidence_of(run: Run, file: str, evidence: Evidence | None = None) -> Evidence:
    """Return what dumps of the leaders' logs and the clients' errors say of a run; `file` is the name of all sources.

    Add it to `evidence` if that is given. A source's line is the step at which the fact came about.
    """
    evidence = Evidence() if evidence is None else evidence
    steps = {
        (event.name, event.data.base_offset): event.step
        for event in reversed(run.trace.of("append"))
        if isinstance(event.data, LoggedBatch)
    }
    for log in (run.logs or {}).values():
        _add_log(log, steps, file, evidence)
    for event in run.trace.of("state", "timeout"):
        who = str(event.data["transactional_id"])
        source = Source(file, event.step, f"{event.node} aborts the transaction of {who}: it was open too long")
        evidence.add_said(Said("aborted for time", who, -1, -1, "", "", str(event.at_ms), event.node, source))
    for frame in run.trace.frames.values():
        if frame.kind == "response" and frame.client and frame.received_step >= 0:
            _add_answer(frame, run.trace.frames[frame.of], file, evidence)
    return evidence


def _add_log(log: PartitionLog, steps: dict[tuple[str, int], int], file: str, evidence: Evidence) -> None:
    view = evidence.view_of(log.partition)
    for batch in log.batches:
        first, who = batch.base_offset, (batch.producer_id, batch.producer_epoch)
        what = f"producer {who[0]}, epoch {who[1]}" if who[0] >= 0 else "no producer id"
        kind = batch.control.name if batch.control is not None else "records"
        source = Source(file, steps.get((log.partition, first), 0), f"{log.partition} offset {first}: {kind} of {what}")
        if batch.control is not None:
            commit = batch.control is ControlType.COMMIT
            view.add_marker(Marker(first, *who, commit, batch.coordinator_epoch, batch.timestamp_ms, source))
            continue
        sequences = (batch.base_sequence, batch.last_sequence)
        view.add_batch(
            Batch(first, batch.last_offset, *who, *sequences, batch.transactional, batch.timestamp_ms, source)
        )
        for offset, record in zip(batch.offsets, batch.records, strict=False):
            _add_entry(record, offset, batch, log.partition, source, evidence)


def _add_entry(
    record: Record, offset: int, batch: LoggedBatch, partition: str, source: Source, evidence: Evidence
) -> None:
    """Add a record of an internal topic; others say nothing."""
    value = record.value
    if isinstance(value, Txn):
        who = (value.transactional_id, value.producer_id, value.producer_epoch)
        text = f"{partition} offset {offset}: {who[0]} is {value.state.label}, producer {who[1]}, epoch {who[2]}"
        times = (value.update_ms, value.timeout_ms)
        source = source._replace(text=text)
        evidence.add_state(StateRecord(offset, *who, value.state.label, value.partitions, *times, source))
    elif isinstance(value, LoggedOffset):
        text = f"{partition} offset {offset}: group {value.group} goes on at {value.offset} of {value.partition}"
        by = (batch.producer_id, batch.producer_epoch, source._replace(text=text))
        evidence.view_of(partition).add_commit(OffsetCommit(offset, value.group, value.partition, value.offset, *by))
    elif value is None and partition.startswith("__transaction_state-"):
        name = str(record.key)
        evidence.add_state(StateRecord(offset, name, -1, -1, "deleted", (), -1, -1, source))


def _add_answer(frame: Frame, request: Frame, file: str, evidence: Evidence) -> None:
    """Add what a client is told: an error, or the id and the epoch that it gets."""
    who = str(getattr(request.body, "transactional_id", "") or "")
    source = Source(file, frame.received_step, f"{frame.id} to {frame.receiver}: {frame.error}")
    where = (str(frame.received_ms), frame.receiver, source)
    if frame.name == "InitProducerIdResponse" and frame.body.error is Error.NONE:
        numbers = (frame.body.producer_id, frame.body.producer_epoch)
        source = source._replace(text=f"{frame.id} to {frame.receiver}: producer {numbers[0]}, epoch {numbers[1]}")
        evidence.add_said(Said("id given", who, *numbers, "", "", *where[:2], source))
    if frame.error not in NAMES:
        return
    parts = getattr(frame.body, "partitions", {})
    partition = next((name for name, part in parts.items() if getattr(part, "error", Error.NONE) is not Error.NONE), "")
    evidence.add_said(Said(f"error {frame.error}", who, -1, -1, partition, "", *where))
    if frame.error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER.name:
        evidence.add_said(Said("out of order", who, -1, -1, partition, "", *where))
    if frame.error == Error.UNSTABLE_OFFSET_COMMIT.name:
        evidence.add_said(Said("offsets unstable", who, -1, -1, partition, "", *where))
