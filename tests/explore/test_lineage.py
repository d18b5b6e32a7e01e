"""Two runs have one future if every node did the same and its calls returned the same, at whatever time."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.explore.lineage import future_of
from kafkalab.explore.programs import two_partition_transactions
from kafkalab.sim.cluster import ran
from kafkalab.trace import Event, Trace


def with_change(kind: str, **change: Any) -> Trace:
    """Return the events of a run in which the last of this kind has been changed."""
    trace = ran(two_partition_transactions()).trace
    number = max(event.step for event in trace.of(kind))
    event: Event = trace.events[number]
    if "data" in change and isinstance(event.data, dict):
        change["data"] = {**event.data, **change["data"]}
    events = [*trace.events[:number], event._replace(**change), *trace.events[number + 1 :]]
    return Trace(events=events, frames=trace.frames)


@pytest.mark.parametrize("kind", ["complete", "send", "receive", "append", "state"])
def test_a_future_has_no_times(kind: str) -> None:
    assert future_of(with_change(kind, at_ms=7)) == future_of(ran(two_partition_transactions()).trace)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("complete", {"data": {"records": [["out-0", 4, "q0-left"]]}}),
        ("complete", {"data": {"error": "TIMEOUT"}}),
        ("complete", {"name": "flush"}),
        ("complete", {"node": "q"}),
        ("receive", {"frame": "Fetch#1"}),
        ("send", {"frame": "Fetch#1"}),
        ("append", {"name": "out-7"}),
        ("state", {"name": "another"}),
    ],
)
def test_what_a_node_did_or_was_told_makes_another_future(kind: str, change: dict[str, Any]) -> None:
    assert future_of(with_change(kind, **change)) != future_of(ran(two_partition_transactions()).trace)
