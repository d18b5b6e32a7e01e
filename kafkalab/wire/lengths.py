"""Walk over a message before kio reads it, and refuse lengths that go beyond its end.

kio's native reader sets memory aside for as many rows as an array says it has. A request of 30 bytes that says two
billion ends the whole process, as Rust does where memory cannot be had; no exception can be caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from struct import Struct
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from kio.serial.readers import read_unsigned_varint

from kafkalab.wire.rules import BadMessageError

Walk: TypeAlias = Callable[[bytes, int], int]
"""From where something begins in these bytes, return where it ends."""

SIZES = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4, "int64": 8,
    "uint64": 8, "float64": 8, "uuid": 16, "timedelta_i32": 4, "timedelta_i64": 8, "datetime_i64": 8,
}  # fmt: skip
_SHORT, _INT = Struct(">h"), Struct(">i")


def within(data: bytes, place: int) -> int:
    """Return the place, if the message reaches so far."""
    if place > len(data):
        raise BadMessageError(f"it ends {place - len(data)} bytes too early")
    return place


def _skip(size: int) -> Walk:
    return lambda data, place: within(data, place + size)


def length_of(kind: str, flexible: bool) -> Callable[[bytes, int], tuple[int, int]]:
    """Return what reads a length, -1 for null, and where it ends."""
    number = _SHORT if kind == "string" else _INT

    def compact(data: bytes, place: int) -> tuple[int, int]:
        found, size = read_unsigned_varint(data, place)
        return found - 1, place + size

    def plain(data: bytes, place: int) -> tuple[int, int]:
        found = number.unpack_from(data, place)[0]
        if found < -1:
            raise BadMessageError(f"a length of {found}")
        return found, place + number.size

    return compact if flexible else plain


def _text(kind: str, flexible: bool) -> Walk:
    length = length_of(kind, flexible)

    def walk(data: bytes, place: int) -> int:
        size, place = length(data, place)
        return within(data, place + max(size, 0))

    return walk


def _array(row: Walk, size: int, flexible: bool, may_be_null: bool) -> Walk:
    """Rows of `size` bytes each, or at least one where that is 0."""
    length = length_of("array", flexible)

    def walk(data: bytes, place: int) -> int:
        count, place = length(data, place)
        if count < 0 and not may_be_null:
            raise BadMessageError("an array that must not be null")
        end = within(data, place + max(count, 0) * max(size, 1))
        if size:
            return end
        for _ in range(count):
            place = row(data, place)
        return place

    return walk


def _nullable(row: Walk) -> Walk:
    """A single row behind a byte that says whether there is one (KIP-893)."""
    return lambda data, place: row(data, place + 1) if data[place] == 1 else place + 1


def tags_of(known: dict[int, Walk]) -> Walk:
    """Return what walks over tagged fields; `known` has those whose content is walked over, too."""

    def walk(data: bytes, place: int) -> int:
        count, size = read_unsigned_varint(data, place)
        place += size
        for _ in range(count):
            tag, size = read_unsigned_varint(data, place)
            length, more = read_unsigned_varint(data, place + size)
            place += size + more
            end = within(data, place + length)
            if tag in known and known[tag](data, place) > end:
                raise BadMessageError(f"tagged field {tag} is longer than it says")
            place = end
        return place

    return walk


@cache
def walk_of(entity: Any) -> Walk:
    """Return what walks over a message of one of kio's classes; BadMessageError for bytes that are too few."""
    hints = get_type_hints(entity)
    steps: list[Walk] = []
    tagged: dict[int, Walk] = {}
    fixed = 0
    for one in fields(entity):
        walk, size = _field(one.metadata.get("kafka_type", ""), hints[one.name], entity.__flexible__)
        if "tag" in one.metadata:
            tagged[one.metadata["tag"]] = walk
        elif size:
            fixed += size
        else:
            steps += [_skip(fixed)] * bool(fixed) + [walk]
            fixed = 0
    steps += [_skip(fixed)] * bool(fixed) + [tags_of(tagged)] * entity.__flexible__

    def walk_all(data: bytes, place: int) -> int:
        for step in steps:
            place = step(data, place)
        return place

    return walk_all


def _field(kind: str, hint: Any, flexible: bool) -> tuple[Walk, int]:
    """Return what walks over a field, and its size if that is always the same, else 0."""
    options = get_args(hint) if type(None) in get_args(hint) else (hint,)
    array = next((option for option in options if get_origin(option) is tuple), None)
    if array is not None:
        row, size = _field(kind, get_args(array)[0], flexible)
        return _array(row, size, flexible, len(options) > 1), 0
    if kind in SIZES:
        return _skip(SIZES[kind]), SIZES[kind]
    if kind:
        return _text(kind, flexible), 0
    row = walk_of(next(option for option in options if hasattr(option, "__version__")))
    return (_nullable(row) if len(options) > 1 else row), 0
