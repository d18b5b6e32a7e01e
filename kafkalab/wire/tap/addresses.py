"""The addresses of brokers in answers: the tap's own doors take their places, so that clients stay on this side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.wire.tap.frames import Answer

Place = Callable[[int, str, int], tuple[str, int]]
"""Node id, host and port of a broker to host and port of its door."""
LEADERS = ("Produce", "Fetch", "ShareFetch", "ShareAcknowledge")
"""The APIs whose answers name the addresses of leaders, in versions that a client may do without (KIP-951)."""
BROKERS = ("Metadata", "FindCoordinator", "DescribeCluster")
"""The APIs that clients ask for addresses."""


class UnreadAddressError(Exception):
    """An answer holds addresses, and its version is one that the tap cannot read."""


def with_doors(answer: Answer, place: Place) -> bytes:
    """Return the answer's bytes, unchanged unless it names brokers' addresses, which `place` then replaces.

    UnreadAddressError for an answer with addresses that cannot be read: a client would go round the tap.
    """
    asked = answer.asked
    if asked.api in BROKERS and answer.values is None:
        raise UnreadAddressError(f"{asked.api} {asked.version} is newer than this tap can rewrite")
    if asked.api not in (*LEADERS, *BROKERS) or answer.values is None:
        return answer.data
    changed = _move(answer.values, place)
    return answer.data if changed == answer.values else answer.rewritten(changed)


def places_in(answer: Answer) -> dict[int, tuple[str, int]]:
    """Return the brokers that an answer names: node id to host and port."""
    found: dict[int, tuple[str, int]] = {}

    def note(node_id: int, host: str, port: int) -> tuple[str, int]:
        found[node_id] = (host, port)
        return host, port

    if answer.asked.api in (*LEADERS, *BROKERS) and answer.values is not None:
        _move(answer.values, note)
    return found


def _move(values: Any, place: Place) -> Any:
    """The same values with the doors of brokers; what names no broker stays (a coordinator that is not available)."""
    if isinstance(values, tuple):
        return tuple([_move(one, place) for one in values])
    if not isinstance(values, dict):
        return values
    found = {name: _move(one, place) for name, one in values.items()}
    node_id = found.get("node_id", found.get("broker_id", -1))
    if node_id >= 0 and found.get("port", -1) >= 0:
        found["host"], found["port"] = place(node_id, found["host"], found["port"])
    return found
