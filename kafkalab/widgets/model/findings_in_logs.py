"""The place of a finding in the logs that are shown, and the step from which on it is seen there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkalab.checks.check import ALLOWED, Finding
from kafkalab.checks.view import ABORTED
from kafkalab.history.history import History
from kafkalab.protocol.records import Batch
from kafkalab.trace import Trace

LOST, DUPLICATE = "lost-write", "duplicate"


def places_of(finding: Finding, outcomes: Mapping[tuple[str, int], str]) -> list[list[Any]]:
    """[[partition, offset], …] of the records that a finding is about; none if its offsets are of several partitions.

    Copies that an application sent again are none to whom committed records are given, if all but one were aborted.
    """
    if len(finding.keys) != 1:
        return []
    key, offsets = finding.keys[0], list(finding.offsets)
    if (finding.anomaly, finding.policy) == (DUPLICATE, ALLOWED):
        kept = [offset for offset in offsets if outcomes.get((key, offset)) != ABORTED]
        offsets = kept if len(kept) > 1 else []
    return [[key, offset] for offset in offsets]


def value_of(finding: Finding, history: History) -> str:
    """The value that a client sent at one of the finding's steps to its partition; "" for none."""
    steps = set(finding.steps)
    sent = (o for o in history.operations if o.function == "send" and o.step in steps and o.key in finding.keys)
    return next((o.value for o in sent if o.value is not None), "")


def missing_since(trace: Trace, key: str, offset: int, value: str, start: int) -> int:
    """Return the step from which on, to the end of the run, the leader's log of `key` lacks `value` at `offset`.

    Look from step `start` on; -1 if the leader has it at the end.
    """
    holds: dict[str, bool] = {}
    leader, since = "", -1
    for event in trace.events:
        if event.kind == "append" and event.name == key:
            batch: Batch = event.data
            if batch.base_offset <= offset <= batch.last_offset:
                holds[event.node] = batch.control is None and value in [r.value for r in batch.records]
        elif event.kind == "truncate" and event.name == key and event.data["offset"] <= offset:
            holds[event.node] = False
        elif event.kind == "state" and event.name == "metadata":
            leader = event.data["leaders"].get(key, leader)
        if event.step >= start:
            missing = not holds.get(leader, False)
            since = -1 if not missing else since if since >= 0 else event.step
    return since
