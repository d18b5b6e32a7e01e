"""Rows on their way to files: each in its bucket's, none lost when many wait, nothing half written when it fails."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkalab.spark.storage import bucket_writer as written
from kafkalab.spark.storage.bucket_writer import Files, bucket_of, parts_by_key
from kafkalab.spark.storage.schemas import arrow_schema


def leaders(steps: range, keys: int = 5) -> pa.RecordBatch:
    rows = [{"run": 1, "step": step, "key": f"in-{step % keys}"} for step in steps]
    schema = arrow_schema("leaders")
    plain = {pa.string(): "b1", pa.bool_(): False}
    return pa.RecordBatch.from_pylist(
        [{name: row.get(name, plain.get(schema.field(name).type, 0)) for name in schema.names} for row in rows], schema
    )


def test_a_key_is_in_the_same_bucket_everywhere() -> None:
    assert bucket_of("123456789", 1 << 32) == 0xCBF43926, "the check value of CRC-32"
    assert (bucket_of("", 16), bucket_of(None, 16)) == (0, 0)


@pytest.mark.parametrize("buckets", [1, 3, 16])
def test_parts_have_all_rows_of_their_keys_in_their_order(buckets: int) -> None:
    batch = leaders(range(100))
    parts = dict(parts_by_key(batch, "leaders", buckets))
    for number, rows in parts.items():
        wanted = [row for row in batch.to_pylist() if bucket_of(row["key"], buckets) == number]
        assert rows.to_pylist() == wanted
    assert sum(rows.num_rows for rows in parts.values()) == 100


def test_a_send_lies_with_its_key_and_what_else_clients_do_with_the_client() -> None:
    schema = arrow_schema("operations")
    row: dict[str, object] = {name: None if schema.field(name).nullable else 0 for name in schema.names}
    row |= {name: "" for name in schema.names if schema.field(name).type == pa.string()}
    row |= {name: [] for name in schema.names if pa.types.is_list(schema.field(name).type)}
    rows = [row | {"function": f, "key": "in-0", "client": "p1"} for f in ("send", "commit")]
    parts = dict(parts_by_key(pa.RecordBatch.from_pylist(rows, schema), "operations", 64))
    assert {number: rows.column("function").to_pylist() for number, rows in parts.items()} == {
        bucket_of("in-0", 64): ["send"],
        bucket_of("p1", 64): ["commit"],
    }


def test_what_waits_is_written_when_there_is_much_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "AT_ONCE", 20)
    with Files(tmp_path, "part-0.parquet", "leaders") as files:
        for first in range(0, 100, 10):
            batch = leaders(range(first, first + 10))
            files.add("a" if first % 30 else "b", pa.Table.from_batches([batch]))
            assert sum(files.rows.values()) <= 20
    assert sorted((path, rows) for path, _, rows in files.done) == [("a/part-0.parquet", 60), ("b/part-0.parquet", 40)]
    paths = sorted(tmp_path / path for path, _, _ in files.done)
    steps = [pq.ParquetFile(path).read(["step"]).column("step").to_pylist() for path in paths]
    assert steps == [[s for s in range(100) if s // 10 % 3], [s for s in range(100) if not s // 10 % 3]]
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["part-0.parquet", "part-0.parquet"]


def test_a_task_that_fails_leaves_nothing_that_looks_like_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "AT_ONCE", 20)
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(tmp_path)
    assert not list(tmp_path.iterdir())


def fail_in_the_middle(folder: Path) -> None:
    with Files(folder, "part-0.parquet", "leaders") as files:
        files.add("", pa.Table.from_batches([leaders(range(50))]))
        assert list(folder.iterdir()), "something was begun"
        raise ZeroDivisionError
