"""Bytes that are read and written, and Kafka's types of fields in them: numbers, text, arrays, structures.

Whoever reads knows at every place how many bytes are left, so a length that goes beyond them is refused before anything
of it is made. Kafka's generated readers have no limit below that, because its threads read one connection's request
while others go on. The server here has one thread: `ROWS` limits what one request may hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, lru_cache
from struct import Struct
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from kafkalab.wire.names import Names

ROWS = 30_000
"""The most rows and tagged fields of a request: three for each partition that a server has at most."""
NO_NAMES = Names({})
_SHORT, _INT = Struct(">h"), Struct(">i")


class BadMessageError(Exception):
    """The bytes are a message, but no broker would understand it."""


Tagged: TypeAlias = dict[int, Callable[["Source", dict[str, Any]], None]]
"""Functions that read a tagged field, by its tag."""


class Source:
    """Bytes, and the place up to which they are read. `rows` is the number of rows and tagged fields that may still
    come; `aside` has what was read and is no part of our message."""

    __slots__ = ("aside", "data", "names", "place", "rows")

    def __init__(self, data: bytes, place: int = 0, names: Names = NO_NAMES, rows: int = sys.maxsize) -> None:
        self.data, self.place, self.names, self.rows = data, place, names, rows
        self.aside: dict[str, Any] = {}

    def take(self, size: int) -> bytes:
        """Return so many bytes."""
        start = self.place
        self.place = end = start + size
        if end > len(self.data):
            raise BadMessageError(f"it ends {end - len(self.data)} bytes too early")
        return self.data[start:end]

    def unpack(self, numbers: Struct) -> tuple[Any, ...]:
        """Return numbers of a fixed size."""
        start = self.place
        self.place = start + numbers.size
        return numbers.unpack_from(self.data, start)

    def varint(self) -> int:
        """Return an unsigned number of up to five bytes."""
        data, place = self.data, self.place
        number = data[place]
        if number < 0x80:
            self.place = place + 1
            return number
        number &= 0x7F
        for shift in (7, 14, 21, 28):
            place += 1
            byte = data[place]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.place = place + 1
                return number
        raise BadMessageError("Varint is too long")

    def expect(self, count: int, size: int) -> None:
        """Raise BadMessageError if `count` rows of at least `size` bytes each are too many, or do not fit."""
        if (end := self.place + count * size) > len(self.data):
            raise BadMessageError(f"it ends {end - len(self.data)} bytes too early")
        self.rows -= count
        if self.rows < 0:
            raise BadMessageError(f"a request of more than {ROWS:,} rows and tagged fields")

    def tags(self, known: Tagged, values: dict[str, object]) -> None:
        """Read the tagged fields that are known into the values, and skip the others (KIP-482)."""
        if not self.data[self.place]:
            self.place += 1
            return
        count = self.varint()
        self.expect(count, 2)
        for _ in range(count):
            tag, size = self.varint(), self.varint()
            end = self.place + size
            if tag in known:
                known[tag](self, values)
                if self.place > end:
                    raise BadMessageError(f"tagged field {tag} is longer than it says")
            self.place = end
            self.take(0)


class Sink(bytearray):
    """Bytes that are written. `request` is what they answer, `answers` are our messages, each with the part of the
    request that it answers; `asked` is the part that is answered now."""

    names: Names = NO_NAMES
    request: Any = None
    answers: tuple[tuple[Any, Any], ...] = ()
    asked: Any = None


class Codec(NamedTuple):
    """A type: how it is read and written. `format` is that of a number (`struct`)."""

    read: Callable[[Source], Any]
    write: Callable[[Sink, Any], None]
    format: str = ""


NUMBERS = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
           "float64": "d"}  # fmt: skip


def varint_bytes(number: int) -> bytes:
    """Return the bytes of an unsigned number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


@lru_cache(maxsize=4096)
def _compact_bytes(size: int) -> bytes:
    return varint_bytes(size + 1)


def _read_compact(source: Source) -> int:
    number = source.data[source.place]
    if number < 0x80:
        source.place += 1
        return number - 1
    return source.varint() - 1


def _length(number: Struct, flexible: bool) -> tuple[Callable[[Source], int], Callable[[int], bytes]]:
    """Return what reads and what makes a length; -1 is null."""
    if flexible:
        return _read_compact, _compact_bytes

    def read(source: Source) -> int:
        found: int = source.unpack(number)[0]
        if found < -1:
            raise BadMessageError(f"a length of {found}")
        return found

    return read, number.pack


@cache
def codec_of(kind: str, flexible: bool, nullable: bool) -> Codec:
    """Return the codec of one value of a type of Kafka's that has no fields."""
    if kind in NUMBERS:
        number = Struct(">" + NUMBERS[kind])
        return Codec(lambda source: source.unpack(number)[0], _packer(number), NUMBERS[kind])
    if kind == "uuid":
        return Codec(lambda source: UUID(bytes=source.take(16)), _write_uuid)
    length, length_bytes = _length(_SHORT if kind == "string" else _INT, flexible)
    text = kind == "string"

    def read(source: Source) -> Any:
        size = length(source)
        if size < 0:
            if nullable:
                return None
            raise BadMessageError(f"a {kind} that must not be null")
        found = source.take(size)
        return found.decode() if text else found

    def write(sink: Sink, value: Any) -> None:
        if value is None and not nullable:
            raise ValueError(f"null for a {kind} that must not be null")
        data = value.encode() if text and value is not None else value
        sink += length_bytes(-1 if data is None else len(data))
        sink += data or b""

    return Codec(read, write)


def _packer(number: Struct) -> Callable[[Sink, Any], None]:
    def write(sink: Sink, value: object) -> None:
        sink += number.pack(value)

    return write


def _write_uuid(sink: Sink, value: UUID | None) -> None:
    sink += bytes(16) if value is None else value.bytes


def array_of(row: Codec, flexible: bool, nullable: bool) -> Codec:
    """Return the codec of a tuple of such rows."""
    length, length_bytes = _length(_INT, flexible)
    read_row, write_row, format = row
    size = Struct(">" + format).size or 1

    def read(source: Source) -> tuple[Any, ...] | None:
        count = length(source)
        if count < 0:
            if nullable:
                return None
            raise BadMessageError("an array that must not be null")
        source.expect(count, size)
        if format:
            return source.unpack(Struct(f">{count}{format}"))
        return tuple([read_row(source) for _ in range(count)])

    def write(sink: Sink, rows: Any) -> None:
        sink += length_bytes(len(rows) if rows is not None else -nullable)
        for one in rows or ():
            write_row(sink, one)

    return Codec(read, write)


def optional(row: Codec) -> Codec:
    """Return the codec of a structure, or None, behind a byte that says which it is (KIP-893)."""

    def read(source: Source) -> Any:
        return row.read(source) if source.take(1) == b"\x01" else None

    def write(sink: Sink, value: object) -> None:
        sink += b"\xff" if value is None else b"\x01"
        if value is not None:
            row.write(sink, value)

    return Codec(read, write)
