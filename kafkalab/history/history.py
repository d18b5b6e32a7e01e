"""A history: tables of what clients did, what logs hold and what was read. Checks and audits see nothing else.

`kafkalab.history.export.history_of(cluster)` makes one of a run; `save` and `load_history` keep it as JSON lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.history.schema import (
    ROWS,
    Column,
    FrameRow,
    HistoryRow,
    Label,
    Leader,
    LogRecord,
    Operation,
    Poll,
    Read,
    TxnEntry,
    Watermark,
    columns_of,
)
from kafkalab.limits import FILE_OF_A_HISTORY, quote
from kafkalab.saved_data import json_lines

FORMAT, VERSION = "kafkalab-history", 3
WITHOUT_HEADERS = 2
"""The version in which operations and records had no headers; it is still read, and declares no inputs."""
WITH_REPLIES = 1
"""The version in which, too, answers were called EndTxnReply and of the kind "reply"; it is still read."""
READ = (WITH_REPLIES, WITHOUT_HEADERS, VERSION)
REPLY = re.compile(r"Reply(?=#|$)")
FRAME_NAMES = ("id", "name", "of", "copy_of")
"""The columns of a frame in which its name, or another frame's, stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The tables. Two histories are equal if all their rows are."""

    operations: tuple[Operation, ...] = ()
    log: tuple[LogRecord, ...] = ()
    reads: tuple[Read, ...] = ()
    polls: tuple[Poll, ...] = ()
    frames: tuple[FrameRow, ...] = ()
    transactions: tuple[TxnEntry, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    leaders: tuple[Leader, ...] = ()
    labels: tuple[Label, ...] = ()

    def table(self, name: str) -> tuple[HistoryRow, ...]:
        """The rows of a table. KeyError, naming those that there are, for an unknown one."""
        if name not in ROWS:
            raise KeyError(f"no table {name!r}; there are {', '.join(ROWS)}")
        rows: tuple[HistoryRow, ...] = getattr(self, name)
        return rows

    def label(self, name: str) -> tuple[str, ...]:
        """The values of the labels of this name, in order."""
        return tuple(found.value for found in self.labels if found.name == name)

    def __repr__(self) -> str:
        return f"History({', '.join(f'{name}: {len(self.table(name))}' for name in ROWS)})"

    def lines(self) -> Iterator[str]:
        """The history as JSON lines: a header with the number of rows of each table, then the rows."""
        dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
        yield dump({"format": FORMAT, "version": VERSION, "rows": {name: len(self.table(name)) for name in ROWS}})
        for name in ROWS:
            for row in self.table(name):
                yield dump({name: row})

    def save(self, path: str | Path) -> None:
        """Write the history as JSON lines; a file that is there is replaced."""
        Path(path).write_bytes("".join(f"{line}\n" for line in self.lines()).encode())


def load_history(path: str | Path) -> History:
    """Read what `History.save` wrote. ValueError, with the file's name and what is wrong, for anything else."""
    lines = json_lines(path, FILE_OF_A_HISTORY)
    header = _object(path, *next(lines, (1, {})))
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is not a history that kafkalab saved: its format is {quote(header.get('format'))}")
    if header.get("version") not in READ:
        reads = f"this kafkalab reads {READ[0]} to {VERSION}"
        raise ValueError(f"{path} is a history of version {quote(header.get('version'))}; {reads}")
    tables: dict[str, list[HistoryRow]] = {name: [] for name in ROWS}
    for number, line in lines:
        item = _object(path, number, line)
        name = next(iter(item), "")
        if len(item) != 1 or name not in ROWS:
            tables_are = f"there are {', '.join(ROWS)}"
            raise ValueError(f"{path}: line {number} holds {quote(name)}, which is no table; {tables_are}")
        row = _row(path, number, name, item[name], header["version"])
        tables[name].append(with_responses(row) if header["version"] == WITH_REPLIES else row)
    _check_counts(path, header.get("rows"), {name: len(rows) for name, rows in tables.items()})
    return History(**{name: tuple(rows) for name, rows in tables.items()})  # type: ignore[arg-type]


def with_responses(row: HistoryRow) -> HistoryRow:
    """Return a row of version WITH_REPLIES with today's names of frames: EndTxnResponse#1 for EndTxnReply#1."""
    if isinstance(row, LogRecord):
        return row._replace(frame=REPLY.sub("Response", row.frame))
    if isinstance(row, FrameRow):
        names: dict[str, Any] = {name: REPLY.sub("Response", getattr(row, name)) for name in FRAME_NAMES}
        return row._replace(kind="response" if row.kind == "reply" else row.kind, **names)
    return row


def _object(path: str | Path, number: int, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ValueError(f"{path}: line {number} is no JSON object; the file is damaged")
    return item


def _row(path: str | Path, number: int, name: str, values: Any, version: int) -> HistoryRow:
    columns = columns_of(name)
    if version <= WITHOUT_HEADERS:
        columns = tuple(column for column in columns if column.name != "headers")
    if not isinstance(values, list) or len(values) != len(columns):
        count = len(values) if isinstance(values, list) else "no"
        raise ValueError(f"{path}: line {number} has {count} values; the table {name} has {len(columns)} columns")
    given: list[Any] = []
    for column, value in zip(columns, values, strict=True):
        if not _fits(column, value):
            raise ValueError(
                f"{path}: line {number}: {name}.{column.name} is {quote(value)}, but its type is {column.type}"
                + (" or null" if column.nullable else "")
            )
        given.append(tuple(value) if isinstance(value, list) else value)
    return ROWS[name](*given)


def _fits(column: Column, value: Any) -> bool:
    if value is None:
        return column.nullable
    if column.type == "list<string>":
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if column.type == "bool" or isinstance(value, bool):
        return column.type == "bool" and isinstance(value, bool)
    if column.type == "string":
        return isinstance(value, str)
    end = 1 << (63 if column.type == "int64" else 31)
    return isinstance(value, int) and -end <= value < end


def _check_counts(path: str | Path, said: Any, found: dict[str, int]) -> None:
    if not isinstance(said, dict):
        raise ValueError(f"{path}: its header does not say how many rows there are; the file is damaged")
    differ = [name for name in ROWS if found[name] != said.get(name)]
    wrong = [f"{found[name]} of {quote(said.get(name))} rows of {name}" for name in differ]
    if wrong:
        raise ValueError(f"{path} holds {', '.join(wrong)}; the file is cut off or was put together from two")
