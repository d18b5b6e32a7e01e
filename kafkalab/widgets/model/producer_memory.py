"""Each replica's memory of its producers, step by step: the batches by which it recognises a retry (KIP-98)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkalab.log.partition_log import PartitionLog
from kafkalab.trace import Event

CHANGES = ("append", "truncate", "crash", "recover")


class ProducerMemory:
    """Notes a replica's producer state after each event that may change it, as changes of the picture.

    `ProducerStateManager` keeps the last five batches of each producer id and partition; a restarted broker reads only
    the last one from its snapshot. So the state itself is noted, nothing is derived from the log.
    """

    def __init__(self) -> None:
        self.changes: dict[int, list[list[Any]]] = {}
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def note(self, event: Event, logs: Mapping[str, PartitionLog]) -> None:
        """Note what the event has changed in the logs of its broker."""
        if event.kind not in CHANGES:
            return
        named = event.kind in ("append", "truncate")
        for partition in [event.name] if named else list(logs):
            log = logs.get(partition)
            if log is None or partition.startswith("__"):
                continue
            now = {
                str(pid): {
                    "epoch": entry.producer_epoch,
                    "batches": [[b.first_sequence, b.last_sequence, b.first_offset] for b in entry.batches],
                }
                for pid, entry in log.producers.entries.items()
            }
            if self._known.get((event.node, partition), {}) != now:
                self._known[event.node, partition] = now
                self.changes.setdefault(event.step, []).append(["memory", event.node, partition, now])


def add_memory(changes: Mapping[int, list[list[Any]]], payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload with these changes in its events; as it is where a coordinator keeps transactions."""
    events = payload["events"]
    if not changes or any(op[0] == "txn" for e in events for op in e["patch"]):
        return payload
    told = [{**e, "patch": e["patch"] + changes.get(e["step"], [])} for e in events]
    return {**payload, "events": told}
