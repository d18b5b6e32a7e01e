"""Rules by which a message of Kafka's and one of kafkalab's correspond: `table` has them, `shapes` carries them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkalab.wire.primitives import Sink, Source
from kafkalab.wire.structs import Values
from kafkalab.wire.values import AS_IT_IS, Kind


class Is(NamedTuple):
    """The field `theirs` is our field `ours`; if our message has none of that name, it is read aside, and written as
    `default`. As a column, a value equal to `absent` has no entry in our dict."""

    theirs: str
    ours: str
    kind: Kind = AS_IT_IS
    absent: Any = NotImplemented
    default: Any = None


class Only(NamedTuple):
    """`theirs` holds one row, or one value, for each of our messages: what it has of each is ours of that message."""

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

    `names` is our tuple of names, `columns` are dicts of ours by name; each value of `each` in the rows makes a message
    of its own.
    """

    theirs: str
    rows: str
    number: str = "partition_index"
    names: str = ""
    columns: tuple[Is, ...] = ()
    each: str = ""
    ours: str = ""
    type: type | None = None


class Custom(NamedTuple):
    """A field that no other rule describes: `read(value, values, source)`, `write(message, sink)`."""

    theirs: str
    read: Callable[[Any, Values, Source], None]
    write: Callable[[Any, Sink], Any]


class Entry(NamedTuple):
    """One entry of a dict of ours as the rules of a row see it; `message` is what holds the dict."""

    key: Any
    value: Any
    message: Any = None
