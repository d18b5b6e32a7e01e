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
    """`theirs` holds rows, which are the messages in our tuple; `rules` are others than those of their class."""

    theirs: str
    ours: str
    rules: tuple[Any, ...] | None = None


class Keyed(NamedTuple):
    """`theirs` holds rows, which we have by the value of `key`: as messages, or what `value` makes of a row."""

    theirs: str
    ours: str
    key: str
    value: Any = None
    also: tuple[Is, ...] = ()


class Partitions(NamedTuple):
    """`theirs` holds topics with their partitions' rows. `ours` is our tuple of partitions' names, or our dict of
    messages by them, `columns` are dicts of ours by name; each value of `each` in the rows makes a message of its own.
    """

    theirs: str
    ours: str = ""
    columns: tuple[Is, ...] = ()
    each: str = ""


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
