"""Rules by which a message of kio's and one of kafkalab's correspond: `table` has them, `shapes` carries them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from kafkalab.wire.values import AS_IT_IS, Context, Kind

Values: TypeAlias = dict[str, Any]
"""The values of a message's fields, by their names."""


class Is(NamedTuple):
    """The field `theirs` is our field `ours`. As a column, a value equal to `absent` has no entry in our dict."""

    theirs: str
    ours: str
    kind: Kind = AS_IT_IS
    absent: Any = NotImplemented
    default: Any = None


class Only(NamedTuple):
    """`theirs` holds one row (the request was split before), or one value; its fields are ours of the message."""

    theirs: str
    rules: tuple[Any, ...] = ()
    value: str = ""


class Rows(NamedTuple):
    """`theirs` holds rows, of which each is a message of `type`."""

    theirs: str
    ours: str
    type: type


class Keyed(NamedTuple):
    """`theirs` holds rows, which we have by the value of `key`: a message of `type`, or what `value` makes of a row."""

    theirs: str
    ours: str
    key: str
    type: type | None = None
    value: Any = None
    also: tuple[Is, ...] = ()


class Partitions(NamedTuple):
    """`theirs` holds topics with `rows`, which we have by partition: by name only, as columns, or as `type`.

    `names` is our tuple of names, `columns` are dicts of ours by name, `shared` fields are the same in every row.
    """

    theirs: str
    rows: str
    number: str = "partition_index"
    names: str = ""
    columns: tuple[Is, ...] = ()
    shared: tuple[Is, ...] = ()
    ours: str = ""
    type: type | None = None


class Custom(NamedTuple):
    """A field that no other rule describes: `read(value, values, context)`, `write(message, context)`."""

    theirs: str
    read: Callable[[Any, Values, Context], None]
    write: Callable[[Any, Context, Any], Any]


class Entry(NamedTuple):
    """One entry of a dict of ours as the rules of a row see it."""

    key: Any
    value: Any


class BadMessageError(Exception):
    """The bytes are a message, but no broker would understand it."""
