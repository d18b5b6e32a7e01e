"""The lineage of a run's outcomes: the events on the causal paths to appends and to results of programs."""

from __future__ import annotations

import hashlib
from typing import TypeAlias
from zlib import crc32

from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame, Trace

Endings: TypeAlias = dict[str, list[int]]
"""For each node a number for each ending of what it did, the shortest ending first."""
PLUMBING = frozenset(
    f"{name}{end}"
    for name in ("ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "ReplicaFetch", "UpdateMetadata")
    for end in ("", "Response")
)
"""Frames that find the way or copy a log: their loss delays, so they are tried after all others."""


def support_of(run: Run) -> bytearray:
    """Return a byte for each step: 1 if an outcome rests on the event.

    Outcomes are the first append of each record in any log, every answer that reaches a client, and every completed
    call of a program. An event rests on its cause, and so on up to the start.
    """
    events, servers = run.trace.events, (*run.cast.brokers, "controller")
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


def _row(event: Event, numbered: bool = True) -> str:
    data = event.data
    if isinstance(data, Frame):  # a frame arrives with the error with which it was sent
        frame = event.frame if numbered else event.name
        return f"send {frame} {data.error}" if event.kind == "send" else f"receive {frame}"
    if event.kind in ("append", "truncate") and hasattr(data, "base_offset"):
        return f"{event.kind} {event.name} {data.base_offset} {data.producer_id} {data.producer_epoch} {data.control}"
    if event.kind == "complete":
        return f"{event.kind} {event.name} {data.get('error', '')} {data.get('records', '')}"
    return f"{event.kind} {event.name}"


def endings_of(trace: Trace) -> Endings:
    """Return a number for each ending of what each node did: equal for equal endings, whatever the frames' numbers."""
    return {node: [number for number, _ in rows] for node, rows in _endings(trace).items()}


def absorbed_after(trace: Trace, usual: Endings) -> int:
    """Return the last step at which a node did not yet do again, to its end, what it does in the usual run.

    Behind it the faults of the run have been absorbed: what strikes there strikes the usual run.
    """
    latest, found = -1, _endings(trace)
    for node, numbers in usual.items():
        for (number, step), expected in zip(found.get(node, []), numbers, strict=False):
            if number != expected:
                latest = max(latest, step)
                break
        if node not in found:
            return trace.steps
    return latest


def _endings(trace: Trace) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    last: dict[str, int] = {}
    for event in reversed(trace.events):
        if event.kind != "fault":
            node = event.node
            last[node] = crc32(_row(event, numbered=False).encode(), last.get(node, 0))
            found.setdefault(node, []).append((last[node], event.step))
    return found
