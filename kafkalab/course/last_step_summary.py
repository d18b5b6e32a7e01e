"""`at_the_end(run, "orders-0")`: the lines of a run's last step that matter to a question."""

from __future__ import annotations

from typing import Any

from kafkalab.grading.exercise import Line
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import SHOWN
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import text_at


def at_the_end(run: Any, *beginnings: str) -> Line:
    """Return those lines of the text twin at the last step that begin with one of these words.

    `run` is a scenario, a cluster, or a widget that shows one. A line begins with what it is about: "orders-0" (a log),
    "b1", a client, a transactional id, "stop". ValueError, with all lines, if none begins so.
    """
    cluster = ran(run) if isinstance(run, Scenario) else getattr(run, "cluster", run)
    lines = text_at(payload_of(cluster), cluster.trace.steps - 1, SHOWN).splitlines()
    found = [line.strip() for line in lines if line.startswith(beginnings)]
    if not found:
        raise ValueError("no line begins so; the lines are\n" + "\n".join(lines))
    return Line("\n".join(found))
