"""Fast paths of a server: requests that come again, and Produce.

A producer repeats AddPartitionsToTxn and EndTxn with every transaction up to version 1, a consumer Fetch and Heartbeat;
only the correlation id differs. They are read once, and answered with the same bytes while the answer is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

from kafkalab.wire import produce_bytes
from kafkalab.wire.codec import (
    CORRELATION_AT,
    HEADER,
    NO_REQUEST,
    Asked,
    UnsupportedVersionError,
    client_id_of,
    read_request,
    response_bytes,
)
from kafkalab.wire.lengths import ROWS, Bounds
from kafkalab.wire.names import Names
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.special import OFFERED

_FRAMED = Struct(">ii")

MOST_BYTES, MOST_ANSWERED, MOST_REQUESTS = 512, 4_096, 1_024


@dataclass(slots=True)
class Known:
    """A request that was read, its newest answers, and their bytes behind length and correlation id."""

    asked: Asked
    answers: Sequence[Any] = ()
    data: bytes = b""


class Repeated:
    """The newest requests, without their correlation ids. What names stand for follows from the image: a new one
    forgets all of them."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._known: dict[bytes, Known] = {}
        self._learned = names.learned

    def read(self, data: bytes) -> Asked:
        """Return the request in these bytes; for errors see `read_request`."""
        if data[:2] == b"\0\0":
            return self._produce(data)
        if len(data) > MOST_BYTES:
            return read_request(data, self.names)
        if self._learned != self.names.learned or len(self._known) >= MOST_REQUESTS:
            self._known.clear()
            self._learned = self.names.learned
        key = data[:CORRELATION_AT] + data[CORRELATION_AT + 4 :]
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Known(read_request(data, self.names))
        first = known.asked
        correlation_id = int.from_bytes(data[CORRELATION_AT : CORRELATION_AT + 4], "big", signed=True)
        return Asked(first.api, first.version, correlation_id, first.client_id, first.message, first.bodies, known)

    def _produce(self, data: bytes) -> Asked:
        try:
            _, version, correlation_id = HEADER.unpack_from(data)
            if version not in OFFERED["Produce"]:
                raise UnsupportedVersionError(f"Produce {version}")
            bounds = Bounds(ROWS)
            client_id, place = client_id_of(data, version >= produce_bytes.FLEXIBLE_SINCE, bounds)
            body = produce_bytes.read(data, place, version, self.names, bounds)
        except NO_REQUEST as error:
            raise BadMessageError(f"{type(error).__name__}: {error}") from None
        return Asked("Produce", version, correlation_id, client_id, None, (body,))

    def response(self, asked: Asked, answers: Sequence[Any]) -> bytes:
        """Return the bytes of a response, behind its length."""
        if asked.api == "Produce":
            tags = b"\0" if asked.version >= produce_bytes.FLEXIBLE_SINCE else b""
            data = tags + produce_bytes.write(answers[0], asked.version, self.names)
            return _FRAMED.pack(4 + len(data), asked.correlation_id) + data
        known: Known | None = asked.known
        if known is None:
            return response_bytes(asked, answers, self.names)
        if self._learned == self.names.learned and known.data and known.answers == answers:
            data = known.data
            return data[:4] + asked.correlation_id.to_bytes(4, "big", signed=True) + data[8:]
        data = response_bytes(asked, answers, self.names)
        if len(data) <= MOST_ANSWERED:
            known.answers, known.data = answers, data
        return data
