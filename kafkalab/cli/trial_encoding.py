"""Faults as columns: hundreds may follow a run, and one list for each field compresses far better than rows do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Any

from kafkalab.explore.fault_sequence import FaultSequence, Rank
from kafkalab.faults.registry import TYPES

RANK = len(Rank._fields)


def to_columns(sequences: Iterable[FaultSequence]) -> list[Any]:
    """Return plain data: for each kind of fault and its faults' types, in the order of steps, one list a field."""
    shapes: dict[tuple[str, ...], list[list[Any]]] = {}
    for sequence in sorted(sequences, key=attrgetter("step")):
        shape = (sequence.kind, *(type(fault).__name__ for fault in sequence.faults))
        shapes.setdefault(shape, []).append(_cells(sequence))
    return [[*shape, [list(column) for column in zip(*rows, strict=True)]] for shape, rows in shapes.items()]


def from_columns(columns: list[Any]) -> tuple[FaultSequence, ...]:
    """Return the faults of such data, in the order of trying."""
    return tuple(sorted((sequence for one in columns for sequence in _sequences(*one)), key=attrgetter("rank")))


def _cells(sequence: FaultSequence) -> list[Any]:
    own = [sequence.step, sequence.lasts_ms, sequence.place, *sequence.rank]
    return own + [getattr(fault, field.name) for fault in sequence.faults for field in fields(fault)]


def _sequences(kind: str, *names_and_columns: Any) -> Iterator[FaultSequence]:
    *names, columns = names_and_columns
    types = [(TYPES[name], len(fields(TYPES[name]))) for name in names]
    for step, lasts_ms, place, *rest in zip(*columns, strict=True):
        rank, cells = Rank(*rest[:RANK]), map(_value, rest[RANK:])
        faults = tuple(make(*islice(cells, count)) for make, count in types)
        yield FaultSequence(kind, faults, step, rank, lasts_ms, place)


def _value(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell
