"""What tests want to know of a partition's producers, and no broker asks."""

from __future__ import annotations

from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.protocol.records import Batch


def duplicate_of(producers: ProducerStates, batch: Batch) -> CachedBatch | None:
    """Return the remembered batch with the same epoch and sequences, or None."""
    entry = producers.entries.get(batch.producer_id)
    return None if entry is None else entry.find_duplicate(batch)


def first_undecided_offset(producers: ProducerStates) -> int | None:
    """Return where the earliest open transaction begins."""
    return next(iter(producers.ongoing.values()), None)
