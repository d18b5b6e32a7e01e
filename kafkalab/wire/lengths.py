"""Walk over a message before kio reads it: refuse lengths that go beyond its end and more rows than a limit, and cut
out unknown tagged fields.

kio's native reader sets memory aside for as many rows as an array says it has. A request of 30 bytes that says two
billion ends the whole process, as Rust does where memory cannot be had; no exception can be caught. Kafka's generated
readers check the same way ("Tried to allocate a collection of size …, but there are only … bytes remaining"); Kafka has
no limit below that, because its threads read one connection's request while others go on. This server has one thread.

KIP-482 has readers skip tagged fields that they do not know; kio's raises KeyError for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from io import BytesIO
from struct import Struct
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from kio.serial.readers import read_unsigned_varint
from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint

from kafkalab.wire.rules import BadMessageError

ROWS = 30_000
"""The most rows and tagged fields of a request: three for each partition that a server has at most."""


@dataclass(slots=True)
class Bounds:
    """The counts and findings of a walk over one message: `rows` is the number of rows and tagged fields that may still
    come, `edits` are replacements (start, end, bytes) that take out its unknown tagged fields."""

    rows: int = sys.maxsize
    edits: list[tuple[int, int, bytes]] = field(default_factory=list)

    def check(self, data: bytes, place: int, count: int, size: int = 1) -> None:
        """Raise BadMessageError if `count` rows of at least `size` bytes each are too many, or do not fit."""
        within(data, place + max(count, 0) * size)
        self.rows -= max(count, 0)
        if self.rows < 0:
            raise BadMessageError(f"a request of more than {ROWS:,} rows and tagged fields")


Walk: TypeAlias = Callable[[bytes, int, Bounds], int]
"""From where something begins in these bytes, return where it ends."""

SIZES = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4, "int64": 8,
    "uint64": 8, "float64": 8, "uuid": 16, "timedelta_i32": 4, "timedelta_i64": 8, "datetime_i64": 8,
}  # fmt: skip
_SHORT, _INT = Struct(">h"), Struct(">i")
_TAGGED = 2
"""A tagged field has at least a byte of tag and one of length."""


def within(data: bytes, place: int) -> int:
    """Return the place, if the message reaches so far."""
    if place > len(data):
        raise BadMessageError(f"it ends {place - len(data)} bytes too early")
    return place


def unsigned_varint(number: int) -> bytes:
    """Return the bytes of an unsigned varint."""
    out = BytesIO()
    write_unsigned_varint(out, uvarint(number))
    return out.getvalue()


def _skip(size: int) -> Walk:
    return lambda data, place, bounds: within(data, place + size)


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

    def walk(data: bytes, place: int, bounds: Bounds) -> int:
        size, place = length(data, place)
        return within(data, place + max(size, 0))

    return walk


def _array(row: Walk, size: int, flexible: bool, may_be_null: bool) -> Walk:
    """Rows of `size` bytes each, or at least one where that is 0."""
    length = length_of("array", flexible)

    def walk(data: bytes, place: int, bounds: Bounds) -> int:
        count, place = length(data, place)
        if count < 0 and not may_be_null:
            raise BadMessageError("an array that must not be null")
        bounds.check(data, place, count, max(size, 1))
        if size:
            return place + max(count, 0) * size
        for _ in range(count):
            place = row(data, place, bounds)
        return place

    return walk


def _nullable(row: Walk) -> Walk:
    """A single row behind a byte that says whether there is one (KIP-893)."""
    return lambda data, place, bounds: row(data, place + 1, bounds) if data[place] == 1 else place + 1


def tags_of(known: dict[int, Walk]) -> Walk:
    """Return what walks over tagged fields; `known` has those whose content is walked over, too. The others are cut
    out by the edits of the bounds."""

    def walk(data: bytes, place: int, bounds: Bounds) -> int:
        count, size = read_unsigned_varint(data, place)
        if not count:
            return place + size
        count_at, place, kept = (place, place + size), place + size, int(count)
        bounds.check(data, place, count, _TAGGED)
        for _ in range(count):
            start = place
            tag, size = read_unsigned_varint(data, place)
            length_at = place + size
            length, size = read_unsigned_varint(data, length_at)
            place = length_at + size
            end = within(data, place + length)
            if tag not in known:
                kept -= 1
                bounds.edits.append((start, end, b""))
            else:
                before = len(bounds.edits)
                if known[tag](data, place, bounds) > end:
                    raise BadMessageError(f"tagged field {tag} is longer than it says")
                if shorter := sum(to - at - len(new) for at, to, new in bounds.edits[before:]):
                    bounds.edits.append((length_at, place, unsigned_varint(length - shorter)))
            place = end
        if kept < count:
            bounds.edits.append((*count_at, unsigned_varint(kept)))
        return place

    return walk


skip_tags = tags_of({})


def check_message(entity: Any, data: bytes, place: int, bounds: Bounds) -> bytes:
    """Return a message that kio can read: the bytes without the unknown tagged fields from `place` on.

    `entity` is kio's class of the message. BadMessageError for bytes that are too few, or more rows than the bounds
    allow; as kio, SerialError, StructError, LookupError or ValueError for other bytes that are none.
    """
    first = len(bounds.edits)
    walk_of(entity)(data, place, bounds)
    parts, reached = [], 0
    for start, end, new in sorted(bounds.edits[first:]):
        parts += [data[reached:start], new]
        reached = end
    return b"".join((*parts, data[reached:])) if parts else data


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

    def walk_all(data: bytes, place: int, bounds: Bounds) -> int:
        for step in steps:
            place = step(data, place, bounds)
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
