"""How a run may end badly; each message shows the last events."""

from __future__ import annotations


class RunawayError(RuntimeError):
    """The run did not end within its limit."""


class StuckError(RuntimeError):
    """A program waits, and nothing changes any more."""


class ForeignAwaitError(TypeError):
    """A program awaited something that is not of its cluster."""
