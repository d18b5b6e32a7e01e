"""Windows: places between two steps of one broker at which another of its threads may come in.

A handler runs to its end before anything else happens, unless a `Stall` lets the thread that runs it stand still in a
window. Of each window the table states where it is, what may come in, and the rules without which that does harm.
"""

from __future__ import annotations

from kafkalab.limits import did_you_mean, quote
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.rules import WATERMARK_ONCE, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window: its name, and the request (`api`) in whose handling it is.

    `between` names the two steps, `may_come` what may happen there, `source` Kafka's class. With its `rules` on, what
    comes in does no harm.
    """

    name: str
    api: str
    between: str
    may_come: str
    rules: tuple[Rule, ...]
    source: str


FETCH_BOUND = Window(
    name="fetch-bound",
    api="Fetch",
    between="the comparison with the first undecided offset and the read up to the high watermark",
    may_come="a replica's fetch, which raises the high watermark",
    rules=(WATERMARK_ONCE,),
    source="Log.fetchLastStableOffsetMetadata",
)

WINDOWS = {window.name: window for window in (FETCH_BOUND,)}
"""All windows by their names."""


def window_named(name: object, api: str) -> Window:
    """Return the window of this name in the handling of an API. ValueError if there is none."""
    window = WINDOWS.get(name) if isinstance(name, str) else None
    if window is None:
        hint = did_you_mean(name, WINDOWS)
        raise ValueError(f"no window is called {quote(name)}; there are {', '.join(WINDOWS)}{hint}")
    if window.api != api:
        raise ValueError(f"the window {name} is in the handling of {window.api}, not of {quote(api)}")
    return window
