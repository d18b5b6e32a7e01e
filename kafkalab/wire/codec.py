"""Requests and responses as bytes and as kafkalab's messages: headers, versions, and requests about several things."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.fetch import FetchResponse, PartitionFetched
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.wire.batches import fitting, read_batch
from kafkalab.wire.lengths import ROWS, Bounds, check_message, skip_tags
from kafkalab.wire.names import Names
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.shapes import Shape
from kafkalab.wire.special import OFFERED
from kafkalab.wire.table import TABLE
from kafkalab.wire.values import Context

API_NAMES = {api.key: api.name for api in ALL if api.name in OFFERED}
REPEATED = {"FindCoordinator": ("coordinator_keys", "coordinators"), "OffsetFetch": ("groups", "groups")}
"""The fields of requests and responses that hold several, where kafkalab's message is about one."""

NO_REQUEST = (StructError, SerialError, ValueError, LookupError, OverflowError, TypeError, AttributeError)
"""The errors of reading bytes that are no request."""
CORRELATION_AT = 4
HEADER = Struct(">hhi")
_LENGTH = Struct(">h")
_CORRELATION = Struct(">i")


class UnsupportedVersionError(Exception):
    """A client asked for an API, or a version, that is not offered."""


@dataclass(slots=True)
class Asked:
    """A request as it was read: `message` is kio's, `bodies` are kafkalab's, of which most requests have one."""

    api: str
    version: int
    correlation_id: int
    client_id: str
    message: Any
    bodies: tuple[Any, ...]
    known: Any = None
    """The entry of `Repeated` for it."""


class Version:
    """One version of one API: readers, writers and shapes of its request and its response, made when first used."""

    def __init__(self, api: str, version: int) -> None:
        api_of, self.api, self.version = BY_NAME[api], api, version
        request, response = load_request_schema(api_of.key, version), load_response_schema(api_of.key, version)
        self._read_request, self._read_response = entity_reader(request), entity_reader(response)
        self.write_request, self.write_response = entity_writer(request), entity_writer(response)
        self.request = Shape(request, api_of.request, TABLE.get(api_of.request, ()), TABLE)
        self.response = Shape(response, api_of.response, TABLE.get(api_of.response, ()), TABLE)
        self.tagged_request = bool(request.__flexible__)
        self.tagged_response = bool(response.__flexible__) and api != "ApiVersions"

    def read_request(self, data: bytes, place: int, bounds: Bounds) -> Any:
        """Return kio's message, which goes from `place` to the end; BadMessageError for one that does not."""
        data = check_message(self.request.theirs, data, place, bounds)
        message, size = self._read_request(data, place)
        if place + size != len(data):
            raise BadMessageError(f"{len(data) - place - size} bytes behind a {self.api} {self.version}")
        return message

    def read_response(self, data: bytes, place: int) -> Any:
        """Return kio's message that begins at `place`; BadMessageError for one that is cut short."""
        return self._read_response(check_message(self.response.theirs, data, place, Bounds()), place)[0]


@cache
def version_of(api: str, version: int) -> Version:
    """Return a version of an API; UnsupportedVersionError for one that is not offered."""
    if version not in OFFERED.get(api, ()):
        raise UnsupportedVersionError(f"{api} {version}")
    return Version(api, version)


def read_request(data: bytes, names: Names) -> Asked:
    """Return the request in these bytes, without their length.

    BadMessageError for bytes that are no request; UnsupportedVersionError for one that is not offered. ApiVersions in
    an unknown version is read as version 0, and has no body: its answer says which versions there are.
    """
    try:
        key, version, correlation_id = HEADER.unpack_from(data)
        api = API_NAMES.get(key, f"API {key}")
        if api == "ApiVersions" and version not in OFFERED[api]:
            return Asked(api, 0, correlation_id, "", None, ())
        spoken = version_of(api, version)
        bounds = Bounds(ROWS)
        client_id, place = client_id_of(data, spoken.tagged_request, bounds)
        message = spoken.read_request(data, place, bounds)
        bodies = tuple(spoken.request.make(one, Context(names)) for one in _split(api, message))
    except NO_REQUEST as error:
        raise BadMessageError(f"{type(error).__name__}: {error}") from None
    return Asked(api, version, correlation_id, client_id, message, bodies)


def client_id_of(data: bytes, tagged: bool, bounds: Bounds) -> tuple[str, int]:
    """The client id, "" for none, and where the header ends; its tagged fields are skipped."""
    length = _LENGTH.unpack_from(data, HEADER.size)[0]
    place = HEADER.size + _LENGTH.size
    client_id = data[place : place + max(length, 0)].decode()
    place += max(length, 0)
    return client_id, skip_tags(data, place, bounds) if tagged else place


def _split(api: str, message: Any) -> list[Any]:
    """The same request once for each key, group or timestamp that it is about."""
    field = REPEATED.get(api, ("", ""))[0]
    if field and hasattr(message, field):
        return [replace(message, **{field: (one,)}) for one in getattr(message, field)]
    if api == "ListOffsets":
        times: dict[int, dict[int, list[Any]]] = {}
        for number, topic in enumerate(message.topics):
            for row in topic.partitions:
                times.setdefault(row.timestamp, {}).setdefault(number, []).append(row)
        if len(times) > 1:
            return [replace(message, topics=_with_rows(message.topics, found)) for found in times.values()]
    return [message]


def _with_rows(topics: Sequence[Any], rows: dict[int, list[Any]]) -> tuple[Any, ...]:
    return tuple(replace(topics[number], partitions=tuple(found)) for number, found in rows.items())


def _joined(api: str, answers: list[Any], spoken: Version) -> Any:
    """One response of the answers to the parts of a request."""
    if not answers:
        return spoken.response.theirs(**spoken.response.blank)
    field = REPEATED.get(api, ("", "topics"))[1]
    parts = [one for answer in answers for one in getattr(answer, field)]
    return replace(answers[0], **{field: tuple(parts)})


def response_bytes(asked: Asked, answers: Sequence[Any], names: Names) -> bytes:
    """Return the response to a request, behind its length; `answers` has one for each of the request's bodies."""
    spoken = version_of(asked.api, asked.version)
    if asked.api == "ApiVersions" and not asked.bodies:
        answers = (ApiVersionsResponse(error=Error.UNSUPPORTED_VERSION),)
    elif asked.api == "Fetch":
        answers = (within_limits(answers[0], asked),)
    bodies = asked.bodies or (None,)
    written = [
        spoken.response.write(answer, Context(names, asked.message, body))
        for answer, body in zip(answers, bodies, strict=False)
    ]
    message = written[0] if len(written) == 1 else _joined(asked.api, written, spoken)
    out = io.BytesIO()
    out.write(_CORRELATION.pack(asked.correlation_id) + (b"\0" if spoken.tagged_response else b""))
    spoken.write_response(out, message)
    data = out.getvalue()
    return _CORRELATION.pack(len(data)) + data


def within_limits(response: FetchResponse, asked: Asked) -> FetchResponse:
    """Cut the response to `max_bytes` in all and `partition_max_bytes` of each partition; the first batch always fits.

    Kafka does so while it reads (KIP-74); the broker of the simulator returns all there is.
    """
    left, rows = asked.message.max_bytes, (p for topic in asked.message.topics for p in topic.partitions)
    limits = dict(zip(asked.bodies[0].positions, (row.partition_max_bytes for row in rows), strict=False))
    partitions: dict[str, PartitionFetched] = {}
    empty = True
    for partition, fetched in response.partitions.items():
        internal = topic_of(partition) in INTERNAL_TOPICS
        found = _as_stored(partition, fetched.batches) if internal else fetched.batches
        batches = fitting(found, min(left, limits[partition]), empty)
        empty = empty and not batches
        left -= sum(b.size_bytes for b in batches)
        same = not internal and len(batches) == len(found)
        partitions[partition] = fetched if same else replace(fetched, batches=batches)
    return FetchResponse(partitions=partitions)


def _as_stored(partition: str, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """Return batches of an internal topic as Kafka's log holds them (docs/protocol.md#transaction-state-records)."""
    from kafkalab.wire.data.log_files import stored_bytes  # its modules are a tenth of the start

    return tuple(read_batch(stored_bytes(partition, batch)) for batch in batches)


# the other half: what a client writes and reads


def request_bytes(api: str, version: int, correlation_id: int, client_id: str, body: Any, names: Names) -> bytes:
    """Return a request behind its length, as a client sends it."""
    spoken = version_of(api, version)
    out, name = io.BytesIO(), client_id.encode()
    out.write(HEADER.pack(BY_NAME[api].key, version, correlation_id) + _LENGTH.pack(len(name)) + name)
    out.write(b"\0" if spoken.tagged_request else b"")
    spoken.write_request(out, spoken.request.write(body, Context(names)))
    data = out.getvalue()
    return _CORRELATION.pack(len(data)) + data


def read_response(api: str, version: int, data: bytes, names: Names) -> tuple[int, Any]:
    """Return correlation id and message of a response, whose bytes are without their length."""
    spoken = version_of(api, version)
    place = _CORRELATION.size + spoken.tagged_response
    message = spoken.read_response(data, place)
    return _CORRELATION.unpack_from(data)[0], spoken.response.make(message, Context(names))
