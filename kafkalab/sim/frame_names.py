"""The names of frames: how many of each API have been sent, by all and by each client."""

from __future__ import annotations


class FrameNames:
    """Counts frames. "EndTxn#2" is the second of all, "app:EndTxn#2" the second that the client app sends.

    What a client gets is counted, too: "app:EndTxnResponse#2". Second deliveries of a frame do not count.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._counts_of_clients: dict[tuple[str, str], int] = {}

    def add(self, name: str) -> str:
        """Count a frame of this name, such as "EndTxn"; return its id."""
        self._counts[name] = count = self._counts.get(name, 0) + 1
        return f"{name}#{count}"

    def add_at(self, client: str, name: str) -> int:
        """Count a frame of this name for a client; return its number there."""
        self._counts_of_clients[client, name] = count = self._counts_of_clients.get((client, name), 0) + 1
        return count

    def count_sent(self, name: str) -> int:
        """Return how many frames of this name, "EndTxn" or a client's "app:EndTxn", have been sent."""
        client, _, api = name.rpartition(":")
        return self._counts_of_clients.get((client, api), 0) if client else self._counts.get(name, 0)

    def was_sent(self, frame: str) -> bool:
        """Return whether the frame of this name, "EndTxn#1" or "app:EndTxn#1", has been sent."""
        name, _, number = frame.rpartition("#")
        return self.count_sent(name) >= int(number)
