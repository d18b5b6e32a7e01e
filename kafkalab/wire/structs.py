"""Structures: the fields of one version of a message in their order, and where each of them goes and comes from.

What has a fixed size, and comes one after the other, is read and written at once; what is always the same is written as
bytes that are made only once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from struct import Struct as Numbers
from struct import error as StructError
from typing import Any, NamedTuple, TypeAlias

from kafkalab.wire.definitions import Field, message
from kafkalab.wire.primitives import (
    NUMBERS,
    BadMessageError,
    Codec,
    Sink,
    Source,
    array_of,
    codec_of,
    optional,
    varint_bytes,
)

Values: TypeAlias = dict[str, Any]
"""The values of a message's fields, by their names."""
ReadStep: TypeAlias = Callable[[Source, Values], None]
WriteStep: TypeAlias = Callable[[Sink, Any], None]


_VERSION = Numbers(">h")
NO_MESSAGE = (StructError, LookupError, ValueError, OverflowError, TypeError)
UNREADABLE = (BadMessageError, *NO_MESSAGE)
"""The errors of reading bytes that are not what they are read as."""


class Part(NamedTuple):
    """One field of a structure. What was read goes through `convert` into the values under `key`, or is handed to
    `put`, or else is dropped. `get` returns what is written of a message; without it that is the field's default. `row`
    takes the place of the codec of the field's own structure."""

    key: str = ""
    convert: Callable[[Any, Source], Any] | None = None
    put: Callable[[Any, Values, Source], None] | None = None
    get: Callable[[Any, Sink], Any] | None = None
    row: Codec | None = None


DROPPED = Part()


def codec_of_struct(fields: tuple[Field, ...], flexible: bool, parts: Mapping[str, Part], absent: Values) -> Codec:
    """Return the codec that reads a structure as values, which begin as `absent`, and writes it from a message."""
    both = [(field, parts.get(field.name, DROPPED)) for field in fields]
    placed = [(field, part) for field, part in both if field.tag < 0]
    tagged = sorted(((field, part) for field, part in both if field.tag >= 0), key=lambda one: one[0].tag)
    readers, writers = _readers(placed, flexible), _writers(placed, flexible)
    if flexible:
        known = {field.tag: _reader(field, part, flexible) for field, part in tagged}
        readers.append(lambda source, values: source.tags(known, values))
        writers.append(_tags_writer(tagged))

    def read(source: Source) -> Values:
        values = absent.copy()
        for step in readers:
            step(source, values)
        return values

    def write(sink: Sink, message: object) -> None:
        for step in writers:
            step(sink, message)

    return Codec(read, write)


@cache
def raw(name: str, version: int) -> Codec:
    """Return the codec of a message of Kafka's as plain values by their names; LookupError for one that there is not.

    What a message that is written lacks has its default.
    """
    fields, flexible = message(name, version)
    return _raw_struct(fields, flexible)


def read_versioned(name: str, data: bytes) -> Values:
    """Return the values of bytes that begin with their version; LookupError for a version that there is not."""
    source = Source(data)
    found: Values = raw(name, source.unpack(_VERSION)[0]).read(source)
    return found


def versioned_bytes(name: str, version: int, values: Values) -> bytes:
    """Return the bytes of values, behind their version."""
    sink = Sink(_VERSION.pack(version))
    raw(name, version).write(sink, values)
    return bytes(sink)


def _raw_struct(fields: tuple[Field, ...], flexible: bool) -> Codec:
    absent = {field.name: field.default for field in fields if field.tag >= 0}
    return codec_of_struct(fields, flexible, {field.name: _raw_part(field) for field in fields}, absent)


def _raw_part(field: Field) -> Part:
    name, default = field.name, field.default
    return Part(name, get=lambda values, sink: values.get(name, default))


def _codec(field: Field, flexible: bool, row: Codec | None) -> Codec:
    if row is None and not field.fields:
        value = codec_of(field.kind, flexible, field.nullable and not field.array)
    else:
        value = row or _raw_struct(field.fields, flexible)
    if field.array:
        return array_of(value, flexible, field.nullable)
    return optional(value) if field.fields and field.nullable else value


def _is_number(field: Field, part: Part) -> bool:
    return field.kind in NUMBERS and not field.array and part.put is None


def _readers(placed: list[tuple[Field, Part]], flexible: bool) -> list[ReadStep]:
    steps: list[ReadStep] = []
    for numbers, group in groupby(placed, lambda one: _is_number(*one)):
        if numbers:
            steps.append(_read_numbers(list(group)))
        else:
            steps += [_reader(field, part, flexible) for field, part in group]
    return steps


def _read_numbers(group: list[tuple[Field, Part]]) -> ReadStep:
    letters = [(NUMBERS[field.kind], part.key) for field, part in group]
    sizes = [letter if key else f"{Numbers('>' + letter).size}x" for letter, key in letters]
    numbers, wanted = Numbers(">" + "".join(sizes)), [part for _, part in group if part.key]
    keys = [part.key for part in wanted]
    converts = [(part.key, part.convert) for part in wanted if part.convert]
    if len(keys) == 1 and not converts:
        (key,), size, unpack_from = keys, numbers.size, numbers.unpack_from

        def read_one(source: Source, values: Values) -> None:
            (values[key],) = unpack_from(source.data, source.place)
            source.place += size

        return read_one

    def read(source: Source, values: Values) -> None:
        values.update(zip(keys, source.unpack(numbers)))  # noqa: B905 as many, and quicker without a look
        for key, convert in converts:
            values[key] = convert(values[key], source)

    return read


def _reader(field: Field, part: Part, flexible: bool) -> ReadStep:
    read, (key, convert, put, _, _) = _codec(field, flexible, part.row).read, part
    if put is not None:
        return lambda source, values: put(read(source), values, source)

    def step(source: Source, values: Values) -> None:
        value = read(source)
        if convert is not None:
            value = convert(value, source)
        if key:
            values[key] = value

    return step


def _writers(placed: list[tuple[Field, Part]], flexible: bool) -> list[WriteStep]:
    steps: list[WriteStep] = []
    for (fixed, numbers), found in groupby(placed, lambda one: (one[1].get is None, _is_number(*one))):
        group = list(found)
        if fixed:
            made = Sink()
            for field, _ in group:
                _codec(field, flexible, None).write(made, field.default)
            steps.append(_write_bytes(bytes(made)))
        elif numbers:
            steps.append(_write_numbers(group))
        else:
            steps += [_writer(part, _codec(field, flexible, part.row)) for field, part in group]
    return steps


def _write_bytes(data: bytes) -> WriteStep:
    def write(sink: Sink, message: object) -> None:
        sink += data

    return write


def _write_numbers(group: list[tuple[Field, Part]]) -> WriteStep:
    pack = Numbers(">" + "".join(NUMBERS[field.kind] for field, _ in group)).pack
    gets = [part.get for _, part in group if part.get]

    def write(sink: Sink, message: object) -> None:
        sink += pack(*[get(message, sink) for get in gets])

    return write


def _writer(part: Part, codec: Codec) -> WriteStep:
    get, write = part.get, codec.write
    assert get is not None
    return lambda sink, message: write(sink, get(message, sink))


def _tags_writer(tagged: list[tuple[Field, Part]]) -> WriteStep:
    """Return what writes the tagged fields that differ from their defaults."""
    written = [(f.tag, f.default, part.get, _codec(f, True, part.row).write) for f, part in tagged if part.get]
    if not written:
        return _write_bytes(b"\0")

    def write_all(sink: Sink, message: object) -> None:
        values = ((tag, get(message, sink), default, write) for tag, default, get, write in written)
        made = [(tag, value, write) for tag, value, default, write in values if value != default]
        sink += varint_bytes(len(made))
        for tag, value, write in made:
            start = len(sink)
            write(sink, value)
            sink[start:start] = varint_bytes(tag) + varint_bytes(len(sink) - start)

    return write_all
