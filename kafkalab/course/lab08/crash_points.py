"""The transfer of lab 8, with its coordinator crashed after each append of the commit: when is which half visible?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkalab.course.lab08.scenario import one_transfer
from kafkalab.faults.node import Crash
from kafkalab.programs.failover import ACCOUNTS, PAYMENTS
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.widgets.payload.payload import payload_of

HALVES = (f"{ACCOUNTS}-0", f"{ACCOUNTS}-1")
COORDINATOR = "b3"
WORDS = re.compile(rf"{PAYMENTS}: |, producer.*?}}(?= to)| at offset \d+")
"""The parts of an event's sentence for which a line has no room."""


def crash_points() -> Iterator[str]:
    """Yield a line for each append after which a crash changes, by a second or more, when a reader sees which half."""
    base = ran(one_transfer())
    told = payload_of(base)["events"]
    before: list[int] = []
    asked = base.trace.frames["EndTxn#1"].sent_step
    for event in (e for e in base.trace.events if e.step == asked or (e.step > asked and e.kind == "append")):
        crashed = ran(one_transfer(Crash(COORDINATOR, at_step=event.step)))
        seen = [visible_ms(crashed, partition) for partition in HALVES]
        if [ms // 1000 for ms in seen] != [ms // 1000 for ms in before]:
            text = WORDS.sub("", told[event.step]["text"])
            times = " ".join(f"{ms / 1000:5.1f} s" for ms in seen)
            yield f"{times}   {crashed.outcome().verdict}   after: {text}"
        before = seen


def visible_ms(cluster: Cluster, partition: str) -> int:
    """Return when a read_committed reader could read the partition's first record; -1 for never."""
    marks = (e for e in cluster.trace.of("state", "watermark") if e.data["partition"] == partition)
    return next((e.at_ms for e in marks if e.data["last_stable_offset"] > 0), -1)
