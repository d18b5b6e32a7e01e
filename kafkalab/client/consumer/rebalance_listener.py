"""An application's callbacks for when partitions are revoked or assigned (`ConsumerRebalanceListener`)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence


class RebalanceListener:
    """Override any method; it may be `async`. They run inside `poll`, `unsubscribe` and `close`."""

    def on_partitions_revoked(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """Commit the offsets of these partitions: they are about to be given away."""
        return None

    def on_partitions_assigned(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """Begin to read these partitions: they are assigned to this member."""
        return None

    def on_partitions_lost(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """Drop these partitions, which another member may already have; by default treated as revoked."""
        return self.on_partitions_revoked(partitions)
