"""A history written chunk by chunk, by one process, as a capture reads it: the files of `history_files`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalab.spark.storage.bucket_writer import Files, parts_by_key
from kafkalab.spark.storage.history_files import BUCKET, BY_KEY
from kafkalab.spark.storage.history_files import write_index as write_index
from kafkalab.spark.storage.schemas import TABLES, arrow_schema

PART = "part-{:05}.parquet"


def write_chunk(folder: Path, number: int, tables: dict[str, dict[str, list[object]]], buckets: int) -> None:
    """Write the rows of a chunk; each table has its columns by name, all but `run`. A chunk may be written again."""
    for table, columns in tables.items():
        count = len(next(iter(columns.values())))
        if count:
            schema = arrow_schema(table)
            arrays = [pa.array([0] * count if f.name == "run" else columns[f.name], f.type) for f in schema]
            _write(folder, number, table, pa.RecordBatch.from_arrays(arrays, schema=schema), buckets)


def remove_after(folder: Path, number: int) -> None:
    """Remove the files of chunks from `number` on, which a capture that was stopped has left."""
    for table in TABLES:
        for found in (folder / table).rglob("*part-*"):
            if found.name.startswith("_") or number_of(found) >= number:
                found.unlink()


def number_of(file: Path) -> int:
    """Return the number of the chunk that a file is of."""
    return int(file.name.removeprefix("part-").partition(".")[0])


def files_of_chunk(folder: Path, number: int, table: str, buckets: int) -> Iterator[Path]:
    """Yield the files that a chunk has of a table."""
    for bucket in (f"{BUCKET}={n}" for n in range(buckets)) if table in BY_KEY else ("",):
        file = folder / table / bucket / PART.format(number)
        if file.is_file():
            yield file


def rows_of(folder: Path, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of all rows that chunks have written of a table, in their order."""
    for found in sorted((folder / table).rglob("part-*.parquet")):
        for batch in pq.ParquetFile(found).iter_batches(columns=columns):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _write(folder: Path, number: int, table: str, batch: pa.RecordBatch, buckets: int) -> None:
    with Files(folder / table, PART.format(number), table) as files:
        for bucket, rows in parts_by_key(batch, table, buckets if table in BY_KEY else 0):
            files.add(f"{BUCKET}={bucket}" if table in BY_KEY else "", rows)
