"""Sentences for what happens to the network, the clock, leaders and storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.trace import Event

Label = Callable[[str], str]


def fault_text(event: Event, label: Label) -> str:
    """One sentence for a fault event that strikes no single node or frame; "" for any other."""
    data: dict[str, Any] = event.data
    match event.name:
        case "Cut" | "Heal":
            pairs = "; ".join(f"{label(a)} and {label(b)}" for a, b in data["pairs"])
            return f"No frame gets through between {pairs}." if event.name == "Cut" else f"Frames fly again: {pairs}."
        case "AdvanceClock":
            return f"All clocks jump forward by {data['ms']} ms."
        case "ElectLeader":
            return f"The controller elects {label(data['broker'])} as leader of {data['partition']}."
        case "Compact":
            return f"{data['partition']} is compacted."
        case "DeleteSegment":
            segment = f"segment {data['base_offset']} of {data['partition']}"
            return f"{label(event.node)} deletes {segment}."
        case "Roll":
            return f"A new segment of {data['partition']} begins."
        case "Hold":
            return f"{event.frame} is kept on its way."
        case "Release":
            return f"{event.frame} is let go."
        case "Reorder":
            return f"{event.frame} will be overtaken."
        case _:
            return ""


def storage_text(event: Event, label: Label) -> str:
    """One sentence for a state event of a log's storage; "" for any other."""
    data, node = event.data, label(event.node)
    match event.name:
        case "compacted":
            gone = f"{data['records_removed']} records are gone, {data['batches_removed']} batches"
            return f"{node} has cleaned {data['partition']} up to offset {data['end']}: {gone}."
        case "log start":
            return f"{data['partition']} begins at offset {data['log_start_offset']} on {node} now."
        case "segments deleted":
            return f"{node} deletes old segments of {data['partition']}."
        case "producer ids expired":
            return f"{node} forgets idle producer ids of {data['partition']}."
        case _:
            return ""
