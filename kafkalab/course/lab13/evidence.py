"""Collect an on-call engineer's data of an incident: clients' logs, frames on the wire, and a dump of all logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any

from kafkalab.course.lab13.incidents import client_logs, draw_incidents, without
from kafkalab.protocol.records import Batch
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.log_view import log_text
from kafkalab.widgets.payload.payload import payload_of

QUIET = ("ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "Heartbeat", "Fetch")
"""Requests that are left out, and the answers of all but Fetch."""
ALWAYS = ("base_offset", "producer_id", "producer_epoch", "last_stable_offset", "committed")
UNSAID = (
    "acks",
    "timeout_ms",
    "enable_2pc",
    "keep_prepared_txn",
    "verify_only",
    "transaction_version",
    "metadata",
    "leader_epochs",
)


Incident = dict[str, list[str]]


@cache
def list_given(case: int) -> tuple[Incident, ...]:
    """Return what the learner gets of each incident of a case: lines of text, and nothing that can be run again."""
    return tuple(evidence_of(without(scenario, rule)) for rule, scenario in draw_incidents(case))


def evidence_of(broken: Scenario) -> Incident:
    """Return the lines of an incident: `logs` of the clients, `frames`, and `dump`; no line names the missing rule."""
    cluster = Cluster(broken)
    cluster.run()
    return {"logs": client_logs(broken), "frames": list(_frames(cluster)), "dump": list(_dump(cluster))}


def _frames(cluster: Cluster) -> Iterator[str]:
    """Yield a line for each frame that matters: its times, from whom to whom, its name, its fields."""
    for frame in cluster.trace.frames.values():
        name = frame.name.removesuffix("Response")
        said = _fields(frame.body)
        if "controller" in (frame.sender, frame.receiver) or frame.category == "replication":
            continue
        if name in QUIET and frame.name != "FetchResponse":
            continue
        if frame.name == "FetchResponse" and "[" not in said:
            continue
        arrived = f"{frame.received_ms} ms" if frame.fate == "delivered" else frame.fate
        yield f"{frame.sent_ms} ms {frame.sender} → {frame.receiver} {frame.id} ({arrived}) {said}".rstrip()


def _fields(body: Any) -> str:
    """Return the fields of a message that are set."""
    parts = []
    for one in fields(body):
        value = getattr(body, one.name)
        if one.name in ALWAYS or (one.name not in UNSAID and value not in (None, (), {}, "", -1, 0, False)):
            parts.append(f"{one.name}={_short(value)}")
    return " ".join(parts)


def _short(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Batch):
        said = value.control.name if value.control is not None else [record.value for record in value.records]
        return f"{said} pid {value.producer_id} epoch {value.producer_epoch} seq {value.base_sequence}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_short(one)}" for key, one in value.items())
    if isinstance(value, (tuple, list)):
        return ", ".join(_short(one) for one in value)
    return f"({_fields(value)})" if hasattr(value, "__dataclass_fields__") else str(value)


def _dump(cluster: Cluster) -> Iterator[str]:
    """Yield what the logs hold at the end, partition by partition."""
    for line in log_text(payload_of(cluster), len(cluster.trace.events) - 1, "", -1, replicas=False):
        if not line.startswith(("    read_", "    position")):
            yield line
