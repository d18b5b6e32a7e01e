"""What the outcomes of a run rest on: the events on the causal paths to appends and to results of programs."""

from __future__ import annotations

import hashlib

from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Event, Frame, Trace

PLUMBING = frozenset(
    f"{name}{end}"
    for name in ("ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "ReplicaFetch", "UpdateMetadata")
    for end in ("", "Response")
)
"""Frames that find the way or copy a log: their loss delays, so they are tried after all others."""


def support_of(cluster: Cluster) -> bytearray:
    """Return a byte for each step: 1 if an outcome rests on the event.

    Outcomes are the first append of each record in any log, every answer that reaches a client, and every completed
    call of a program. An event rests on its cause, and so on up to the start.
    """
    events, servers = cluster.trace.events, (*cluster.brokers, "controller")
    supported = bytearray(len(events))
    appended: dict[tuple[str, int, int], None] = {}
    for event in events:
        if event.kind == "append":
            place = (event.name, event.data.base_offset, event.data.leader_epoch)
            if place in appended:
                continue
            appended[place] = None
        elif event.kind != "complete" and (event.kind != "receive" or event.node in servers):
            continue
        step = event.step
        while step >= 0 and not supported[step]:
            supported[step] = 1
            step = events[step].cause
    return supported


def future_of(trace: Trace) -> str:
    """Return a digest of what every node did, in its order: equal for runs that differ in times only.

    The order of two events at different nodes does not matter, nor do the fault events themselves.
    """
    rows: dict[str, list[str]] = {}
    for event in trace.events:
        if event.kind != "fault":
            rows.setdefault(event.node, []).append(_row(event))
    sha = hashlib.blake2b(digest_size=12)
    for node in sorted(rows):
        sha.update(f"{node}\n".encode())
        sha.update("\n".join(rows[node]).encode())
    return sha.hexdigest()


def _row(event: Event) -> str:
    data = event.data
    if isinstance(data, Frame):  # a frame arrives with the error with which it was sent
        return f"send {event.frame} {data.error}" if event.kind == "send" else f"receive {event.frame}"
    if event.kind in ("append", "truncate") and hasattr(data, "base_offset"):
        return f"{event.kind} {event.name} {data.base_offset} {data.producer_id} {data.producer_epoch} {data.control}"
    if event.kind == "complete":
        return f"{event.kind} {event.name} {data.get('error', '')} {data.get('records', '')}"
    return f"{event.kind} {event.name}"
