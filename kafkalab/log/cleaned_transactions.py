"""A cleaning's knowledge of transactions while it goes through a log in order (`CleanedTransactionMetadata`)."""

from __future__ import annotations

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.records import Batch, ControlType


class CleanedTransactions:
    """Told of the index's entries and then of every batch in order, it says what is aborted and what is left over."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        self.kept: list[AbortedTxn] = []
        """The index entries of which data was seen, and their marker: those that the cleaned segment needs."""
        self._waiting = sorted(aborted, key=lambda entry: entry.first_offset)
        self._aborting: dict[int, AbortedTxn] = {}
        self._aborted_data: dict[int, None] = {}  # producer ids
        self._committed_data: dict[int, None] = {}

    def data_read(self, batch: Batch) -> bool:
        """Return True if this data batch belongs to an aborted transaction."""
        self._begin_up_to(batch.last_offset)
        if not batch.transactional:
            return False
        if batch.producer_id in self._aborting:
            self._aborted_data[batch.producer_id] = None
            return True
        self._committed_data[batch.producer_id] = None
        return False

    def marker_read(self, batch: Batch) -> bool:
        """Return True if nothing needs this marker any more: no batch of its transaction was seen on the way here.

        A batch that is empty already counts as seen. A marker that is empty itself is needed by nobody.
        """
        self._begin_up_to(batch.last_offset)
        if not batch.records:
            return True  # there is no record to keep or to discard
        producer_id = batch.producer_id
        if batch.control is ControlType.COMMIT:
            return self._committed_data.pop(producer_id, producer_id) is not None
        entry = self._aborting.pop(producer_id, None)
        if entry is None or self._aborted_data.pop(producer_id, producer_id) is not None:
            return True
        self.kept.append(entry)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[0].first_offset <= offset:
            entry = self._waiting.pop(0)
            self._aborting[entry.producer_id] = entry
