"""Encode and decode requests and responses by Kafka's own definitions, JSON files inside kafka-clients-VERSION.jar.

Values are plain dicts with Kafka's field names. A field that a version lacks is not encoded; a field that is not given
has its default.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from typing import Any

from kafkalab.wire.primitives import varint_bytes

INTS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d"}
ZERO: dict[str, Any] = {"bool": False, "string": "", "bytes": b"", "records": None, "uuid": bytes(16), "float64": 0.0}
COMMENT = re.compile(r"^\s*//.*$", re.M)
RENAMED = {"GenerationId": "GenerationIdOrMemberEpoch"}
"""Later names of fields; a request that names the old one is written with the name that its definition has."""
Values = dict[str, Any]


def within(version: int, spec: str | None) -> bool:
    """Return whether a range such as "3+", "0-4", "2" or "none" holds the version."""
    if not spec or spec == "none":
        return False
    low, dash, high = spec.rstrip("+").partition("-")
    return int(low) <= version and (spec.endswith("+") or version <= int(high if dash else low))


class Reader:
    """Bytes, and how far they are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes; ValueError if there are fewer."""
        if self.at + count > len(self.data):
            raise ValueError("the message is cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind: str) -> Any:
        """Return the next number of a fixed size."""
        fmt = INTS[kind]
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def unsigned_varint(self) -> int:
        """Return the next number of a variable size."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def varint(self) -> int:
        """Return the next number of a variable size, zigzag encoded."""
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)


def default_of(field: Values) -> Any:
    """Return what a field holds that is not given."""
    given, kind = field.get("default"), field["type"]
    if given == "null":
        return None
    if kind.startswith("[]"):
        return []
    if kind in INTS and kind != "float64":
        return int(str(given), 0) if given not in (None, "") else 0
    if kind == "bool":
        return str(given).lower() == "true"
    if kind in ZERO:
        return ZERO[kind] if given is None else given
    return {}


class Message:
    """One request or response in one version."""

    def __init__(self, schema: Values, version: int) -> None:
        self.schema, self.version = schema, version
        self.structs = {s["name"]: s for s in schema.get("commonStructs", ())}
        self.flexible = within(version, schema.get("flexibleVersions"))

    def encode(self, values: Values) -> bytes:
        """Return the bytes; ValueError for a field that no version has."""
        return self._struct(self.schema["fields"], values)

    def decode(self, reader: Reader) -> Values:
        """Return every field that this version has."""
        return self._read_struct(self.schema["fields"], reader)

    def _struct(self, fields: list[Values], values: Values) -> bytes:
        names = {f["name"] for f in fields}
        values = {k if k in names else RENAMED.get(k, k): v for k, v in values.items()}
        unknown = set(values) - names - {"TopicId"}
        if unknown:
            raise ValueError(f"no fields {sorted(unknown)}; there are {[f['name'] for f in fields]}")
        out, tagged = b"", {}
        for field in (f for f in fields if within(self.version, f["versions"])):
            value = values.get(field["name"], default_of(field))
            if self.flexible and within(self.version, field.get("taggedVersions")):
                if value != default_of(field):
                    tagged[field["tag"]] = self._value(field["type"], field, value)
                continue
            out += self._value(field["type"], field, value)
        return out + self._tags(tagged) if self.flexible else out

    def _tags(self, tagged: dict[int, bytes]) -> bytes:
        rows = (varint_bytes(tag) + varint_bytes(len(data)) + data for tag, data in sorted(tagged.items()))
        return varint_bytes(len(tagged)) + b"".join(rows)

    def _compact(self, field: Values) -> bool:
        own = field.get("flexibleVersions")
        return self.flexible if own is None else within(self.version, own)

    def _value(self, kind: str, field: Values, value: Any) -> bytes:
        if kind.startswith("[]"):
            size = -1 if value is None else len(value)
            head = varint_bytes(size + 1) if self.flexible else struct.pack(">i", size)
            return head + b"".join(self._value(kind[2:], field, v) for v in value or ())
        if kind in INTS:
            return struct.pack(INTS[kind], value)
        if kind == "bool":
            return b"\1" if value else b"\0"
        if kind == "uuid":
            return bytes(value)
        if kind in ("string", "bytes", "records"):
            data = value.encode() if isinstance(value, str) else value
            size = -1 if data is None else len(data)
            short = ">h" if kind == "string" else ">i"
            head = varint_bytes(size + 1) if self._compact(field) else struct.pack(short, size)
            return head + (data or b"")
        if value is None:
            return b"\xff"
        prefix = b"\1" if self._may_be_null(field) else b""
        return prefix + self._struct(field.get("fields") or self.structs[kind]["fields"], value)

    def _may_be_null(self, field: Values) -> bool:
        return within(self.version, field.get("nullableVersions")) and not field["type"].startswith("[]")

    def _read_struct(self, fields: list[Values], reader: Reader) -> Values:
        values: Values = {}
        tags: dict[int, Values] = {}
        for field in (f for f in fields if within(self.version, f["versions"])):
            if self.flexible and within(self.version, field.get("taggedVersions")):
                tags[field["tag"]] = field
                values[field["name"]] = default_of(field)
                continue
            values[field["name"]] = self._read(field["type"], field, reader)
        for _ in range(reader.unsigned_varint() if self.flexible else 0):
            tag, size = reader.unsigned_varint(), reader.unsigned_varint()
            part = Reader(reader.take(size))
            if tag in tags:
                values[tags[tag]["name"]] = self._read(tags[tag]["type"], tags[tag], part)
        return values

    def _read(self, kind: str, field: Values, reader: Reader) -> Any:
        if kind.startswith("[]"):
            count = reader.unsigned_varint() - 1 if self.flexible else reader.number("int32")
            return None if count < 0 else [self._read(kind[2:], field, reader) for _ in range(count)]
        if kind in INTS:
            return reader.number(kind)
        if kind == "bool":
            return reader.take(1) != b"\0"
        if kind == "uuid":
            return reader.take(16)
        if kind in ("string", "bytes", "records"):
            if self._compact(field):
                size = reader.unsigned_varint() - 1
            else:
                size = reader.number("int16" if kind == "string" else "int32")
            if size < 0:
                return None
            data = reader.take(size)
            return data.decode() if kind == "string" else data
        if self._may_be_null(field) and reader.number("int8") < 0:
            return None
        return self._read_struct(field.get("fields") or self.structs[kind]["fields"], reader)


class Protocol:
    """All messages of the Kafka whose kafka-clients jar is given."""

    def __init__(self, clients_jar: str) -> None:
        self.requests: dict[str, Values] = {}
        self.responses: dict[str, Values] = {}
        self.apis: dict[int, str] = {}
        with zipfile.ZipFile(clients_jar) as jar:
            for name in jar.namelist():
                if not re.fullmatch(r"common/message/\w+(Request|Response)\.json", name):
                    continue
                row = json.loads(COMMENT.sub("", jar.read(name).decode()))
                kind = self.requests if row["type"] == "request" else self.responses
                api = row["name"].removesuffix("Request").removesuffix("Response")
                kind[api] = row
                self.apis[row["apiKey"]] = api

    def request_bytes(self, api: str, version: int, correlation: int, client_id: str, values: Values) -> bytes:
        """Return the frame of a request: size, header, body."""
        schema = self.requests[api]
        header = struct.pack(">hhih", schema["apiKey"], version, correlation, len(client_id)) + client_id.encode()
        message = Message(schema, version)
        body = header + (b"\0" if message.flexible else b"") + message.encode(values)
        return struct.pack(">i", len(body)) + body

    def request_of(self, data: bytes) -> tuple[str, int, int, Values]:
        """Return a request's API, version, correlation id and fields."""
        reader = Reader(data)
        api, version = self.apis[reader.number("int16")], reader.number("int16")
        correlation = reader.number("int32")
        reader.take(max(reader.number("int16"), 0))  # the client's id
        message = Message(self.requests[api], version)
        if message.flexible:
            _skip_tags(reader)
        return api, version, correlation, message.decode(reader)

    def response_bytes(self, api: str, version: int, correlation: int, values: Values) -> bytes:
        """Return the frame of a response: size, header, body."""
        message = Message(self.responses[api], version)
        body = struct.pack(">i", correlation) + _header_tags(api, message) + message.encode(values)
        return struct.pack(">i", len(body)) + body

    def response_of(self, api: str, version: int, data: bytes) -> tuple[int, Values]:
        """Return the correlation id and the fields of a response."""
        reader = Reader(data)
        correlation = reader.number("int32")
        message = Message(self.responses[api], version)
        if _header_tags(api, message):
            _skip_tags(reader)
        return correlation, message.decode(reader)


def _header_tags(api: str, message: Message) -> bytes:
    """The empty tags of a response's header; that of ApiVersions has none in any version (KIP-511)."""
    return b"\0" if message.flexible and api != "ApiVersions" else b""


def _skip_tags(reader: Reader) -> None:
    for _ in range(reader.unsigned_varint()):
        reader.unsigned_varint()
        reader.take(reader.unsigned_varint())
