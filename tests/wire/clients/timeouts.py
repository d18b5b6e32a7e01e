"""The clients' timeouts: their libraries' own, unless the environment has shorter ones, as the scorecard does."""

from __future__ import annotations

import os

REQUEST_MS = int(os.environ.get("CLIENT_REQUEST_MS", "0"))
"""The time after which a client gives a request up; 0 for the library's default."""
LONGEST_MS = int(os.environ.get("CLIENT_LONGEST_MS", "0"))
"""The time after which a call, a delivery or a transaction ends; 0 for the library's default."""
CALL_S = LONGEST_MS / 1000 or 60
SESSION_MS = 6_000
"""The shortest session of a group's member that brokers accept (`group.min.session.timeout.ms`)."""


def shorten(request: str, *longest: str, session: str = "") -> dict[str, int]:
    """Return the settings of these names with the shorter times; {} where the library's own count."""
    if not REQUEST_MS:
        return {}
    return {request: REQUEST_MS, **dict.fromkeys(longest, LONGEST_MS), **({session: SESSION_MS} if session else {})}
