"""Kafka's messages as dicts, from the definitions inside kafka-clients.jar: requests decoded, responses encoded.

Only what a scripted broker needs: it reads requests and writes responses, in every version that the jar knows.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q"}
EMPTY: dict[str, Any] = {"bool": False, "string": "", "bytes": b"", "records": None, "uuid": bytes(16)}


def within(version: int, spec: str | None) -> bool:
    """`within(3, "2+")`, `within(3, "0-4")`; "none" and None hold no version."""
    if not spec or spec == "none":
        return False
    low, _, high = spec.rstrip("+").partition("-")
    return int(low) <= version and (spec.endswith("+") or version <= int(high or low))


class Reader:
    """Bytes, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes; ValueError if there are fewer."""
        if count < 0 or self.place + count > len(self.data):
            raise ValueError("the message is cut off")
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self, kind: str) -> int:
        """Return the next number of a type such as "int32"."""
        form = NUMBERS[kind]
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def varint(self) -> int:
        """Return the next unsigned varint."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


def varint(value: int) -> bytes:
    """Encode an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def default(field: dict[str, Any]) -> Any:
    """Return the value of a field that is not given."""
    kind, given = field["type"], field.get("default")
    if given == "null":
        return None
    if kind.startswith("[]"):
        return []
    if kind in NUMBERS:
        return int(str(given), 0) if given not in (None, "") else 0
    if kind == "bool":
        return str(given).lower() == "true"
    return EMPTY.get(kind, {})


class MessageCodec:
    """The messages of one Kafka version."""

    def __init__(self, clients_jar: Path) -> None:
        self.schemas: dict[tuple[str, str], dict[str, Any]] = {}
        self.names: dict[int, str] = {}
        with zipfile.ZipFile(clients_jar) as jar:
            for name in jar.namelist():
                if re.fullmatch(r"common/message/\w+(Request|Response)\.json", name):
                    row = json.loads(re.sub(r"^\s*//.*$", "", jar.read(name).decode(), flags=re.M))
                    kind = row["type"]
                    api = row["name"].removesuffix(kind.capitalize())
                    self.schemas[api, kind] = row
                    if kind == "request":
                        self.names[row["apiKey"]] = api

    def request(self, data: bytes) -> tuple[str, int, int, dict[str, Any]]:
        """Decode a request; return its API, version, correlation id and fields."""
        reader = Reader(data)
        api, version = self.names[reader.number("int16")], reader.number("int16")
        correlation = reader.number("int32")
        reader.take(max(reader.number("int16"), 0))  # the client's id
        schema = self.schemas[api, "request"]
        if within(version, schema["flexibleVersions"]):
            _skip_tags(reader)
        return api, version, correlation, _Coding(schema, version).read(schema["fields"], reader)

    def response(self, api: str, version: int, correlation: int, values: dict[str, Any]) -> bytes:
        """Encode a response, with its length; the header of ApiVersions has no tags in any version (KIP-511)."""
        schema = self.schemas[api, "response"]
        coding = _Coding(schema, version)
        header = struct.pack(">i", correlation) + (b"\0" if coding.flexible and api != "ApiVersions" else b"")
        body = header + coding.write(schema["fields"], values)
        return struct.pack(">i", len(body)) + body


def _skip_tags(reader: Reader) -> None:
    for _ in range(reader.varint()):
        reader.varint()
        reader.take(reader.varint())


class _Coding:
    """One message in one version."""

    def __init__(self, schema: dict[str, Any], version: int) -> None:
        self.version = version
        self.flexible = within(version, schema.get("flexibleVersions"))
        self.common = {s["name"]: s["fields"] for s in schema.get("commonStructs", ())}

    def _inner(self, field: dict[str, Any], kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = field.get("fields") or self.common[kind]
        return found

    def read(self, fields: list[dict[str, Any]], reader: Reader) -> dict[str, Any]:
        """Decode these fields, tagged ones too."""
        values, tagged = {}, {}
        for field in fields:
            if within(self.version, field["versions"]):
                if self.flexible and within(self.version, field.get("taggedVersions")):
                    values[field["name"]], tagged[field["tag"]] = default(field), field
                else:
                    values[field["name"]] = self._read(field["type"], field, reader)
        for _ in range(reader.varint() if self.flexible else 0):
            tag, part = reader.varint(), Reader(reader.take(reader.varint()))
            if tag in tagged:
                values[tagged[tag]["name"]] = self._read(tagged[tag]["type"], tagged[tag], part)
        return values

    def _read(self, kind: str, field: dict[str, Any], reader: Reader) -> Any:
        if kind.startswith("[]"):
            count = self._length(reader, "int32")
            return None if count < 0 else [self._read(kind[2:], field, reader) for _ in range(count)]
        if kind in NUMBERS:
            return reader.number(kind)
        if kind == "bool":
            return reader.take(1) != b"\0"
        if kind == "uuid":
            return reader.take(16)
        if kind in ("string", "bytes", "records"):
            size = self._length(reader, "int16" if kind == "string" else "int32")
            data = None if size < 0 else reader.take(size)
            return data.decode() if kind == "string" and data is not None else data
        return self.read(self._inner(field, kind), reader)

    def _length(self, reader: Reader, kind: str) -> int:
        return reader.varint() - 1 if self.flexible else reader.number(kind)

    def write(self, fields: list[dict[str, Any]], values: dict[str, Any]) -> bytes:
        """Encode these fields; those that `values` lacks have their defaults."""
        out, tagged = b"", {}
        unknown = [name for name in values if name not in {f["name"] for f in fields}]
        if unknown:
            raise ValueError(f"no fields {unknown}; there are {[f['name'] for f in fields]}")
        for field in fields:
            if within(self.version, field["versions"]):
                value = values.get(field["name"], default(field))
                if not (self.flexible and within(self.version, field.get("taggedVersions"))):
                    out += self._write(field["type"], field, value)
                elif value != default(field):
                    tagged[field["tag"]] = self._write(field["type"], field, value)
        if self.flexible:
            out += varint(len(tagged))
            out += b"".join(varint(tag) + varint(len(tagged[tag])) + tagged[tag] for tag in sorted(tagged))
        return out

    def _write(self, kind: str, field: dict[str, Any], value: Any) -> bytes:
        write_one: Callable[[Any], bytes] = lambda v: self._write(kind[2:], field, v)  # noqa: E731
        if kind.startswith("[]"):
            return self._sized(value, "int32", b"" if value is None else b"".join(map(write_one, value)))
        if kind in NUMBERS:
            return struct.pack(NUMBERS[kind], value)
        if kind == "bool":
            return b"\1" if value else b"\0"
        if kind == "uuid":
            return bytes(value)
        if kind in ("string", "bytes", "records"):
            data = value.encode() if isinstance(value, str) else value
            return self._sized(data, "int16" if kind == "string" else "int32", data or b"")
        return self.write(self._inner(field, kind), value)

    def _sized(self, value: Any, kind: str, data: bytes) -> bytes:
        size = -1 if value is None else len(value)
        return (varint(size + 1) if self.flexible else struct.pack(NUMBERS[kind], size)) + data
