"""The fast path of a server: requests that come again.

A producer repeats AddPartitionsToTxn and EndTxn with every transaction up to version 1, a consumer Fetch and Heartbeat;
only the correlation id differs. They are read once, and answered with the same bytes while the answer is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.wire.codec import CORRELATION_AT, ReadRequest, read_request, response_bytes
from kafkalab.wire.names import Names

PRODUCE = b"\0\0"
"""The key of the request that is never the same twice."""
MOST_BYTES, MOST_ANSWERED, MOST_REQUESTS = 512, 4_096, 1_024


@dataclass(slots=True)
class CachedRequest:
    """A request that was read, its newest answers, and their bytes behind length and correlation id."""

    asked: ReadRequest
    answers: Sequence[Any] = ()
    data: bytes = b""


class RequestCache:
    """The newest requests, without their correlation ids. What names stand for follows from the image: a new one
    forgets all of them."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._known: dict[bytes, CachedRequest] = {}
        self._learned = names.learned

    def read(self, data: bytes) -> ReadRequest:
        """Return the request in these bytes; for errors see `read_request`."""
        if len(data) > MOST_BYTES or data[:2] == PRODUCE:
            return read_request(data, self.names)
        if self._learned != self.names.learned or len(self._known) >= MOST_REQUESTS:
            self._known.clear()
            self._learned = self.names.learned
        key = data[:CORRELATION_AT] + data[CORRELATION_AT + 4 :]
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = CachedRequest(read_request(data, self.names))
        first = known.asked
        correlation_id = int.from_bytes(data[CORRELATION_AT : CORRELATION_AT + 4], "big", signed=True)
        return ReadRequest(first.api, first.version, correlation_id, first.client_id, first.bodies, first.aside, known)

    def response(self, asked: ReadRequest, answers: Sequence[Any]) -> bytes:
        """Return the bytes of a response, behind its length."""
        known: CachedRequest | None = asked.known
        if known is None:
            return response_bytes(asked, answers, self.names)
        if self._learned == self.names.learned and known.data and known.answers == answers:
            data = known.data
            return data[:4] + asked.correlation_id.to_bytes(4, "big", signed=True) + data[8:]
        data = response_bytes(asked, answers, self.names)
        if len(data) <= MOST_ANSWERED:
            known.answers, known.data = answers, data
        return data
