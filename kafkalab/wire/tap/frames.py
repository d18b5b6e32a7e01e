"""Frames that pass a tap, decoded: kafkalab's messages where the lab knows them, else the API's name and the length."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from struct import Struct
from struct import error as StructError
from typing import Any

from kio.index import load_response_schema
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from kafkalab.wire.codec import REPEATED, Asked, UnsupportedVersionError, read_request, version_of
from kafkalab.wire.lengths import Bounds, check_message
from kafkalab.wire.names import Names
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.values import Context

_HEADER = Struct(">hhih")
_CORRELATION = Struct(">i")
UNREADABLE = (
    BadMessageError, StructError, SerialError, ValueError, LookupError, OverflowError, TypeError, AttributeError,
    RuntimeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """The body of a frame of which the lab has no message; `bytes` is the length of the frame without its length."""

    api_key: int
    bytes: int


def read_frame(data: bytes, names: Names) -> Asked:
    """Return a request; its body is `Unread` for an API, a version or bytes that the lab cannot read.

    BadMessageError for less than a request's header.
    """
    try:
        asked = read_request(data, names)
        return asked if asked.bodies else replace(asked, bodies=(Unread(api_key=18, bytes=len(data)),))
    except (UnsupportedVersionError, BadMessageError):
        pass
    try:
        key, version, correlation_id, length = _HEADER.unpack_from(data)
    except StructError:
        raise BadMessageError(f"{len(data)} bytes, which are no header of a request") from None
    client_id = data[_HEADER.size : _HEADER.size + max(length, 0)].decode(errors="replace")
    return Asked(name_of(key), version, correlation_id, client_id, None, (Unread(api_key=key, bytes=len(data)),))


def name_of(api_key: int) -> str:
    """`name_of(76) == "ShareGroupHeartbeat"`; an unknown key is "Api 999"."""
    found = api_key_map.get(api_key)
    return "".join(word.capitalize() for word in found.split("_")) if found else f"Api {api_key}"


def is_api(name: str) -> bool:
    """Return whether an API of Kafka has this name."""
    return name in map(name_of, api_key_map)


class Answer:
    """A response: `message` is kio's, None where it cannot be read; `data` are the bytes that came."""

    def __init__(self, asked: Asked, data: bytes) -> None:
        self.asked, self.data = asked, data
        self.message: Any = None
        self._head = 0
        known = asked.message is not None
        try:
            key = api_key_of(asked)
            if known or key in ADDRESSED:
                schema = load_response_schema(key, asked.version)
                self._head = _CORRELATION.size + (1 if schema.__flexible__ and asked.api != "ApiVersions" else 0)
                checked = check_message(schema, data, self._head, Bounds())
                self.message, _ = entity_reader(schema)(checked, self._head)
        except UNREADABLE:
            self.message = None

    def bodies(self, names: Names) -> tuple[Any, ...]:
        """Return kafkalab's messages, one for each of the request's bodies."""
        unread = Unread(api_key=api_key_of(self.asked), bytes=len(self.data))
        if self.message is None or self.asked.message is None:
            return tuple(unread for _ in self.asked.bodies)
        shape = version_of(self.asked.api, self.asked.version).response
        try:
            parts = _split(self.asked, self.message)
            made = [shape.make(part, Context(names, self.asked.message)) for part in parts]
        except UNREADABLE:
            return tuple(unread for _ in self.asked.bodies)
        if self.asked.api == "ListOffsets" and len(self.asked.bodies) > 1:
            return tuple(_of_partitions(made[0], body.partitions) for body in self.asked.bodies)
        return tuple(made)

    def rewritten(self, message: Any) -> bytes:
        """Return the bytes of the response with another message, which has no tagged fields that kio does not know."""
        out = io.BytesIO()
        out.write(self.data[: self._head])
        entity_writer(type(message))(out, message)
        return out.getvalue()


def api_key_of(asked: Asked) -> int:
    """Return the key of a request's API."""
    if asked.message is not None:
        return int(type(asked.message).__api_key__)
    return int(getattr(next(iter(asked.bodies), None), "api_key", 18))


def _split(asked: Asked, message: Any) -> list[Any]:
    """The same response once for each of the request's keys or groups."""
    field = REPEATED.get(asked.api, ("", ""))[1]
    if field and hasattr(message, field):
        return [replace(message, **{field: (one,)}) for one in getattr(message, field)]
    return [message]


def _of_partitions(response: Any, partitions: tuple[str, ...]) -> Any:
    columns = ("offsets", "errors", "timestamps")
    return replace(
        response, **{c: {p: v for p, v in getattr(response, c).items() if p in partitions} for c in columns}
    )


ADDRESSED = {0: "node_endpoints", 1: "node_endpoints", 3: "brokers", 10: "", 60: "brokers", 78: "node_endpoints",
             79: "node_endpoints"}  # fmt: skip
"""The APIs whose answers name brokers' addresses, by key, with the field that holds the rows: Produce, Fetch, Metadata,
FindCoordinator, DescribeCluster, ShareFetch, ShareAcknowledge (KIP-951 for those of leaders)."""
