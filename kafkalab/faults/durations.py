"""The durations of faults in a search."""

from __future__ import annotations

from math import exp, log
from random import Random

DOWN_MS = 20_000
"""The time that a broker is down: longer than its session with the controller."""
AWAY_MS = (12_000, 50_000, 75_000)
"""The times that a node is paused or cut off: past a broker's session; past a group member's; past a transaction's."""
JUMPS_MS = (31_000, 61_000)
"""The distances that clocks jump: past a request's deadline, past a transaction's."""
LEAST_MS, MOST_MS = 10, 100_000
"""Between these lies each duration that is drawn, each power of ten as often as another."""


def draw_duration(chance: Random) -> int:
    """Return a duration in milliseconds between `LEAST_MS` and `MOST_MS`."""
    return round(exp(chance.uniform(log(LEAST_MS), log(MOST_MS))))
