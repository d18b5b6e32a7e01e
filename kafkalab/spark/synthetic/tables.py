"""A block's tables as Arrow: ordinary rows and those of the windows, in the order of their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from kafkalab.protocol.partitions import transaction_partition
from kafkalab.spark.storage.findings import ARROW
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.block import WINDOW, Block
from kafkalab.spark.synthetic.calls import frames, operations, transactions
from kafkalab.spark.synthetic.names import Ints, few_texts, lists_of, many_texts
from kafkalab.spark.synthetic.rows import (
    Columns,
    frame_number,
    leader_of,
    leaders,
    log,
    polls,
    reads,
    watermarks,
)
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.windows import MOST_ROLES, MOST_VALUES, STARTS, Numbers, Start, Window

MANY = {"value", "frame", "id", "of", "copy_of"}
"""Text columns in which most texts are different."""
TRUTH = pa.schema(
    [ARROW.field("run"), ("inject", pa.string()), *map(ARROW.field, ("anomaly", "policy", "keys", "offsets", "steps"))]
)
MAKERS: dict[str, Callable[[Block], list[Columns]]] = {
    maker.__name__: maker for maker in (operations, log, reads, polls, frames, watermarks, leaders)
}
"""The makers of a block's rows in each table but that of transactions."""


def batch_of(shape: Shape, cell: int, table: str) -> pa.RecordBatch:
    """The rows of one table that a cell has."""
    columns, rows, lists = merge(Block(shape, cell), table)
    step = columns["sent_step" if table == "frames" else "step"]
    derived: Columns = {"at_ms": step >> 3, "sent_ms": step >> 3, "run": shape.seed}
    if table == "frames":
        derived["received_ms"] = columns["received_step"] >> 3
    if table == "transactions":
        derived["start_ms"] = np.where(columns["started"] < 0, -1, columns["started"] >> 3)
    columns |= derived
    schema = arrow_schema(table)
    arrays = []
    for field in schema:
        if field.name == "headers":
            header = np.broadcast_to(columns["headers"], rows)
            there = header != names.NULL
            arrays.append(lists_of(many_texts(header[there]), there, field.type))
        elif pa.types.is_list(field.type):
            flat, counts = (np.concatenate(each) for each in zip(*lists, strict=True))
            arrays.append(lists_of(few_texts(flat), counts, field.type).take(pa.array(columns["partitions"])))
        else:
            arrays.append(_array(field, columns[field.name], rows))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(field: pa.Field, column: Ints | int, rows: int) -> pa.Array:
    if not np.ndim(column):
        value: object = names.text_of(int(column)) if pa.types.is_string(field.type) else int(column)
        return pa.repeat(pa.scalar(bool(column) if pa.types.is_boolean(field.type) else value, field.type), rows)
    assert isinstance(column, np.ndarray)
    if pa.types.is_string(field.type):
        return (many_texts if field.name in MANY else few_texts)(column)
    return pa.array(column.astype(field.type.to_pandas_dtype(), copy=False))


def merge(block: Block, table: str) -> tuple[Columns, int, list[tuple[Ints, Ints]]]:
    """The columns of a table in raw form, by step; how many rows; and the lists that the transaction log refers to."""
    lists: list[tuple[Ints, Ints]] = []
    if table == "transactions":
        parts, flat, sizes = transactions(block)
        lists.append((flat, sizes))
    else:
        parts = MAKERS[table](block)
    places = _places(block) if block.windows else None
    for window, mine in _by_window(block):
        assert places is not None
        if table in window.tables:
            parts.append({name: numbers.at(places[mine]) for name, numbers in window.tables[table].items()})
            if table == "operations":
                _point_at_invokes(parts, len(mine))
            if table == "transactions":
                sizes = np.tile(window.partitions[0], len(mine))
                parts[-1]["partitions"] = sum(len(counts) for _, counts in lists) + np.arange(len(sizes))
                lists.append((window.partitions[1].at(places[mine]), sizes))
    columns, rows = _together(parts, "sent_step" if table == "frames" else "step")
    step = columns["sent_step" if table == "frames" else "step"]
    order = np.argsort(np.broadcast_to(step, rows), kind="stable")
    sorted_columns = {n: c[order] if isinstance(c, np.ndarray) and np.ndim(c) else c for n, c in columns.items()}
    if table == "operations":
        _number_operations(block, sorted_columns, order)
    return sorted_columns, rows, lists


def _length(part: Columns, step: str) -> int:
    """Rows of a part; a column may be one number for all."""
    return max([np.size(column) for name, column in part.items() if np.ndim(column)], default=np.size(part[step]))


def _together(parts: list[Columns], step: str) -> tuple[Columns, int]:
    """All parts below each other; what is one number in all of them stays one."""
    sizes = [_length(part, step) for part in parts]
    columns: Columns = {}
    for name, first in parts[0].items():
        given = [part[name] for part in parts]
        if all(not np.ndim(one) and one == first for one in given):
            columns[name] = first
        else:
            columns[name] = np.concatenate(
                [one if np.ndim(one) else np.full(n, one) for one, n in zip(given, sizes, strict=True)]
            )
    return columns, sum(sizes)


def _point_at_invokes(parts: list[Columns], count: int) -> None:
    """The newest part's invocations, numbered from its own first row, as places among the rows of all parts."""
    here = sum(_length(part, "step") for part in parts[:-1])
    invocation = np.asarray(parts[-1]["invocation"])
    rows = len(invocation) // count
    starts = here + np.repeat(np.arange(count) * rows, rows)
    parts[-1]["invocation"] = np.where(invocation >= 0, invocation + starts, -1)


def _number_operations(block: Block, columns: Columns, order: Ints) -> None:
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = block.cell * block.shape.steps
    columns["index"] = first + np.arange(len(order))
    invocation = columns["invocation"]
    assert isinstance(invocation, np.ndarray)
    columns["invocation"] = np.where(invocation >= 0, first + rank[invocation], -1)


def _by_window(block: Block) -> Iterator[tuple[Window, Ints]]:
    """Each window that the block has, with the places where it is injected."""
    found: dict[int, tuple[Window, list[int]]] = {}
    for place, (_, _, window) in enumerate(block.windows):
        found.setdefault(id(window), (window, []))[1].append(place)
    for window, places in found.values():
        yield window, np.array(places)


def _places(block: Block) -> Ints:
    """Return the starts of each window of the block: one row for each, one column for each `Start`."""
    shape, count = block.shape, len(block.windows)
    numbers = np.array([shape.window_number(block.cell, i) for i in range(count)])
    places = np.zeros((count, STARTS), np.int64)
    places[:, Start.STEP] = block.first_of(WINDOW)
    places[:, Start.KEY_A : Start.KEY_B + 1] = (names.OUT + block.keys.start + block.window_keys).T
    places[:, Start.OFFSET_A : Start.OFFSET_B + 1] = block.window_offset.T
    places[:, Start.NODE_A : Start.NODE_B + 1] = leader_of(block, block.keys.start + block.window_keys).T
    places[:, Start.FRAME] = frame_number(block.first_of(WINDOW))
    places[:, Start.LEADER_EPOCH] = block.leader_epoch
    places[:, Start.NUMBER] = numbers
    taken = block.rows * len(block.keys) + shape.inputs
    places[:, Start.VALUE] = block.cell * shape.values + taken + np.arange(count) * MOST_VALUES
    places[:, Start.LANE] = block.lane
    for role in range(MOST_ROLES):
        homes = [transaction_partition(f"t{n + role}").rpartition("-")[2] for n in numbers]
        places[:, Start.TXN_LOG + role] = [names.TXN_LOG + int(home) for home in homes]
    return places


def truth_of(shape: Shape, cell: int) -> pa.RecordBatch:
    """The findings that a cell's windows lead to."""
    block = Block(shape, cell)
    places = _places(block) if block.windows else np.zeros((0, STARTS), np.int64)
    rows = [
        {
            "run": shape.seed,
            "inject": injected,
            "anomaly": truth.anomaly,
            "policy": truth.policy,
            "keys": [names.text_of(name) for name in _at(truth.keys, place)],
            "offsets": _at(truth.offsets, place),
            "steps": _at(truth.steps, place),
        }
        for (injected, _, window), place in zip(block.windows, places, strict=True)
        for truth in window.truths
    ]
    return pa.RecordBatch.from_pylist(rows, TRUTH)


def _at(numbers: Numbers, place: Ints) -> list[int]:
    found: list[int] = numbers.at(place[None, :]).tolist()
    return found
