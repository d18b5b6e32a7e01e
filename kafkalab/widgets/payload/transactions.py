"""Which transactional id each frame and each event of a run belongs to; "" where it belongs to none."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.protocol.records import Batch
from kafkalab.trace import Event, Frame, Trace


def transactions_of(trace: Trace) -> tuple[dict[str, str], list[str]]:
    """The transactional id of each frame by the frame's id, and of each event by its step.

    Batches and markers are told by their producer id. What a client calls belongs to its transactional id if it uses
    only one; other events belong where their cause does.
    """
    names = _producers(trace)
    frames: dict[str, str] = {}
    for frame in trace.frames.values():
        frames[frame.id] = frames.get(frame.of, "") or _of_frame(frame, names)
    owners: dict[str, set[str]] = {}
    for frame in trace.frames.values():
        if frame.name == "InitProducerId" and frames[frame.id]:
            owners.setdefault(frame.sender, set()).add(frames[frame.id])
    own = {node: next(iter(tids)) for node, tids in owners.items() if len(tids) == 1}
    events: list[str] = []
    for event in trace.events:
        found = frames[event.frame] if event.frame in frames else _of_event(event, names, own)
        events.append(found or (events[event.cause] if event.cause >= 0 and not event.frame else ""))
    return frames, events


def _producers(trace: Trace) -> dict[int, str]:
    """Transactional ids by their producer ids."""
    names: dict[int, str] = {}
    for event in trace.events:
        if event.kind == "state" and event.name == "transaction":
            names.setdefault(event.data["producer_id"], event.data["transactional_id"])
    for frame in trace.frames.values():
        if frame.name == "InitProducerIdResponse" and frame.of in trace.frames and frame.body.producer_id >= 0:
            names.setdefault(frame.body.producer_id, trace.frames[frame.of].body.transactional_id or "")
    return names


def _of_frame(frame: Frame, names: dict[int, str]) -> str:
    body = frame.body
    if tid := getattr(body, "transactional_id", ""):
        return str(tid)
    if getattr(body, "key_type", -1) == TRANSACTION:
        return str(body.key)
    if frame.name == "WriteTxnMarkers":
        return next((names.get(m.producer_id, "") for m in body.markers), "")
    return names.get(getattr(body, "producer_id", -1), "")


def _of_event(event: Event, names: dict[int, str], own: dict[str, str]) -> str:
    data: Any = event.data
    if event.kind in ("invoke", "complete"):
        return own.get(event.node, "")
    if isinstance(data, Batch):
        entries = [r.value for r in data.records if hasattr(r.value, "transactional_id")]
        return entries[0].transactional_id if entries else names.get(data.producer_id, "")
    return str(data.get("transactional_id") or "") if isinstance(data, dict) else ""
