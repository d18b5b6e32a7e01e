"""Frames that pass a tap, decoded: kafkalab's messages where the lab knows them, else the API's name and the length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from struct import error as StructError
from typing import Any

from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.wire.codec import HEADER, ReadRequest, UnsupportedVersionError, read_request, response_of
from kafkalab.wire.definitions import api_names, message
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import BadMessageError, Sink, Source
from kafkalab.wire.structs import UNREADABLE, Values, raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """The body of a frame of which the lab has no message; `bytes` is the length of the frame without its length."""

    api_key: int
    bytes: int


def read_frame(data: bytes, names: Names) -> ReadRequest:
    """Return a request; its body is `Unread` for an API, a version or bytes that the lab cannot read.

    BadMessageError for less than a request's header.
    """
    try:
        asked = read_request(data, names)
        unread = Unread(api_key=BY_NAME[asked.api].key, bytes=len(data))
        return asked if asked.bodies else replace(asked, bodies=(unread,))
    except (UnsupportedVersionError, BadMessageError):
        pass
    try:
        key, version, correlation_id, length = HEADER.unpack_from(data)
    except StructError:
        raise BadMessageError(f"{len(data)} bytes, which are no header of a request") from None
    client_id = data[HEADER.size : HEADER.size + max(length, 0)].decode(errors="replace")
    return ReadRequest(name_of(key), version, correlation_id, client_id, (Unread(api_key=key, bytes=len(data)),))


def name_of(api_key: int) -> str:
    """`name_of(76) == "ShareGroupHeartbeat"`; an unknown key is "Api 999"."""
    return api_names().get(api_key, f"Api {api_key}")


def is_api(name: str) -> bool:
    """Return whether an API of Kafka has this name."""
    return name in api_names().values()


class Answer:
    """A response: `data` are the bytes that came."""

    def __init__(self, asked: ReadRequest, data: bytes) -> None:
        self.asked, self.data = asked, data

    def _source(self, names: Names | None = None) -> Source:
        """Return the bytes, read up to the body."""
        source = Source(self.data, 4, names or Names({}))
        if self.asked.api != "ApiVersions" and message(f"{self.asked.api}Response", self.asked.version).flexible:
            source.tags({}, {})
        return source

    @cached_property
    def values(self) -> Values | None:
        """Kafka's fields by their names, None where the answer cannot be read."""
        try:
            found: Values = raw(f"{self.asked.api}Response", self.asked.version).read(self._source())
        except UNREADABLE:
            return None
        return found

    def bodies(self, names: Names) -> tuple[Any, ...]:
        """Return kafkalab's messages, one for each of the request's bodies."""
        asked = self.asked
        unread = (Unread(api_key=api_key_of(asked), bytes=len(self.data)),) * len(asked.bodies)
        if isinstance(asked.bodies[0], Unread):
            return unread
        try:
            made = response_of(asked.api, asked.version).read(self._source(names))
        except UNREADABLE:
            return unread
        if asked.api == "ListOffsets" and len(asked.bodies) > 1:
            return tuple(_of_partitions(made[0], body.partitions) for body in asked.bodies)
        return made

    def rewritten(self, values: Values) -> bytes:
        """Return the bytes of the response with other values, and without the tagged fields that are not known."""
        sink = Sink(self.data[: self._source().place])
        raw(f"{self.asked.api}Response", self.asked.version).write(sink, values)
        return bytes(sink)


def api_key_of(asked: ReadRequest) -> int:
    """Return the key of a request's API."""
    first = asked.bodies[0]
    return first.api_key if isinstance(first, Unread) else BY_NAME[asked.api].key


def _of_partitions(response: Any, partitions: tuple[str, ...]) -> Any:
    columns = ("offsets", "errors", "timestamps")
    return replace(
        response, **{c: {p: v for p, v in getattr(response, c).items() if p in partitions} for c in columns}
    )
