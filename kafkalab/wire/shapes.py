"""Between Kafka's messages and kafkalab's, one class for all versions: rules, and what follows from the names of the
fields.

A field that both have, and that no rule is about, is the same field: by its name, as `error_code` for `error`, or
without `_ms`. A rule holds in the versions that have its field. What Kafka has beyond that is written with its default,
and not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from operator import attrgetter
from typing import Any, TypeAlias, get_args, get_type_hints

from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import index_of
from kafkalab.wire.definitions import Field
from kafkalab.wire.names import UNKNOWN_ID, UNKNOWN_TOPIC_ID
from kafkalab.wire.primitives import BadMessageError, Codec, Sink, Source
from kafkalab.wire.rules import Custom, Entry, Is, Keyed, Only, Partitions, Rows
from kafkalab.wire.structs import Part, Values, codec_of_struct
from kafkalab.wire.table import TABLE
from kafkalab.wire.values import AS_IT_IS, ERROR, OR_EMPTY, OR_NULL, by_topic

Parts: TypeAlias = dict[str, Part]
Rules: TypeAlias = tuple[Any, ...] | None
INDEX, EACH = " index", " each"
"""Keys of values that are no field's: the number of a partition, and the values of each of several messages."""


class Shape:
    """The correspondence of the fields of one structure of Kafka's and one class of ours, or of what `inside` names in
    what is written, such as "value."."""

    def __init__(self, found: tuple[Field, ...], flexible: bool, ours: type, rules: Rules = None, inside: str = ""):
        self.ours, self.flexible, self.inside = ours, flexible, inside
        self.theirs = {field.name: field for field in found}
        self.hints = get_type_hints(ours)
        given = TABLE.get(ours.__name__, ()) if rules is None else rules
        every = [rule for rule in (*given, *self._by_name(given)) if rule.theirs in self.theirs]
        self.parts: Parts = {rule.theirs: _MAKERS[type(rule)](self, rule) for rule in every}
        required = [one for one in fields(ours) if _is_required(one)] if is_dataclass(ours) else []
        self.unsaid = {one.name: _unsaid(one) for one in required}

    def _by_name(self, rules: tuple[Any, ...]) -> list[Any]:
        """The fields that correspond by their names."""
        taken = {rule.theirs for rule in rules}
        taken |= {rule.ours for rule in rules if hasattr(rule, "ours") and getattr(rule, "kind", ERROR).reads}
        found: list[Any] = []
        for name, hint in self.hints.items():
            for theirs in (name, f"{name}_code", name.removesuffix("_ms")):
                if theirs in self.theirs and not {theirs, name} & taken:
                    kind = ERROR if hint is Error else OR_EMPTY if hint is str else AS_IT_IS
                    found.append(Rows(theirs, name) if self.theirs[theirs].fields else Is(theirs, name, kind))
                    break
        return found

    def find_message_class(self, name: str) -> Any:
        """Return the class of the messages that a field of ours holds, None where it holds no messages."""
        return next((one for one in _parts_of(self.hints.get(name)) if is_dataclass(one)), None)

    def codec(self, absent: Values | None = None) -> Codec:
        """Return what reads values of our fields, which begin as `absent`, and writes a message of ours."""
        return codec_of_struct(tuple(self.theirs.values()), self.flexible, self.parts, absent or {})

    def messages(self) -> Codec:
        """Return the codec of messages of our class."""
        read, write, _ = self.codec(self.unsaid)
        return Codec(lambda source: self.ours(**read(source)), write)

    def inner(self, theirs: str, ours: type, rules: Rules = None, inside: str = "") -> Shape:
        """Return the shape of the rows of a field."""
        return Shape(self.theirs[theirs].fields, self.flexible, ours, rules, inside)

    def source(self, name: str) -> Callable[[Any], Any]:
        """Return what gets a field of ours."""
        return attrgetter(self.inside + name)


def _parts_of(hint: Any) -> list[Any]:
    """Return a type, and the types inside it."""
    return [hint, *(part for inside in get_args(hint) for part in _parts_of(inside))]


def _is_required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _unsaid(field: Any) -> Any:
    """Return what is read for a field of ours that has no default, where the bytes say nothing of it."""
    kind = str(field.type)
    return -1 if kind == "int" else "" if kind == "str" else {} if kind.startswith("dict") else ()


def _is(shape: Shape, rule: Is) -> Part:
    _, ours, kind, _, default = rule
    if kind is OR_NULL and not shape.theirs[rule.theirs].nullable:
        kind = OR_EMPTY
    convert, back, reads = kind
    if ours not in shape.hints:
        return Part(put=lambda value, _, source: source.aside.update({ours: value}), get=lambda message, sink: default)
    source = shape.source(ours)
    if back:
        return Part(ours if reads else "", convert, get=lambda message, sink: back(source(message), sink))
    return Part(ours, convert, get=lambda message, sink: source(message))


def _only(shape: Shape, rule: Only) -> Part:
    value = rule.value
    if value:
        each = lambda found, source: [{value: one} for one in found]  # noqa: E731
        return Part(EACH, each, get=lambda message, sink: [getattr(message, value)])
    read, write_row, _ = shape.inner(rule.theirs, shape.ours, rule.rules).codec()

    def write(sink: Sink, pair: tuple[Any, Any]) -> None:
        sink.asked, answer = pair
        write_row(sink, answer)

    return Part(EACH, get=lambda message, sink: sink.answers or ((sink.asked, message),), row=Codec(read, write))


def _rows(shape: Shape, rule: Rows) -> Part:
    source = shape.source(rule.ours)
    row = shape.inner(rule.theirs, shape.find_message_class(rule.ours), rule.rules).messages()
    return Part(rule.ours, get=lambda message, sink: source(message), row=row)


def _make_keyed(shape: Shape, rule: Keyed) -> Part:
    ours, kind = rule.ours, shape.find_message_class(rule.ours)
    if kind:
        inner = shape.inner(rule.theirs, kind, None, "value.")
        made: Callable[[Values], Any] = lambda values: kind(**values)  # noqa: E731
    else:
        inner = shape.inner(rule.theirs, Entry, (rule.value, *rule.also))
        made = lambda values: values["value"]  # noqa: E731
    inner.parts[rule.key] = Part(INDEX, get=lambda entry, sink: entry.key)
    return Part(
        ours,
        lambda rows, source: {row.pop(INDEX): made(row) for row in rows},
        get=lambda message, sink: [Entry(*one) for one in getattr(message, ours).items()],
        row=inner.codec(inner.unsaid),
    )


def _partitions(shape: Shape, rule: Partitions) -> Part:
    topics = shape.theirs[rule.theirs].fields
    rows = next(field for field in topics if field.array)
    name = next(field.name for field in topics if field.kind in ("string", "uuid"))
    by_id, plain, kind = topics[0].kind == "uuid", not rows.fields, shape.find_message_class(rule.ours)
    columns = [column for column in rule.columns if column.theirs in {field.name for field in rows.fields}]
    source_of = rule.ours or rule.columns[0].ours

    def gather(named: list[tuple[str, Any]], aside: Values) -> Values:
        """Return our fields of the rows of some partitions."""
        values: Values = {}
        if rule.ours:
            values[rule.ours] = {p: kind(**row) for p, row in named} if kind else tuple([p for p, _ in named])
        for _, ours, _, absent, _ in columns:
            column = {partition: row[ours] for partition, row in named}
            into = values if ours in shape.hints else aside
            into[ours] = column if absent is NotImplemented else {p: v for p, v in column.items() if v != absent}
        return values

    def put(found: Any, values: Values, source: Source) -> None:
        if found is None:
            values[rule.ours] = None
            return
        named: list[tuple[str, Any]] = []
        for topic in found:
            prefix = source.names.topic(topic["topic"]) if by_id else topic["topic"]
            for row in topic["rows"]:
                index = row if plain else row.pop(INDEX)
                if index < 0:
                    raise BadMessageError(f"partition {index}")
                named.append((f"{prefix}-{index}", row))
        if not rule.each:
            values.update(gather(named, source.aside))
            return
        groups: dict[Any, list[tuple[str, Any]]] = {}
        first: dict[str, Any] = {}  # of a partition that is named twice both rows go to one message, which shows it
        for partition, row in named:
            groups.setdefault(first.setdefault(partition, row[rule.each]), []).append((partition, row))
        values[EACH] = [{rule.each: one, **gather(rows, source.aside)} for one, rows in groups.items()] or [{}]

    def get(message: Any, sink: Sink) -> Any:
        partitions = getattr(message, source_of)
        if partitions is None:
            return None
        held = partitions if kind else {}

        def row(partition: str) -> Any:
            return index_of(partition) if plain else Entry(partition, held.get(partition), message)

        return by_topic(partitions, "topic", "rows", row)

    topic = {
        name: Part("topic", get=lambda row, sink: sink.names.topic_id(row["topic"]) if by_id else row["topic"]),
        rows.name: Part(
            "rows",
            get=lambda row, sink: row["rows"],
            row=None if plain else _row_of_partition(rule, columns, kind, rows.fields, shape.flexible),
        ),
    }
    return Part(put=put, get=get, row=codec_of_struct(topics, shape.flexible, topic, {}))


def _row_of_partition(
    rule: Partitions, columns: list[Is], kind: Any, found: tuple[Field, ...], flexible: bool
) -> Codec:
    """Return the codec of the row of one partition, of which entries are written."""
    shape = Shape(found, flexible, kind, None, "value.") if kind else Shape(found, flexible, Entry, ())
    shape.parts |= {column.theirs: _column(column) for column in columns}
    number = next(name for name in ("partition_index", "partition", "index") if name in shape.theirs)
    shape.parts[number] = Part(INDEX, get=lambda entry, sink: index_of(entry.key))
    if rule.each:
        shape.parts[rule.each] = Part(rule.each, get=lambda entry, sink: getattr(entry.message, rule.each))
    for error in ("error_code", "partition_error_code"):
        if (part := shape.parts.get(error)) and part.get:
            shape.parts[error] = part._replace(get=_error_of_partition(part.get))
    return shape.codec(shape.unsaid)


def _column(rule: Is) -> Part:
    _, ours, (convert, back, _), _, default = rule
    nothing: Values = {}

    def get(entry: Entry, sink: Sink) -> Any:
        value = getattr(entry.message, ours, nothing).get(entry.key, default)
        return back(value, sink) if back else value

    return Part(ours, convert, get=get)


def _error_of_partition(get: Callable[[Any, Sink], Any]) -> Callable[[Any, Sink], Any]:
    """A topic that was asked for by an id which nobody has is UNKNOWN_TOPIC_ID."""

    def code(entry: Entry, sink: Sink) -> Any:
        found = get(entry, sink)
        unknown = found == Error.UNKNOWN_TOPIC_OR_PARTITION.code and entry.key.startswith(UNKNOWN_ID)
        return UNKNOWN_TOPIC_ID if unknown else found

    return code


def _custom(shape: Shape, rule: Custom) -> Part:
    return Part(put=rule.read, get=rule.write)


_MAKERS: dict[type, Callable[[Shape, Any], Part]] = {
    Is: _is, Only: _only, Rows: _rows, Keyed: _make_keyed, Partitions: _partitions, Custom: _custom,
}  # fmt: skip
