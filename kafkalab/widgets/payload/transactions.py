"""The transactional id that each frame and each event of a run belongs to; "" where it belongs to none."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.protocol.records import Batch
from kafkalab.trace import Event, Frame, Trace


class Transactions:
    """The transactional ids of a run that goes on: `frames` by the frame's id, `events` by step.

    Batches and markers are told by their producer id. What a client calls belongs to its transactional id if it uses
    only one; other events belong where their cause does.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frames: dict[str, str] = {}
        self.events: list[str] = []
        self._names: dict[int, str] = {}
        self._owners: dict[str, set[str]] = {}

    def add(self, events: list[Event], frames: list[Frame]) -> None:
        """Take these events and frames, which follow those that are known."""
        self._learn_producers(events, frames)
        for frame in frames:
            tid = self.frames[frame.id] = self.frames.get(frame.of, "") or _of_frame(frame, self._names)
            if frame.name == "InitProducerId" and tid:
                self._owners.setdefault(frame.sender, set()).add(tid)
        own = {node: next(iter(tids)) for node, tids in self._owners.items() if len(tids) == 1}
        for event in events:
            found = self.frames[event.frame] if event.frame in self.frames else _of_event(event, self._names, own)
            self.events.append(found or (self.events[event.cause] if event.cause >= 0 and not event.frame else ""))

    def _learn_producers(self, events: list[Event], frames: list[Frame]) -> None:
        """Learn transactional ids by their producer ids."""
        for event in events:
            if event.kind == "state" and event.name == "transaction":
                self._names.setdefault(event.data["producer_id"], event.data["transactional_id"])
        asked = self.trace.frames
        for frame in frames:
            if frame.name == "InitProducerIdResponse" and frame.of in asked and frame.body.producer_id >= 0:
                self._names.setdefault(frame.body.producer_id, asked[frame.of].body.transactional_id or "")


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
