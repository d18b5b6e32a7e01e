"""Fields that not every version of an API carries: declared beside the field, taken out where a message enters."""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

T = TypeVar("T")
VERSIONS = "versions"
LATEST = 2**15 - 1


def since(version: int, default: T, until: int = LATEST, unless_empty: bool = False) -> T:
    """Declare a field of a message that travels in versions `version` to `until` only.

    In any other version the receiver reads `default`, whatever the sender put there (Kafka's message definitions,
    `clients/src/main/resources/common/message`). With `unless_empty` a trace leaves it out while it is empty.
    """
    metadata: dict[str, Any] = {VERSIONS: range(version, until + 1)}
    if unless_empty:
        metadata["unless_empty"] = True
    if default == {}:
        return field(default_factory=dict, metadata=metadata)  # type: ignore[return-value]
    return field(default=default, metadata=metadata)


def as_read(message: Any, version: int) -> Any:
    """Return the message as its receiver reads it in this version: with the defaults of the fields that do not travel.

    Messages inside it, in tuples and dicts, are treated alike.
    """
    kind: Any = type(message)
    plan = _plan(kind, version)
    if plan is NOTHING:
        return message
    changed: dict[str, Any] = {}
    for name, default in plan.lacking:
        if getattr(message, name) != default:
            changed[name] = {} if default == {} else default
    for name in plan.holding:
        held = getattr(message, name)
        read = _each_as_read(held, version)
        if read != held:
            changed[name] = read
    return replace(message, **changed) if changed else message


def _each_as_read(held: Any, version: int) -> Any:
    if isinstance(held, tuple):
        return tuple(as_read(one, version) for one in held)
    return {key: as_read(one, version) for key, one in held.items()}


class Plan(NamedTuple):
    """The work of `as_read` on a message of one type: fields it lacks with their defaults, and fields that hold
    such messages."""

    lacking: tuple[tuple[str, Any], ...]
    holding: tuple[str, ...]


NOTHING = Plan((), ())


@cache
def _plan(kind: type, version: int) -> Plan:
    lacking, holding = [], []
    for one in fields(kind):
        if version not in one.metadata.get(VERSIONS, range(LATEST + 1)):
            lacking.append((one.name, {} if one.default_factory is dict else one.default))
        elif any(_changes(held, version) for held in messages_in(kind, one.name) if held is not kind):
            holding.append(one.name)
    return Plan(tuple(lacking), tuple(holding)) if lacking or holding else NOTHING


def _changes(kind: type, version: int) -> bool:
    return _plan(kind, version) is not NOTHING


@cache
def messages_in(kind: type, name: str) -> tuple[type, ...]:
    """The dataclasses that the field's tuple or dict holds; none for any other field."""
    annotation = get_type_hints(kind)[name]
    return tuple(held for held in get_args(annotation) if isinstance(held, type) and is_dataclass(held))
