"""Sentences for what happens to the network, the clock, leaders, coordinators and storage."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.faults.registry import TYPES
from kafkalab.trace import Event

Label = Callable[[str], str]
STATES = {
    "compacted": "{node} has cleaned {partition} up to offset {end}: {records_removed} records are gone, "
    "{batches_removed} batches.",
    "log start": "{partition} begins at offset {log_start_offset} on {node} now.",
    "segments deleted": "{node} deletes old segments of {partition}.",
    "producer ids expired": "{node} forgets idle producer ids of {partition}.",
    "timeout": "{node} finds {transactional_id} open for more than {timeout_ms} ms and aborts it.",
    "transactional id expired": "{node} has not heard of {transactional_id} for long: it forgets.",
    "chapter": "{node} begins: {name}.",
    "recording stopped": "Recording has stopped after {after}: clients are served on, but nothing more is shown.",
    "window opens": "The thread of {node} that handles {request} stands still at {window}; its other threads go on.",
    "window closes": "The thread of {node} that handles {request} goes on.",
    "coordinator loaded": "{node} has read {partition} back and coordinates from now on.",
}


def sentence_of(event: Event, label: Label) -> str:
    """Return one sentence for a fault, or for a state event of storage or a coordinator; "" for any other event.

    `label` gives the name of a node.
    """
    template = TYPES[event.name].words.event if event.kind == "fault" else STATES.get(event.name, "")
    if not template:
        return ""
    words = {**event.data, "node": label(event.node), "frame": event.frame}
    if "broker" in words:
        words["broker"] = label(words["broker"])
    if "pairs" in words:
        words["pairs"] = "; ".join(f"{label(a)} and {label(b)}" for a, b in words["pairs"])
    return template.format(**words)
