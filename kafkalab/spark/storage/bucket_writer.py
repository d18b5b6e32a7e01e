"""Writing a worker's part of a table: Parquet files, one for each bucket of keys.

Rows go from the worker to the disk, and only what was written is told. Spark's own writer would sort all rows first,
and would start a process for every file.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext

from kafkalab.spark.storage.places import Place, Where, place_of
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.storage.tasks import give_back

WRITTEN = "path string, bytes bigint, rows bigint"
"""The columns that describe a written file; its length was counted while it was written."""
AT_ONCE = 250_000
"""A worker holds so many rows before it writes the largest part of them: row groups are large, memory is not."""

FILES = pa.schema({"path": pa.string(), "bytes": pa.int64(), "rows": pa.int64()})
Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def writer(folder: Place, table: str, bucket: str, buckets: int) -> Work:
    """The function that writes a task's rows below `folder`; it gives the files it made, with paths from there.

    With `buckets` rows lie in folders `bucket`=0, 1, … by the key that brings them together; without, in one file.
    """

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task: Any = TaskContext.get()
        name = f"part-{task.partitionId():05}.parquet"
        with Files(folder / table, name, table) as files:
            for batch in batches:
                for number, rows in parts_by_key(batch, table, buckets):
                    files.add(f"{bucket}={number}" if buckets else "", rows)
        del batches
        give_back()
        written = [{"path": f"{table}/{path}", "bytes": size, "rows": count} for path, size, count in files.done]
        yield pa.RecordBatch.from_pylist(written, FILES)

    return write


def bucket_of(key: str | None, buckets: int) -> int:
    """The bucket of a key: the same on every machine."""
    return zlib.crc32((key or "").encode()) % buckets


def parts_by_key(batch: pa.RecordBatch, table: str, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket, copied: what waits to be written must not keep all the others in memory."""
    rows = pa.Table.from_batches([batch])
    if not buckets or not rows.num_rows:
        yield 0, rows
        return
    key = batch.column("key")
    if table == "operations":
        key = pc.if_else(pc.equal(batch.column("function"), "send"), key, batch.column("client"))
    coded = key.dictionary_encode()
    known = [bucket_of(text, buckets) for text in coded.dictionary.to_pylist()]
    numbers = pc.take(pa.array([*known, bucket_of(None, buckets)], pa.int32()), coded.indices.fill_null(len(known)))
    order = pc.sort_indices(numbers)
    runs = pc.run_end_encode(numbers.take(order))
    begin = 0
    for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield number, rows.take(order.slice(begin, end - begin))
        begin = end


class Files:
    """Files of one name in several folders below `base`, written together; they are there at the end, whole, or not.

    `done` are then their paths below `base`, their bytes and rows. A task that is tried again writes them again.
    """

    def __init__(self, base: Where, name: str, table: str) -> None:
        self.base, self.name, self.schema = place_of(base), name, arrow_schema(table)
        self.whole = ExitStack()
        self.waiting: dict[str, list[pa.Table]] = {}
        self.rows: dict[str, int] = {}
        self.open: dict[str, tuple[pa.NativeFile, pq.ParquetWriter]] = {}
        self.written: dict[str, int] = {}
        self.done: list[tuple[str, int, int]] = []

    def add(self, folder: str, rows: pa.Table) -> None:
        if rows.num_rows:
            self.waiting.setdefault(folder, []).append(rows.cast(self.schema))
            self.rows[folder] = self.rows.get(folder, 0) + rows.num_rows
        while sum(self.rows.values()) > AT_ONCE:
            self._write(max(self.rows, key=lambda one: self.rows[one]))

    def _write(self, folder: str) -> None:
        if folder not in self.open:
            file = self.whole.enter_context((self.base / self._path(folder)).whole())
            table = pq.ParquetWriter(file, self.schema, write_page_checksum=True)
            self.open[folder] = file, self.whole.enter_context(table)
        self.open[folder][1].write_table(pa.concat_tables(self.waiting.pop(folder)))
        self.written[folder] = self.written.get(folder, 0) + self.rows.pop(folder)

    def _path(self, folder: str) -> str:
        return f"{folder}/{self.name}" if folder else self.name

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.whole.__exit__(kind, error, trace)
            return
        with self.whole:
            for folder in list(self.waiting):
                self._write(folder)
            for folder, (file, table) in self.open.items():
                table.close()
                self.done.append((self._path(folder), file.tell(), self.written[folder]))
