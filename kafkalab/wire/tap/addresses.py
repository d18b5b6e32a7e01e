"""The addresses of brokers in answers: the tap's own doors take their places, so that clients stay on this side."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.wire.structs import Values
from kafkalab.wire.tap.frames import ADDRESSED, Answer, api_key_of

Place = Callable[[int, str, int], tuple[str, int]]
"""Node id, host and port of a broker to host and port of its door."""


class UnreadAddressError(Exception):
    """An answer holds addresses, and its version is one that the tap cannot read."""


def with_doors(answer: Answer, place: Place) -> bytes:
    """Return the answer's bytes, unchanged unless it names brokers' addresses, which `place` then replaces.

    UnreadAddressError for an answer with addresses that cannot be read: a client would go round the tap.
    """
    key = api_key_of(answer.asked)
    if key not in ADDRESSED:
        return answer.data
    if answer.values is None:
        if ADDRESSED[key] == "node_endpoints":
            return answer.data
        raise UnreadAddressError(f"{answer.asked.api} {answer.asked.version} is newer than this tap can rewrite")
    changed = _changed(answer.values, ADDRESSED[key], place)
    return answer.data if changed is answer.values else answer.rewritten(changed)


def places_in(answer: Answer) -> dict[int, tuple[str, int]]:
    """Return the brokers that an answer names: node id to host and port."""
    found: dict[int, tuple[str, int]] = {}

    def note(node_id: int, host: str, port: int) -> tuple[str, int]:
        found[node_id] = (host, port)
        return host, port

    key = api_key_of(answer.asked)
    if key in ADDRESSED and answer.values is not None:
        _changed(answer.values, ADDRESSED[key], note)
    return found


def _changed(values: Values, field: str, place: Place) -> Values:
    if not field:
        field = "coordinators"
        if field not in values:
            return _moved(values, place)
    rows = values.get(field)
    return {**values, field: [_moved(row, place) for row in rows]} if rows else values


def _moved(row: Values, place: Place) -> Values:
    """The row with its broker's door; a row without a broker stays (a coordinator that is not available)."""
    node_id = row["broker_id"] if "broker_id" in row else row["node_id"]
    if node_id < 0 or row["port"] < 0:
        return row
    host, port = place(node_id, row["host"], row["port"])
    return {**row, "host": host, "port": port}
