"""The file of a history: its bytes, what each type of column takes, and what a damaged file is told, word for word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalab.history.history import History, load_history
from kafkalab.history.schema import Column, Label, LogRecord, Operation, Read, Watermark, columns_in

TABLES = "operations, log, reads, polls, frames, transactions, watermarks, leaders, labels"
SMALL = History(
    operations=(Operation(index=0, headers=("a=ü",)),),
    log=(LogRecord(key="out-0", frame="OwnReply#1"),),  # a name that only files of version 1 have renamed
    reads=(Read(consumer="c", value=None),),
    watermarks=(Watermark(key="out-0", leads=True),),
    labels=(Label("title", "Größe"), Label("profile", "4.x/TV2")),
)


def test_the_columns_of_a_class_are_its_fields_with_their_annotations() -> None:
    assert columns_in(Label) == (
        Column("name", "string", False, "what kind"),
        Column("value", "string", False, "the value"),
    )
    read = {column.name: column for column in columns_in(Read)}
    assert read["value"] == Column("value", "string", True, "the record's value")
    assert read["offset"] == Column("offset", "int64", False, "the record's offset")


def test_a_history_says_how_many_rows_each_table_has() -> None:
    assert repr(SMALL) == (
        "History(operations: 1, log: 1, reads: 1, polls: 0, frames: 0, transactions: 0, watermarks: 1, leaders: 0, "
        "labels: 2)"
    )


def test_a_file_is_utf_8_with_a_header_and_one_row_a_line(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "h.jsonl")
    text = (tmp_path / "h.jsonl").read_bytes().decode("utf-8")
    lines = text.split("\n")
    assert json.loads(lines[0])["rows"]["labels"] == 2
    assert lines[-3:] == ['{"labels":["title","Größe"]}', '{"labels":["profile","4.x/TV2"]}', ""]
    assert load_history(tmp_path / "h.jsonl") == SMALL


def with_value(path: Path, table: str, column: str, value: Any) -> Path:
    """Save SMALL with another value in the first row of a table."""
    lines = list(SMALL.lines())
    number = next(i for i, line in enumerate(lines) if line.startswith(f'{{"{table}":'))
    (row,) = json.loads(lines[number]).values()
    row[[c.name for c in columns_in(type(SMALL.table(table)[0]))].index(column)] = value
    lines[number] = json.dumps({table: row})
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("log", "offset", 2**63 - 1),
        ("log", "offset", -(2**63)),
        ("log", "producer_epoch", 2**31 - 1),
        ("log", "producer_epoch", -(2**31)),
        ("watermarks", "leads", False),
        ("operations", "headers", ["a=b", "c=d"]),
        ("operations", "headers", []),
        ("reads", "value", None),
        ("reads", "value", "x"),
    ],
)
def test_a_value_of_the_columns_type_is_read(tmp_path: Path, table: str, column: str, value: Any) -> None:
    found = load_history(with_value(tmp_path / "h.jsonl", table, column, value)).table(table)[0]
    assert getattr(found, column) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("table", "column", "value", "type_"),
    [
        ("log", "offset", 2**63, "int64"),
        ("log", "offset", -(2**63) - 1, "int64"),
        ("log", "producer_epoch", 2**31, "int32"),
        ("log", "producer_epoch", -(2**31) - 1, "int32"),
        ("log", "offset", True, "int64"),
        ("log", "offset", 1.5, "int64"),
        ("log", "offset", "7", "int64"),
        ("log", "offset", None, "int64"),
        ("log", "node", 7, "string"),
        ("log", "node", True, "string"),
        ("watermarks", "leads", 1, "bool"),
        ("watermarks", "leads", "true", "bool"),
        ("operations", "headers", "ab", "list<string>"),
        ("operations", "headers", [1], "list<string>"),
        ("reads", "value", 7, "string or null"),
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path: Path, table: str, column: str, value: Any, type_: str) -> None:
    path = with_value(tmp_path / "h.jsonl", table, column, value)
    with pytest.raises(ValueError, match=table) as raised:
        load_history(path)
    number = path.read_text().split(f'"{table}": ')[0].count("\n") + 1
    assert str(raised.value) == f"{path}: line {number}: {table}.{column} is {value!r}, but its type is {type_}"


def change(what: str) -> bytes:
    lines = list(SMALL.lines())
    if what == "half a line":
        lines[1] = '{"operations":'
    elif what == "a list":
        lines[1] = "[]"
    elif what == "an empty object":
        lines[1] = "{}"
    elif what == "a number for a row":
        lines[-1] = '{"labels":7}'
    elif what == "two tables in a line":
        lines[-1] = '{"labels":["a","b"],"polls":[]}'
    elif what == "no counts":
        lines[0] = '{"format":"kafkalab-history","version":3}'
    elif what == "rows missing":
        del lines[-2:], lines[1]
    elif what == "a list for a header":
        lines[0] = "[]"
    data = "".join(f"{line}\n" for line in lines).encode()
    return data.replace("ü".encode(), b"\xff", 1) if what == "no UTF-8" else data


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("half a line", ": line 2 is not JSON (Expecting value); the file is damaged or cut off"),
        ("no UTF-8", ": line 2 is not JSON (no UTF-8); the file is damaged or cut off"),
        ("a list", ": line 2 is no JSON object; the file is damaged"),
        ("a list for a header", ": line 1 is no JSON object; the file is damaged"),
        ("a number for a row", ": line 7 has no values; the table labels has 2 columns"),
        (
            "two tables in a line",
            f": line 7 holds 'labels', which is no table; there are {TABLES}",
        ),
        ("an empty object", f": line 2 holds '', which is no table; there are {TABLES}"),
        ("no counts", ": its header does not say how many rows there are; the file is damaged"),
        (
            "rows missing",
            " holds 0 of 1 rows of operations, 0 of 2 rows of labels; the file is cut off or was put together from two",
        ),
    ],
)
def test_a_damaged_file_is_told_where_and_what_is_wrong(tmp_path: Path, what: str, message: str) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(change(what))
    with pytest.raises(ValueError, match=r"h\.jsonl") as raised:
        load_history(path)
    assert str(raised.value) == f"{path}{message}"


def test_an_unknown_table_is_told_which_there_are() -> None:
    with pytest.raises(KeyError) as raised:
        SMALL.table("colours")
    assert raised.value.args == (f"no table 'colours'; there are {TABLES}",)
