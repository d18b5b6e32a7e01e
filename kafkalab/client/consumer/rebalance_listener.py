"""What an application may want to do when partitions come and go (`ConsumerRebalanceListener`)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from inspect import isawaitable


class RebalanceListener:
    """Override what is wanted; a method may be `async`. They run inside `poll`, `unsubscribe` and `close`."""

    def on_partitions_revoked(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """These partitions are about to be given away: the last moment to commit their offsets."""
        return None

    def on_partitions_assigned(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """These partitions are this member's from now on."""
        return None

    def on_partitions_lost(self, partitions: Sequence[str]) -> Awaitable[None] | None:
        """These partitions may be somebody else's already; by default treated as revoked."""
        return self.on_partitions_revoked(partitions)


async def told(answer: Awaitable[None] | None) -> None:
    """The listener has done what it wanted."""
    if isawaitable(answer):
        await answer
