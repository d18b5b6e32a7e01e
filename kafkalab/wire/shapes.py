"""Between kio's messages, a class for each version, and kafkalab's, one class for all: rules, and what follows from
the names of the fields.

A field that both have, and that no rule is about, is the same field: by its name, as `error_code` for `error`, or
without `_ms` where kio has a timedelta. A rule holds in the versions that have its field. What kio has beyond that is
written with its default, or with nothing (0, "", none), and not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from typing import Any, TypeAlias, get_args, get_type_hints
from uuid import UUID

from kio.schema.errors import ErrorCode

from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.wire.names import UNKNOWN_ID
from kafkalab.wire.rules import BadMessageError, Custom, Entry, Is, Keyed, Only, Partitions, Rows, Values
from kafkalab.wire.values import AS_IT_IS, DURATION, EPOCH, ERROR, OR_EMPTY, OR_NULL, Context, Kind

Reader: TypeAlias = Callable[[Any, Values, Context], None]
Writer: TypeAlias = Callable[[Any, Values, Context], None]


class Shape:
    """The correspondence of one kio class and one class of ours, or none."""

    def __init__(self, theirs: type, ours: type | None, rules: tuple[Any, ...], table: dict[type, tuple[Any, ...]]):
        self.theirs, self.ours, self.table = theirs, ours, table
        self.hints = get_type_hints(theirs)
        self.readers: list[Reader] = []
        self.writers: list[Writer] = []
        self.unsaid = {f.name: _unsaid(f) for f in fields(ours) if _is_required(f)} if ours else {}
        self.blank = {f.name: _nothing(self.hints[f.name]) for f in fields(theirs) if _is_required(f)}
        for rule in (*rules, *self._by_name(rules)):
            if rule.theirs in self.hints:
                read, write = _MAKERS[type(rule)](self, rule)
                self.readers.append(read)
                self.writers.append(write)

    def _by_name(self, rules: tuple[Any, ...]) -> list[Is]:
        """The fields that correspond by their names."""
        if self.ours is None:
            return []
        taken = {rule.theirs for rule in rules}
        taken |= {rule.ours for rule in rules if hasattr(rule, "ours") and getattr(rule, "kind", ERROR).reads}
        found, hints = [], get_type_hints(self.ours)
        for name in (f.name for f in fields(self.ours)):
            for theirs in (name, f"{name}_code", name.removesuffix("_ms")):
                if theirs in self.hints and not {theirs, name} & taken:
                    found.append(Is(theirs, name, self._kind(theirs, hints[name])))
                    break
        return found

    def _kind(self, theirs: str, ours: Any) -> Kind:
        if self.hints[theirs] is ErrorCode:
            return ERROR
        if isinstance(self.hints[theirs], type) and issubclass(self.hints[theirs], timedelta):
            return DURATION
        return OR_EMPTY if ours is str else AS_IT_IS

    def row(self, field: str) -> type | None:
        """Return the kio class of the rows of a field, or None where they are plain values."""
        options = get_args(self.hints[field])
        held = [a for option in options for a in (option, *get_args(option)) if hasattr(a, "__version__")]
        return held[0] if held else None

    def inner(self, field: str, ours: type | None, rules: tuple[Any, ...] | None = None) -> Shape:
        """Return the shape of the rows of a field."""
        theirs = self.row(field)
        assert theirs is not None, f"{self.theirs} has no rows in {field}"
        return Shape(theirs, ours, self.table.get(ours, ()) if rules is None and ours else rules or (), self.table)

    def read(self, message: Any, context: Context) -> Values:
        """Return the values of our message's fields; those that this version lacks are missing."""
        values: Values = {}
        for read in self.readers:
            read(message, values, context)
        return values

    def make(self, message: Any, context: Context) -> Any:
        """Return our message."""
        assert self.ours is not None
        return self.ours(**{**self.unsaid, **self.read(message, context)})

    def write(self, ours: Any, context: Context, **more: Any) -> Any:
        """Return kio's message; `more` are fields of it by name."""
        values = self.blank | more
        for write in self.writers:
            write(ours, values, context)
        return self.theirs(**values)


def _is_required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _unsaid(field: Any) -> Any:
    """Return what is read for a field of ours that has no default, where the bytes say nothing of it."""
    kind = str(field.type)
    return -1 if kind == "int" else "" if kind == "str" else {} if kind.startswith("dict") else ()


def _nothing(hint: Any) -> Any:
    """Return what is written into a field that we know nothing of."""
    options = get_args(hint)
    if type(None) in options:
        return None
    if hint is ErrorCode:
        return ErrorCode.none
    kind = hint if isinstance(hint, type) else tuple
    for base, nothing in (
        (timedelta, timedelta(0)), (datetime, EPOCH), (bool, False), (int, 0), (str, ""), (bytes, b""), (UUID, None),
    ):  # fmt: skip
        if issubclass(kind, base):
            return nothing
    return ()


def _is(shape: Shape, rule: Is) -> tuple[Reader, Writer]:
    nullable = type(None) in get_args(shape.hints[rule.theirs])
    theirs, ours = rule.theirs, rule.ours
    convert, back, reads = OR_EMPTY if rule.kind is OR_NULL and not nullable else rule.kind

    def read(message: Any, values: Values, context: Context) -> None:
        if reads:
            values[ours] = convert(getattr(message, theirs), context)

    def write(message: Any, values: Values, context: Context) -> None:
        values[theirs] = back(getattr(message, ours), context)

    return read, write


def _only(shape: Shape, rule: Only) -> tuple[Reader, Writer]:
    theirs = rule.theirs
    if rule.value:

        def read_value(message: Any, values: Values, context: Context) -> None:
            values[rule.value] = getattr(message, theirs)[0]

        def write_value(message: Any, values: Values, context: Context) -> None:
            values[theirs] = (getattr(message, rule.value),)

        return read_value, write_value
    inner = shape.inner(theirs, shape.ours, rule.rules)

    def read(message: Any, values: Values, context: Context) -> None:
        values |= inner.read(getattr(message, theirs)[0], context)

    def write(message: Any, values: Values, context: Context) -> None:
        values[theirs] = (inner.write(message, context),)

    return read, write


def _rows(shape: Shape, rule: Rows) -> tuple[Reader, Writer]:
    theirs, ours, inner = rule.theirs, rule.ours, shape.inner(rule.theirs, rule.type)

    def read(message: Any, values: Values, context: Context) -> None:
        rows = getattr(message, theirs)
        values[ours] = None if rows is None else tuple(inner.make(row, context) for row in rows)

    def write(message: Any, values: Values, context: Context) -> None:
        rows = getattr(message, ours)
        values[theirs] = None if rows is None else tuple(inner.write(row, context) for row in rows)

    return read, write


def _keyed(shape: Shape, rule: Keyed) -> tuple[Reader, Writer]:
    theirs, ours, key = rule.theirs, rule.ours, rule.key
    rules = (*filter(None, (rule.value,)), *rule.also)
    inner = shape.inner(theirs, rule.type, None if rule.type else rules)

    def read(message: Any, values: Values, context: Context) -> None:
        rows = ((getattr(row, key), row) for row in getattr(message, theirs))
        if rule.type:
            values[ours] = {k: inner.make(row, context) for k, row in rows}
        else:
            values[ours] = {k: inner.read(row, context)["value"] for k, row in rows}

    def write(message: Any, values: Values, context: Context) -> None:
        rows = getattr(message, ours).items()
        values[theirs] = tuple(
            inner.write(value if rule.type else Entry(k, value), context, **{key: k}) for k, value in rows
        )

    return read, write


def _partitions(shape: Shape, rule: Partitions) -> tuple[Reader, Writer]:
    topics = shape.inner(rule.theirs, None)
    name = next(field for field in ("name", "topic", "topic_id") if field in topics.hints)
    rows = PartitionRows(topics, rule)

    def read(message: Any, values: Values, context: Context) -> None:
        found = getattr(message, rule.theirs)
        if found is None:
            values[rule.names] = None
            return
        by_id = context.names.topic if name == "topic_id" else None
        named = (
            (f"{by_id(getattr(topic, name)) if by_id else getattr(topic, name)}-{rows.index_in(row)}", row)
            for topic in found
            for row in getattr(topic, rule.rows)
        )
        rows.read(list(named), values, context)

    def write(message: Any, values: Values, context: Context) -> None:
        partitions = getattr(message, rows.source)
        if partitions is None:
            values[rule.theirs] = None
            return
        found: dict[str, list[Any]] = {}
        for partition in partitions:
            found.setdefault(topic_of(partition), []).append(rows.write(message, partition, context))
        blank, theirs = topics.blank, topics.theirs
        values[rule.theirs] = tuple(
            theirs(**{**blank, name: context.names.topic_id(t) if name == "topic_id" else t, rule.rows: tuple(made)})
            for t, made in found.items()
        )

    return read, write


class PartitionRows:
    """The rows of the topics of a `Partitions`: numbers only, or messages."""

    def __init__(self, topics: Shape, rule: Partitions) -> None:
        self.rule, self.index = rule, rule.number
        plain = topics.row(rule.rows) is None
        self.shape = None if plain else topics.inner(rule.rows, rule.type, None if rule.type else ())
        self.source = rule.names or rule.ours or rule.columns[0].ours
        known = self.shape.hints if self.shape else {}
        self.columns = tuple(c for c in rule.columns if c.theirs in known)
        self.error = next((e for e in ("error_code", "partition_error_code") if e in known), "")

    def index_in(self, row: Any) -> int:
        """Return the partition's number; BadMessageError for one below 0, for which names have no place."""
        index: int = row if self.shape is None else getattr(row, self.index)
        if index < 0:
            raise BadMessageError(f"partition {index}")
        return index

    def read(self, named: list[tuple[str, Any]], values: Values, context: Context) -> None:
        """Read the rows into the values of our message."""
        rule = self.rule
        if rule.names:
            values[rule.names] = tuple(partition for partition, _ in named)
        if rule.type and self.shape:
            values[rule.ours] = {partition: self.shape.make(row, context) for partition, row in named}
        for shared in rule.shared:
            if named:
                values[shared.ours] = shared.kind.read(getattr(named[0][1], shared.theirs), context)
        for theirs, ours, kind, absent, _ in self.columns:
            if not kind.reads:
                continue
            column = ((partition, getattr(row, theirs)) for partition, row in named)
            values[ours] = {partition: kind.read(value, context) for partition, value in column if value != absent}

    def write(self, message: Any, partition: str, context: Context) -> Any:
        """Return the row of one partition."""
        rule, index = self.rule, index_of(partition)
        if self.shape is None:
            return index
        if rule.type:
            made = self.shape.write(getattr(message, rule.ours)[partition], context, **{rule.number: index})
        else:
            values = {**self.shape.blank, rule.number: index}
            for shared in rule.shared:
                values[shared.theirs] = shared.kind.write(getattr(message, shared.ours), context)
            for theirs, ours, kind, _, default in self.columns:
                values[theirs] = kind.write(getattr(message, ours).get(partition, default), context)
            made = self.shape.theirs(**values)
        return self._about_an_id(made) if self.error and partition.startswith(UNKNOWN_ID) else made

    def _about_an_id(self, row: Any) -> Any:
        """A topic that was asked for by an id which nobody has is UNKNOWN_TOPIC_ID."""
        if getattr(row, self.error).value == Error.UNKNOWN_TOPIC_OR_PARTITION.code:
            object.__setattr__(row, self.error, ErrorCode.unknown_topic_id)
        return row


def _custom(shape: Shape, rule: Custom) -> tuple[Reader, Writer]:
    def read(message: Any, values: Values, context: Context) -> None:
        rule.read(getattr(message, rule.theirs), values, context)

    def write(message: Any, values: Values, context: Context) -> None:
        values[rule.theirs] = rule.write(message, context, shape)

    return read, write


_MAKERS: dict[type, Callable[[Shape, Any], tuple[Reader, Writer]]] = {
    Is: _is, Only: _only, Rows: _rows, Keyed: _keyed, Partitions: _partitions, Custom: _custom,
}  # fmt: skip
