"""The files of the pass for audits of more than one key: View.records and View.seen, a file of each for each split.

These are Arrow's own files: what is read once is written in a fifth, and read in a tenth, of the time of Parquet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.view import ABORTED, COMMITTED, OPEN, PLAIN
from kafkalab.spark.per_key_audits.arrays import Flags, Log, Longs
from kafkalab.spark.per_key_audits.log import Reads
from kafkalab.spark.per_key_audits.sends import Owners
from kafkalab.spark.storage.places import Where, each, place_of
from kafkalab.spark.storage.schemas import arrow_schema

OWN = (
    "run", "key", "offset", "record_key", "value", "producer_id", "producer_epoch", "transactional", "control", "frame",
    "step", "removed", "headers",
)  # fmt: skip
"""The log's own columns; `frame` only of markers."""
MARKER = ("step", "offset", "control", "producer_epoch", "removed", "removed_step")
"""The columns, with MARKED before their names, of the marker that ended a record's transaction."""
MARKED = "marker_"
_OF_A_TRANSACTION = [("outcome", pa.string()), ("txn", pa.string()), ("client", pa.string()), ("number", pa.int64())]
RECORDS = pa.schema(
    [
        *(arrow_schema("log").field(name) for name in OWN),
        *(arrow_schema("log").field(name).with_name(MARKED + name).with_nullable(True) for name in MARKER),
        *_OF_A_TRANSACTION,
        ("why", pa.int32()),
        ("index", pa.int64()),
    ]
)
ORDINAL = ("why", "index", "key", "step", "offset")
"""The order of the records of a transaction."""
READ = ("run", "consumer", "process", "isolation_level", "index", "key", "offset", "value", "step")
SEEN = pa.schema([*map(arrow_schema("reads").field, READ), ("written", pa.int64()), *_OF_A_TRANSACTION])
"""The columns of a read, and those of the record that it returned; this was there from the step `written` on."""
SPLIT = "split"
OUTCOMES = ("", PLAIN, OPEN, COMMITTED, ABORTED)


def records_of(log: Log, owners: Owners) -> pa.Table:
    """The columns of RECORDS, in the order of the log."""
    texts = log.names.texts
    here = log.table.take(pa.array(log.at))
    in_transaction = log.transactional & ~log.marker
    end = np.where(in_transaction, log.ended_by, -1)
    outcome = np.select([log.marker, ~log.transactional, end < 0, log.abort[end]], [0, 1, 2, 4], 3)
    owned = owners.why >= 0
    known = owners.client != owners.names.number("")  # a client's operations say whose the record is
    return pa.table(
        {
            **{name: here.column(name) for name in OWN},
            "frame": pc.if_else(pa.array(log.marker), here.column("frame"), ""),
            **{MARKED + name: here.column(name).take(pa.array(end, mask=end < 0)) for name in MARKER},
            "outcome": _texts(outcome, list(OUTCOMES)),
            "txn": owners.names_of(np.arange(len(owned))),
            "client": _texts(owners.client, texts, owned),
            "number": pa.array(np.where(known, owners.number, -1), mask=~owned),
            "why": pa.array(owners.why, pa.int32()),
            "index": pa.array(owners.index),
        }
    )


def seen_of(reads: Reads, log: Log, records: pa.Table) -> pa.Table:
    """The columns of SEEN; those of the record are null where the log has not what was read."""
    at = rows_read(reads, log)
    of_records = ["step", *(name for name, _ in _OF_A_TRANSACTION)]
    record = records.select(of_records).take(pa.array(at, mask=at < 0))
    return pa.table([*reads.table.select(READ).columns, *record.columns], names=SEEN.names)


def rows_read(reads: Reads, log: Log) -> Longs:
    """Return the row of the log that each read returned, -1 where the log has not what was read."""
    return np.where((reads.at >= 0) & ~log.marker[reads.at], reads.at, -1) if len(log.offset) else reads.at


def write(table: pa.Table, split: Longs, folder: Where, task: str) -> None:
    """Write the rows of each split to a file of its own, whole or not at all: a task may be tried again."""
    from pyarrow.feather import write_feather

    order = np.argsort(split, kind="stable")
    numbers, begins = np.unique(split[order], return_index=True)
    ends = np.append(begins, len(order))[1:]
    place = place_of(folder)

    def write_one(split: tuple[int, int, int]) -> None:
        number, begin, end = split
        with (place / f"{SPLIT}={number}/{task}.arrow").whole() as file:
            write_feather(table.take(pa.array(order[begin:end])), file)

    each(write_one, zip(numbers.tolist(), begins, ends, strict=True), place)


def read(folder: Where, number: int, schema: pa.Schema) -> pa.Table:
    """Return the rows of a split that `write` has written; `schema` is theirs if there are none."""
    from pyarrow.feather import read_table

    at = place_of(folder) / f"{SPLIT}={number}"
    paths = [at / path for path in at.files() if not path.startswith("_")]
    if not paths:
        return schema.empty_table()
    parts = each(lambda path: read_table(path.open(), use_threads=False), paths, at)
    return pa.concat_tables(parts).unify_dictionaries()


def gather(folder: Where, schema: pa.Schema) -> None:
    """Put the files of a table that is not split into one: whoever reads it spends more on opening than on reading."""
    table = read(folder, 0, schema)
    place_of(folder).remove()
    if table.num_rows:
        write(table, np.zeros(table.num_rows, np.int64), folder, "gathered")


def _texts(codes: Longs, texts: list[str], there: Flags | None = None) -> Any:
    mask = None if there is None else ~there
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=mask), pa.array(texts, pa.string()))

