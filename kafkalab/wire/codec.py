"""Requests and responses as bytes and as kafkalab's messages: headers, versions, and requests about several things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from struct import Struct
from typing import Any

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.wire.batches import fitting, read_batch
from kafkalab.wire.definitions import message
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import ROWS, BadMessageError, Sink, Source
from kafkalab.wire.shapes import EACH, Shape
from kafkalab.wire.special import OFFERED
from kafkalab.wire.structs import NO_MESSAGE, Values, raw
from kafkalab.wire.values import MAX_BYTES, PARTITION_MAX_BYTES

API_NAMES = {api.key: api.name for api in ALL if api.offered}
CORRELATION_AT = 4
HEADER = Struct(">hhih")
_CORRELATION = Struct(">i")
_FRAMED = Struct(">ii")


class UnsupportedVersionError(Exception):
    """A client asked for an API, or a version, that is not offered."""


@dataclass(slots=True)
class ReadRequest:
    """A request as it was read: most have one of the `bodies`; `aside` is what they do not hold."""

    api: str
    version: int
    correlation_id: int
    client_id: str
    bodies: tuple[Any, ...]
    aside: Values = field(default_factory=dict)
    known: Any = None
    """The entry of `RequestCache` for it."""


class Message:
    """One version of a request or a response of an API, and what reads and writes it."""

    def __init__(self, api: str, version: int, side: str) -> None:
        if version not in BY_NAME[api].versions:
            raise UnsupportedVersionError(f"{api} {version}")
        self.name, self.ours = f"{api}{side}", BY_NAME[api].request if side == "Request" else BY_NAME[api].response
        found, flexible = message(self.name, version)
        self.tagged_header = flexible and self.name != "ApiVersionsResponse"
        shape = Shape(found, flexible, self.ours)
        self._read, self.write, _ = shape.codec(shape.unsaid)

    def read(self, source: Source) -> tuple[Any, ...]:
        """Return our messages, of which there are several where a request is about several things."""
        values = self._read(source)
        each = values.pop(EACH, None)
        if each is None:
            return (self.ours(**values),)
        return tuple([self.ours(**{**values, **one}) for one in each])


@cache
def request_of(api: str, version: int) -> Message:
    """Return a version of a request; UnsupportedVersionError for one that the lab does not speak."""
    return Message(api, version, "Request")


@cache
def response_of(api: str, version: int) -> Message:
    """Return a version of a response; UnsupportedVersionError for one that the lab does not speak."""
    return Message(api, version, "Response")


def read_request(data: bytes, names: Names) -> ReadRequest:
    """Return the request in these bytes, without their length.

    BadMessageError for bytes that are no request; UnsupportedVersionError for one that is not offered. ApiVersions in
    an unknown version is read as version 0, and has no body: its answer says which versions there are.
    """
    try:
        key, version, correlation_id, length = HEADER.unpack_from(data)
        api = API_NAMES.get(key, f"API {key}")
        if version not in OFFERED[names.kafka].get(api, ()):
            if api == "ApiVersions":
                return ReadRequest(api, 0, correlation_id, "", ())
            raise UnsupportedVersionError(f"{api} {version}")
        spoken = request_of(api, version)
        source = Source(data, HEADER.size, names, ROWS)
        client_id = source.take(max(length, 0)).decode()
        if spoken.tagged_header:
            source.tags({}, {})
        bodies = spoken.read(source)
        if source.place != len(data):
            raise BadMessageError(f"{len(data) - source.place} bytes behind a {api} {version}")
    except NO_MESSAGE as error:
        raise BadMessageError(f"{type(error).__name__}: {error}") from None
    return ReadRequest(api, version, correlation_id, client_id, bodies, source.aside)


def response_bytes(asked: ReadRequest, answers: Sequence[Any], names: Names) -> bytes:
    """Return the response to a request, behind its length; `answers` has one for each of the request's bodies."""
    spoken = response_of(asked.api, asked.version)
    sink = Sink(_FRAMED.pack(0, asked.correlation_id))
    sink.names, sink.request = names, asked
    if spoken.tagged_header:
        sink += b"\0"
    if asked.bodies:
        sink.answers, sink.asked = tuple(zip(asked.bodies, answers, strict=False)), asked.bodies[0]
        spoken.write(sink, _join(asked, answers))
    elif asked.api == "ApiVersions":
        spoken.write(sink, ApiVersionsResponse(error=Error.UNSUPPORTED_VERSION))
    else:
        raw(spoken.name, asked.version).write(sink, {})
    _CORRELATION.pack_into(sink, 0, len(sink) - 4)
    return bytes(sink)


def _join(asked: ReadRequest, answers: Sequence[Any]) -> Any:
    """Return one of our messages for what all answers say, as far as it is not in rows of one for each of them."""
    if isinstance(answers[0], FetchResponse):
        return within_limits(answers[0], asked.bodies[0])
    if isinstance(answers[0], ListOffsetsResponse) and len(answers) > 1:
        columns = ("offsets", "errors", "timestamps")
        return ListOffsetsResponse(**{c: {p: v for a in answers for p, v in getattr(a, c).items()} for c in columns})
    return answers[0]


def within_limits(response: FetchResponse, request: Fetch) -> FetchResponse:
    """Cut the response to `max_bytes` in all and `partition_max_bytes` of each partition; the first batch always fits.

    Kafka does so while it reads (KIP-74); the broker of the simulator returns all there is.
    """
    left = MAX_BYTES if request.max_bytes is None else request.max_bytes
    partitions: dict[str, PartitionFetched] = {}
    empty = True
    for partition, fetched in response.partitions.items():
        internal = topic_of(partition) in INTERNAL_TOPICS
        found = _as_stored(partition, fetched.batches) if internal else fetched.batches
        batches = fitting(found, min(left, request.partition_max_bytes.get(partition, PARTITION_MAX_BYTES)), empty)
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
    spoken, name = request_of(api, version), client_id.encode()
    sink = Sink(_CORRELATION.pack(0) + HEADER.pack(BY_NAME[api].key, version, correlation_id, len(name)) + name)
    sink.names, sink.answers = names, tuple((None, one) for one in (body, *getattr(body, "further", ())))
    if spoken.tagged_header:
        sink += b"\0"
    spoken.write(sink, body)
    _CORRELATION.pack_into(sink, 0, len(sink) - 4)
    return bytes(sink)


def read_response(api: str, version: int, data: bytes, names: Names) -> tuple[int, Any]:
    """Return correlation id and message of a response, whose bytes are without their length."""
    spoken, source = response_of(api, version), Source(data, _CORRELATION.size, names)
    if spoken.tagged_header:
        source.tags({}, {})
    return _CORRELATION.unpack_from(data)[0], spoken.read(source)[0]
