"""Rows of histories out of Arrow tables, as pure Python knows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.history.history import History
from kafkalab.history.schema import ROWS, HistoryRow, columns_of

ORDER = {
    "operations": ("index",),
    "log": ("step", "key", "offset"),
    "reads": ("step", "consumer", "poll", "index"),
    "polls": ("step", "consumer", "poll", "key"),
    "frames": ("sent_step", "id"),
    "transactions": ("step", "key", "offset"),
    "watermarks": ("step", "key", "node"),
    "leaders": ("step", "key"),
    "labels": (),
}
"""The sort keys that order the rows of a table as a run would have written them."""


def histories_from(tables: Mapping[str, pa.Table]) -> Iterator[tuple[int, History]]:
    """Yield number and history of every run in these tables, in the order of the numbers."""
    runs = sorted({run for table in tables.values() for run in table.column("run").unique().to_pylist()})
    for run in runs:
        mine = {name: table.filter(pc.equal(table.column("run"), run)) for name, table in tables.items()}
        yield run, history_from(mine)


def history_from(tables: Mapping[str, pa.Table]) -> History:
    """Return the history of one run. `tables` holds its rows by table, in any order; other columns are ignored.

    ValueError for nulls in a column that is declared to be without.
    """
    made: dict[str, tuple[HistoryRow, ...]] = {}
    for name, table in tables.items():
        order = [(column, "ascending") for column in ORDER[name] if column in table.column_names]
        made[name] = tuple(rows_of_table(name, table.sort_by(order) if order else table))
    return History(**made)  # type: ignore[arg-type]


def rows_of_table(name: str, table: pa.Table) -> list[Any]:
    """Return the rows of a table of this name, in their order; columns that it has not are as if nothing was known."""
    nothing = ROWS[name]._field_defaults
    columns = []
    for column in columns_of(name):
        if column.name not in table.column_names:
            columns.append([nothing[column.name]] * table.num_rows)
            continue
        if table.column(column.name).null_count and not column.nullable:
            raise ValueError(f"the table {name} has nulls in the column {column.name}, which may have none")
        columns.append(_values(table.column(column.name)))
    return list(map(partial(tuple.__new__, ROWS[name]), zip(*columns, strict=True)))


def _values(column: pa.ChunkedArray) -> list[object]:
    """The column as Python objects, by way of numpy, which is several times faster than `to_pylist`."""
    if pa.types.is_list(column.type):
        return [tuple(cell) for cell in column.to_pylist()]
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values
