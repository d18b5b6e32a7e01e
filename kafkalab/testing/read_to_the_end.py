"""A reader that has read every topic to its end: without one, no check of reads would know of the last writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kafkalab.history.export import text_of
from kafkalab.history.history import History
from kafkalab.history.schema import Poll, Read
from kafkalab.log.aborted_filter import deliver
from kafkalab.protocol.messages.fetch import READ_COMMITTED
from kafkalab.sim.cluster import Cluster

READER = "kafka_lab"


def with_reader(history: History, cluster: Cluster, partitions: Iterable[str]) -> History:
    """Return the history with one poll more, of read_committed, at the last step of the trace."""
    reads: list[Read] = []
    polls: list[Poll] = []
    step = cluster.trace.steps - 1
    same: dict[str, Any] = {"consumer": READER, "process": READER, "isolation_level": READ_COMMITTED, "poll": 1}
    for key in partitions:
        log = cluster.log_of(key)
        start, end = log.log_start_offset, log.last_stable_offset
        if end <= start:
            continue
        records, position = deliver(key, start, log.read(start, end), log.aborted_between(start, end))
        polls.append(Poll(key=key, start=start, end=position, moved="assign", step=step, **same))
        for record in records:
            value = text_of(record.value)
            reads.append(Read(index=len(reads), key=key, offset=record.offset, value=value, step=step,
                              at_ms=cluster.now, **same))  # fmt: skip
    return replace(history, reads=(*history.reads, *reads), polls=(*history.polls, *polls))
