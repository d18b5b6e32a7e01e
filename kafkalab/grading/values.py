"""Values as JSON and back, between the grader and the process in which a student's notebook runs.

Data crosses as data: numbers, text, bytes, lists, tuples, dicts, sets. What is no data crosses as a *special*, a name
with a description in data: a function as a number under which it can be called, a fault as its fields. The reader makes
values of Python's own types, and the specials that it knows; it refuses whatever is too deep, too long or too large,
before that is compared with anything.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

DEPTH_MAX, PARTS_MAX, BITS_MAX = 40, 200_000, 1024
KEYS_MAX = 2_000
"""Elements of a set, or keys of a dict: the time to build one may grow with their square, if their hashes collide."""
PLAIN = ("tuple", "dict", "set", "frozenset", "bytes", "ellipsis")

Special = tuple[str, Any]


class UnreadableError(ValueError):
    """The value cannot cross, or is none: too large, too deep, or of another form. The message says which."""


def encode(value: Any, special: Callable[[Any], Special], depth: int = 0) -> Any:
    """Return the value as JSON; `special` describes each part that is no data. UnreadableError if it is too large."""
    if depth > DEPTH_MAX:
        raise UnreadableError(f"it is nested more than {DEPTH_MAX} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _mark(value, special, depth)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise UnreadableError(f"a number in it has more than {BITS_MAX} bits")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    parts = _parts(value)
    if parts is None:
        return _mark(value, special, depth)
    name, found = parts
    rows = [encode(part, special, depth + 1) for part in found]
    return rows if name == "list" else {name: rows}


def _mark(value: Any, special: Callable[[Any], Special], depth: int) -> dict[str, Any]:
    name, description = special(value)
    return {name: encode(description, special, depth + 1)}


def _parts(value: Any) -> tuple[str, list[Any]] | None:
    """Return the kind of a container and its parts; None for anything else."""
    if isinstance(value, Mapping):
        return "dict", [list(pair) for pair in value.items()]
    for name, kind in (("list", list), ("tuple", tuple), ("frozenset", frozenset), ("set", Set)):
        if isinstance(value, kind):
            return name, list(value)
    return None


class Reader:
    """Reads values that were written by a process that is not trusted.

    `specials` has, by its name, what makes a special of its description; all others are refused.
    """

    def __init__(self, specials: Mapping[str, Callable[[Any], Any]]) -> None:
        self.specials = specials
        self.parts = 0

    def read(self, row: Any, depth: int = 0) -> Any:
        """Return the value of this JSON; UnreadableError if it is too large or not of the form."""
        self.parts += 1
        if depth > DEPTH_MAX or self.parts > PARTS_MAX:
            raise UnreadableError(f"it has more than {PARTS_MAX} parts, or is nested more than {DEPTH_MAX} deep")
        if row is None or isinstance(row, (bool, str, float)):
            return row
        if isinstance(row, int):
            if row.bit_length() > BITS_MAX:
                raise UnreadableError(f"a number in it has more than {BITS_MAX} bits")
            return row
        if isinstance(row, list):
            return [self.read(part, depth + 1) for part in row]
        if not isinstance(row, dict) or len(row) != 1:
            raise UnreadableError("it is no value")
        ((name, body),) = row.items()
        if name in PLAIN:
            return self._container(name, body, depth)
        if name not in self.specials:
            raise UnreadableError("it holds something that cannot be read")
        return self.specials[name](self.read(body, depth + 1))

    def _container(self, name: str, body: Any, depth: int) -> Any:
        if name == "ellipsis":
            return ...
        try:
            if name == "bytes":
                return base64.b64decode(body, validate=True)
            parts = self.read(body, depth) if isinstance(body, list) else None
            if parts is None:
                raise UnreadableError("it is no value")
            if name in ("dict", "set", "frozenset") and len(parts) > KEYS_MAX:
                raise UnreadableError(f"a {name} in it has more than {KEYS_MAX:,} elements")
            return {"tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset}[name](parts)
        except UnreadableError:
            raise
        except (TypeError, ValueError):
            raise UnreadableError(f"it holds a {name} that cannot be made") from None


def message_of(data: bytes) -> dict[str, Any]:
    """Return the message in these bytes, an object of JSON; UnreadableError for anything else."""
    try:
        message = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError):
        raise UnreadableError("what it answered cannot be read") from None
    if not isinstance(message, dict):
        raise UnreadableError("what it answered cannot be read")
    return message


def text_of(value: Any, most: int) -> str:
    """Return the value if it is a text, cut and without what no report can hold; else ""."""
    if not isinstance(value, str):
        return ""
    kept = "".join(sign for sign in value[:most] if sign in "\n\t" or (sign.isprintable() and sign != "\ufeff"))
    return kept.encode("utf-8", "replace").decode()
