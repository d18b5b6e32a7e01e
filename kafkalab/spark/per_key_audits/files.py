"""The files of one bucket as Arrow tables: each is read when it is asked for, and only the columns that audits need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.spark.storage.places import Place, each, place_of

POLLS = ("poll-skip", "int-poll-skip", "nonmonotonic-poll", "int-nonmonotonic-poll")
SENDS = ("nonmonotonic-send", "int-nonmonotonic-send")

_OF_AN_OUTPUT = ("invocation", "key", "value", "headers")
_OF_A_READ = ("consumer", "process", "isolation_level", "poll", "index", "offset", "value", "step", "at_ms")
_OF_A_RECORD = ("producer_id", "producer_epoch", "sequence", "transactional", "control", "at_ms", "removed")
_OF_A_SEND = ("producer_id", "producer_epoch", "sequence", "transactional_id", "transaction", "offset", "value", "step")
COLUMNS: dict[str, tuple[str, ...]] = {
    "operations": ("run", "key", "index", "invocation", "client", "type", "function", *_OF_A_SEND),
    "log": ("run", "key", "offset", "record_key", "value", "step", "frame", "removed_step", "headers", *_OF_A_RECORD),
    "reads": ("run", "key", *_OF_A_READ),
    "polls": ("run", "key", "consumer", "process", "group", "poll", "start", "end", "moved", "step"),
    "calls": ("run", "client", "process", "transaction", "index", "type", "function", "step", "at_ms", *_OF_AN_OUTPUT),
    "watermarks": ("run", "key", "node", "leads", "leader_epoch", "last_stable_offset", "step"),
}
ONLY_FOR: dict[str, dict[str, tuple[str, ...]]] = {
    "log": {"record_key": ("int-send-skip",), "removed_step": ("lost-write",), "frame": (), "headers": ()},
    "polls": {"process": (), "group": ()},
    "reads": {
        "process": (),
        "at_ms": (),
        "poll": (*POLLS, "lost-write"),
        "index": (*POLLS, "lost-write", "inconsistent-offsets"),
    },
}
"""Columns that no other audit looks at; the tables that the pass leaves need them all."""
FEW_TEXTS = {
    *("key", "client", "consumer", "process", "node", "type", "function", "transactional_id"),
    *("control", "removed", "isolation_level", "moved"),
}
"""Columns in which few texts come again and again: read as numbers of texts, they take a quarter of the memory."""


def columns_for(names: Iterable[str], whole: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table that these audits read; all columns with `whole`."""
    wanted = set(names)
    return {
        table: tuple(
            column for column in columns if whole or wanted.intersection(ONLY_FOR.get(table, {}).get(column, wanted))
        )
        for table, columns in COLUMNS.items()
    }


class Tables(Mapping[str, pa.Table]):
    """One bucket's tables, given the paths of their files and the columns to read; of operations only the sends."""

    def __init__(self, paths: Mapping[str, list[str]], columns: Mapping[str, tuple[str, ...]]) -> None:
        self.paths, self.columns = paths, columns
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, table: str) -> pa.Table:
        if table not in self._read:
            self._read[table] = read(table, self.paths[table], self.columns[table])
        return self._read[table]

    def free(self, *tables: str) -> None:
        """Free tables that are not needed any more; who asks for one reads it again."""
        for table in tables:
            self._read.pop(table, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def read(table: str, paths: list[str], columns: tuple[str, ...]) -> pa.Table:
    """These columns of all these files, one after the other."""
    from kafkalab.spark.storage.schemas import arrow_schema

    if not paths:
        whole = arrow_schema("operations" if table == "calls" else table)
        return pa.schema([whole.field(name) for name in columns]).empty_table()
    places = [place_of(path) for path in paths]
    parts = each(lambda place: _part(table, place, columns), places, places[0])
    return pa.concat_tables(parts).unify_dictionaries()


def _part(table: str, place: Place, columns: tuple[str, ...]) -> pa.Table:
    import pyarrow.parquet as pq

    few = [name for name in columns if name in FEW_TEXTS]
    elsewhere = place.local is None  # there a request for many columns at once is worth the memory
    file = pq.ParquetFile(place.open(), read_dictionary=few, pre_buffer=elsewhere, page_checksum_verification=True)
    part = file.read(columns=list(columns), use_threads=False)
    return part.filter(pc.equal(part.column("function"), "send")) if table == "operations" else part
