"""Kafka's own message definitions, as one version of a message has them.

kafka_messages.json is made of the definitions in Kafka's jars by `python -m tests.protocol.definitions JAR ...`; nobody
writes in it by hand.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

Definition: TypeAlias = dict[str, Any]


class Field(NamedTuple):
    """A field of a message: `array` of values of a `kind`, or one of them; `fields` are those of a structure.

    `tag` is -1 for a field that is always there. `default` is what it has where nothing is said of it: Kafka's default,
    or else nothing (None, 0, "", no rows).
    """

    name: str
    kind: str
    array: bool
    nullable: bool
    tag: int
    default: Any
    fields: tuple[Field, ...]


class Struct(NamedTuple):
    """The fields of a version of a message; a flexible one has tagged fields (KIP-482)."""

    fields: tuple[Field, ...]
    flexible: bool


ZERO: dict[str, Any] = {"bool": False, "string": "", "bytes": b"", "records": b"", "uuid": UUID(int=0), "float64": 0.0}


@cache
def _read() -> tuple[dict[int, str], dict[str, Definition]]:
    found = json.loads(Path(__file__).with_name("kafka_messages.json").read_text(encoding="utf-8"))
    return {int(key): name for key, name in found["apis"].items()}, found["messages"]


def api_names() -> dict[int, str]:
    """Return the name of every API of Kafka's by its key."""
    return _read()[0]


def list_versions() -> dict[str, range]:
    """Return the versions of every message."""
    return {name: _range(found["validVersions"]) for name, found in _read()[1].items()}


@cache
def message(name: str, version: int) -> Struct:
    """Return this version of a message, such as "FetchRequest"; LookupError for one that the definitions lack."""
    found = _read()[1][name]
    if version not in _range(found["validVersions"]):
        raise LookupError(f"{name} has no version {version}")
    flexible = version in _range(found["flexibleVersions"])
    return Struct(_fields(found["fields"], version, flexible), flexible)


@cache
def _range(versions: str) -> range:
    """Return the versions that "3+", "0-4", "2" or "none" means."""
    first, dash, last = versions.rstrip("+").partition("-")
    if not first.isdecimal():
        return range(0)
    return range(int(first), 2**15 if versions.endswith("+") else int(last if dash else first) + 1)


def _fields(found: list[Definition], version: int, flexible: bool) -> tuple[Field, ...]:
    made = []
    for one in found:
        if version in _range(one["versions"]):
            array, kind = one["type"].startswith("[]"), one["type"].removeprefix("[]")
            nullable = version in _range(one.get("nullableVersions", ""))
            fields = _fields(one.get("fields", ()), version, flexible)
            tag = one["tag"] if flexible and version in _range(one.get("taggedVersions", "")) else -1
            default = _default(one.get("default"), kind, array, nullable, fields)
            made.append(Field(snake_case(one["name"]), kind, array, nullable, tag, default, fields))
    return tuple(made)


def snake_case(name: str) -> str:
    """`snake_case("ThrottleTimeMs") == "throttle_time_ms"`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _default(given: Any, kind: str, array: bool, nullable: bool, fields: tuple[Field, ...]) -> Any:
    if given == "null" or (given is None and nullable):
        return None
    if array:
        return ()
    if fields or kind in ZERO:
        zero = {one.name: one.default for one in fields} if fields else ZERO[kind]
        return zero if given is None else given == "true" if kind == "bool" else given
    return int(str(given or 0), 0)
