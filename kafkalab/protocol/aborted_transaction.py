"""An aborted transaction, as Fetch names it to a read_committed consumer and a log's transaction index keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack

VERSION = 0


@dataclass(frozen=True, slots=True)
class AbortedTxn:
    """One aborted transaction: its first offset, its ABORT marker's offset, and the last stable offset at that time.

    `last_stable_offset` is the first offset of the earliest other open transaction, or else the one after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def to_bytes(self) -> bytes:
        """The 34 bytes of a `.txnindex` file: version, then the four fields, big-endian."""
        return pack(">hqqqq", VERSION, self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset)
