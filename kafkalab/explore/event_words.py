"""One event of a trace in words, with its frame, offsets and epochs."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.faults.registry import TYPES
from kafkalab.limits import truncate
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.records import Batch
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame, Trace

SHOWN = 60


def describe_event(event: Event, run: Run) -> str:
    """Return what happened, as part of a sentence: "b3 appends 'x' to out-0 at offset 1 (producer id 0, epoch 0)"."""
    kind, data, node = event.kind, event.data, event.node
    if isinstance(data, Frame):
        return _of_frame(event, data)
    if kind == "append":
        return _describe_append(node, event.name, data)
    if kind == "truncate":
        return f"{node} truncates {event.name} to offset {data['offset']}"
    if kind in ("fault", "crash", "recover"):
        return _describe_strike(event, run)
    if kind == "timer":
        return f"{node}'s {event.name} runs out"
    if kind == "invoke":
        return f"{node} calls {event.name}"
    if kind == "complete" and event.name == "poll":
        return f"a poll of {data['consumer']} returns {_records(data['records'])}"
    if kind == "complete":
        error = data.get("error", "NONE")
        return f"{event.name} of {node} ends with {error}" if error != "NONE" else f"{event.name} of {node} succeeds"
    return f"{node} changes the state of its {event.name}"


def request_of(frame: Frame, trace: Trace) -> Frame:
    """Return the request that a response answers; a request itself."""
    return trace.frames.get(frame.of, frame) if frame.of else frame


def _of_frame(event: Event, frame: Frame) -> str:
    error = f" ({frame.error})" if frame.kind == "response" and frame.error != "NONE" else ""
    if event.kind == "send":
        answer = f", its answer to {frame.of}," if frame.of else ""
        return f"{event.node} sends {frame.id}{error}{answer} to {frame.receiver}"
    return f"{frame.id}{error} arrives at {event.node}"


def _describe_append(node: str, partition: str, batch: Batch) -> str:
    written = f"to {partition} at offset {batch.base_offset}"
    identity = f"producer id {batch.producer_id}, epoch {batch.producer_epoch}"
    if batch.control is not None:
        article = "an" if batch.control.name == "ABORT" else "a"
        return f"{node} appends {article} {batch.control.name} marker {written} ({identity})"
    value = batch.records[0].value if batch.records else None
    if isinstance(value, Txn):
        whose = f"{value.transactional_id} (producer id {value.producer_id}, epoch {value.producer_epoch})"
        return f"{node} appends {value.state.label} of {whose} {written}"
    if isinstance(value, OffsetCommit):
        whose = f" ({identity})" if batch.producer_id >= 0 else ""
        return f"{node} appends offset {value.offset} of group {value.group} for {value.partition} {written}{whose}"
    values = ", ".join(truncate(repr(record.value), SHOWN) for record in batch.records[:3])
    more = f" and {len(batch.records) - 3} more" if len(batch.records) > 3 else ""
    return f"{node} appends {values}{more} {written}" + (f" ({identity})" if batch.producer_id >= 0 else "")


def _records(records: list[Any]) -> str:
    if not records:
        return "nothing"
    texts = [f"{truncate(repr(value), SHOWN)} ({at}, offset {offset})" for at, offset, value in records[:3]]
    return ", ".join(texts) + (f" and {len(records) - 3} more" if len(records) > 3 else "")


def _describe_strike(event: Event, run: Run) -> str:
    kind = TYPES[{"crash": "Crash", "recover": "Restart"}.get(event.kind, event.name)]
    frame = run.trace.frames.get(event.frame)
    if frame is not None and not kind.words.explanation:
        return _late(event, frame, run)
    words = {key: value for key, value in event.data.items() if key != "node"}
    if "pairs" in words:
        words["sorted_pairs"] = " and ".join(f"{a} and {b}" if a < b else f"{b} and {a}" for a, b in words["pairs"])
    return kind.words.explanation.format(
        node=event.node, at=f"{event.at_ms:,}", after=_after(event, run), frame=event.frame,
        whose=frame and _whose(frame), **words,
    )  # fmt: skip


def _after(event: Event, run: Run) -> str:
    """The event right after which a fault strikes: ", right after b1 sent …"."""
    if event.cause < 0 or run.trace.events[event.cause].kind in ("fault", "crash", "recover"):
        return ""
    return f", right after this: {describe_event(run.trace.events[event.cause], run)}"


def _whose(frame: Frame) -> str:
    if frame.of:
        return f"{frame.id}, {frame.sender}'s answer to {frame.of},"
    return f"{frame.id} from {frame.sender} to {frame.receiver}"


def _late(event: Event, frame: Frame, run: Run) -> str:
    if frame.received_step < 0:
        return f"{_whose(frame)} is late and never arrives"
    fault = _fault(event, run)
    late = f" {fault.delay_ms:,} ms" if isinstance(fault, Delay) else ""
    return f"{_whose(frame)} arrives{late} late, at {frame.received_ms:,} ms{_overtaken(frame, run.trace)}"


def _fault(event: Event, run: Run) -> Fault | None:
    faults = run.cast.faults
    return next((f for f in faults if isinstance(f, Delay) and repr(f) == event.data["fault"]), None)


def _overtaken(frame: Frame, trace: Trace) -> str:
    """The first frame of the same name, or else from the same sender, that was sent later and arrived earlier."""
    later = [
        f for f in trace.frames.values()
        if f.receiver == frame.receiver and f.kind == frame.kind and frame.sent_step < f.sent_step
        and 0 <= f.received_step < frame.received_step and f.category == frame.category
    ]  # fmt: skip
    same = [f for f in later if f.name == frame.name] or [f for f in later if f.sender == frame.sender]
    return f", overtaken by {same[0].id}" if same else ""
