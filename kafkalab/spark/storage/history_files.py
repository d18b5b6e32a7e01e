"""Histories as files: one folder of Parquet files for each table, and a list of all files that says when one is wrong.

PATH is a folder of this machine, or a URI of any file system that pyarrow opens. PATH/history.json names format,
version, and each file with its bytes and rows. What has a key lies in a folder for each bucket of keys:
PATH/log/bucket=3/part-….parquet, so that whoever reads a bucket has all of its keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, StructField, StructType

from kafkalab.history.history import FRAME_NAMES, REPLY
from kafkalab.limits import Limit, quote, truncate
from kafkalab.spark.storage.bucket_writer import WRITTEN, writer
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.parquet_frames import read_files
from kafkalab.spark.storage.places import Place, PlaceError, Where, each, place_of
from kafkalab.spark.storage.schemas import TABLES, arrow_schema, columns, spark_schema

FORMAT, VERSION = "kafkalab-histories", 4
WITHOUT_HEADERS = 3
"""The version in which operations and records had no headers; it is still read, and declares no inputs."""
WITH_REPLIES = 2
"""The version in which, too, answers were called EndTxnReply and of the kind "reply"; it is still read."""
READ = (WITH_REPLIES, WITHOUT_HEADERS, VERSION)
INDEX = "history.json"
LIST = Limit(50_000_000, "bytes of a list of files")
BY_KEY = ("operations", "log", "reads", "polls", "watermarks")
"""Tables that audits look at key by key; operations other than sends lie with those of their client."""
BUCKET = "bucket"
RECORDS_OF_A_BUCKET, FEWEST_BUCKETS = 60_000, 8
"""A worker that audits holds a bucket at a time, of so many records if keys allow it; see `audits.memory`."""
FILE = re.compile(r"/[^._/][^/]*\.parquet$")


class HistoryError(ValueError):
    """A folder is no history that can be trusted; the message names the file and the difference, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One Parquet file of a history: its place below the folder, its size, its rows."""

    path: str
    bytes: int
    rows: int

    @property
    def table(self) -> str:
        return self.path.partition("/")[0]

    @property
    def bucket(self) -> int:
        """The bucket that its path names; 0 for a table that is not laid out by key."""
        number = re.search(rf"/{BUCKET}=(\d+)/", self.path)
        assert number or self.table not in BY_KEY, f"{self.path} is not laid out by key"
        return int(number[1]) if number else 0


def write_histories(histories: Histories, path: Where, *, buckets: int = 0, replace: bool = False) -> list[File]:
    """Write all tables below `path`; the files, in order. FileExistsError if something is there and `replace` is not.

    Keys fall into `buckets`; if not given, so many that one has about RECORDS_OF_A_BUCKET, as far as keys allow it.
    The workers write them: the place must be one that they see, too. history.json is written last: without it nothing
    is a history.
    """
    folder = place_of(path)
    if buckets < 0:
        raise ValueError(f"buckets is at least 1, not {buckets}")
    _make_room(folder, replace)
    for name in TABLES:
        if difference := _difference(name, to_arrow_schema(histories.table(name).schema), VERSION):
            raise HistoryError(f"the DataFrame {name} is not of the table {name}: {difference}")
    buckets = buckets or fitting_buckets(histories.records())
    files: list[File] = []
    for name in TABLES:
        work = writer(folder, name, BUCKET, buckets if name in BY_KEY else 0)
        written = [File(**row.asDict()) for row in histories.through(name, work, WRITTEN).collect()]
        _keep_only(folder, name, {file.path for file in written})
        files += sorted(written, key=lambda file: file.path)
    return write_index(folder, buckets, files)


def fitting_buckets(records: int) -> int:
    """Return how many buckets a history of about so many records has."""
    return max(FEWEST_BUCKETS, records // RECORDS_OF_A_BUCKET)


def write_index(path: Where, buckets: int, files: list[File] | None = None) -> list[File]:
    """Write history.json, which lists the files of a history, all that are there if not given; return them."""
    folder = place_of(path)
    if files is None:
        files = [_describe(folder, found, size) for found, size in _files(folder).items()]
    rows = {name: sum(file.rows for file in files if file.table == name) for name in TABLES}
    index = {"format": FORMAT, "version": VERSION, "buckets": buckets, "rows": rows}
    index["files"] = [asdict(file) for file in files]
    with (folder / INDEX).whole() as file:
        file.write((json.dumps(index, indent=1) + "\n").encode())
    return files


def read_histories(spark: SparkSession, path: Where) -> Histories:
    """The histories that `write_histories` left at `path`, with the schemas of `kafkalab.spark.storage.schemas`.

    HistoryError, naming the file and the difference, if one is missing, cut off, changed, added, or there twice.
    """
    folder = place_of(path)
    version, _ = read_list(folder)
    listed = files_of(folder)
    tables = {name: _read(spark, folder, name, listed) for name in TABLES}
    if version <= WITHOUT_HEADERS:
        for name in ("operations", "log"):
            tables[name] = tables[name].withColumn("headers", F.coalesce("headers", F.array().cast("array<string>")))
    if version == WITH_REPLIES:
        names = {name: F.regexp_replace(name, REPLY.pattern, "Response") for name in FRAME_NAMES}
        kind = F.when(F.col("kind") == "reply", "response").otherwise(F.col("kind"))
        tables["frames"] = tables["frames"].withColumns({"kind": kind, **names})
        tables["log"] = tables["log"].withColumn("frame", F.regexp_replace("frame", REPLY.pattern, "Response"))
    return Histories(**tables)


def files_of(path: Where) -> list[File]:
    """The files of the history at `path`, after all of them were compared with its list. HistoryError as above."""
    folder = place_of(path)
    version, listed = read_list(folder)
    there = _files(folder)
    known: dict[str, File] = {}
    for file in listed:
        if file.path in known:
            raise HistoryError(f"{folder / INDEX} lists {file.path} twice")
        known[file.path] = file
        if file.path not in there:
            raise HistoryError(f"{folder / file.path} is missing: {INDEX} lists it with {file.rows} rows")
        if there[file.path] != file.bytes:
            wrong = f"has {there[file.path]} bytes, not {file.bytes}: it is cut off or was changed"
            raise HistoryError(f"{folder / file.path} {wrong}")
    each(lambda file: _check_file(folder / file.path, file, version), listed, folder)
    foreign = sorted(there.keys() - known.keys())
    if foreign:
        raise HistoryError(f"{folder / foreign[0]} {_foreign(folder, foreign[0], listed)}; remove it")
    return listed


def unreadable(path: Where) -> str:
    """Return what is wrong with the first file of the history that cannot be read to its end; "" if all can."""
    folder = place_of(path)
    for found in (folder / file for file in _files(folder)):
        try:
            for _ in pq.ParquetFile(found.open(), page_checksum_verification=True).iter_batches():
                pass
        except (pa.ArrowException, OSError) as error:
            return f"{found} is damaged ({str(error).splitlines()[0]})"
    return ""


# writing


def _make_room(folder: Place, replace: bool) -> None:
    there = {"": 0} if folder.is_file() else folder.files()
    if there:
        if not replace:
            raise FileExistsError(f"{folder} is not empty: name another folder, or pass replace=True")
        if INDEX not in there:
            raise FileExistsError(f"{folder} is not empty and no history: it is left alone, name another folder")
        folder.remove()


def _keep_only(folder: Place, table: str, written: set[str]) -> None:
    """Gone is what tasks left that were tried again: whole files that the second try did not have, and half ones."""
    for found in (folder / table).files():
        if f"{table}/{found}" not in written:
            (folder / table / found).remove_file()


def _files(folder: Place) -> dict[str, int]:
    """All Parquet files of all tables, in order, with their bytes."""
    there = [(path.partition("/")[0], path, size) for path, size in folder.files().items() if FILE.search(path)]
    return {path: size for name in TABLES for table, path, size in there if table == name}


def _describe(folder: Place, path: str, size: int) -> File:
    return File(path=path, bytes=size, rows=pq.read_metadata((folder / path).open()).num_rows)


# reading


def read_list(path: Where) -> tuple[int, list[File]]:
    """Return the version of the history and the files that history.json lists; none of them is opened. HistoryError."""
    folder = place_of(path)
    index = folder / INDEX
    try:
        said: Any = index.json(LIST)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise HistoryError(f"{index} is not of a history that kafkalab wrote")
        if said.get("version") not in READ:
            what = f"this kafkalab reads {READ[0]} to {VERSION}; make the history again with `kafkalab workload`"
            raise HistoryError(f"{index} is of version {quote(said.get('version'))}; {what}")
        files = [File(path=str(f["path"]), bytes=int(f["bytes"]), rows=int(f["rows"])) for f in said["files"]]
        rows = {name: int(said["rows"][name]) for name in TABLES}
    except (HistoryError, PlaceError):
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise HistoryError(_without_list(folder)) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise HistoryError(f"{index} is damaged or cut off ({truncate(error)})") from None
    for name, count in rows.items():
        listed = sum(file.rows for file in files if file.table == name)
        if listed != count:
            raise HistoryError(f"{index} says that {name} has {count} rows, but its files have {listed}")
    return said["version"], files


def _without_list(folder: Place) -> str:
    there = folder.local.exists() if folder.local is not None else folder.files()
    if not there:
        return f"there is no folder {folder}"
    return f"{folder} has no {INDEX}: it is no history, or writing it did not come to its end"


def _check_file(found: Place, file: File, version: int) -> None:
    try:
        metadata = pq.read_metadata(found.open())
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowInvalid, OSError) as error:
        raise HistoryError(f"{found} is no Parquet file any more ({str(error).splitlines()[0]})") from None
    if metadata.num_rows != file.rows:
        raise HistoryError(f"{found} has {metadata.num_rows} rows, not {file.rows}: it was changed")
    difference = _difference(file.table, schema, version)
    if difference:
        raise HistoryError(f"{found} is not of the table {file.table}: {difference}")
    if column := _column_with_nulls(found, file.table, metadata):
        raise HistoryError(f"{found} has nulls in the column {column}, which may have none: make the history again")


def _column_with_nulls(found: Place, table: str, metadata: pq.FileMetaData) -> str:
    """Return the first column with nulls that its table declares to be without; "" if there is none.

    The file's statistics say how many a column has; where they do not, the column is read.
    """
    places = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    for column in columns(table):
        name = column.name
        if column.nullable or name not in places:  # the path of a list has its element, too
            continue
        if metadata.schema.column(places[name]).max_definition_level == 0:
            continue
        parts = [metadata.row_group(n).column(places[name]).statistics for n in range(metadata.num_row_groups)]
        counts = [part.null_count if part is not None and part.has_null_count else None for part in parts]
        if None in counts:
            counts = [pq.read_table(found.open(), columns=[name], partitioning=None).column(name).null_count]
        if any(counts):
            return name
    return ""


def _difference(table: str, schema: pa.Schema, version: int) -> str:
    """Return how the columns of a file or DataFrame differ from those of its table in this version; empty if not."""
    wanted = arrow_schema(table)
    for field in wanted:
        at = schema.get_field_index(field.name)
        if at < 0 and field.name == "headers" and version <= WITHOUT_HEADERS:
            continue
        if at < 0:
            return f"it has no column {field.name}"
        if _plain(schema.field(at).type) != _plain(field.type):
            return f"{field.name} is {schema.field(at).type}, not {field.type}"
    more = [name for name in schema.names if name not in wanted.names]
    return f"it has a column {more[0]}" if more else ""


def _plain(kind: pa.DataType) -> str:
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _foreign(folder: Place, path: str, listed: list[File]) -> str:
    """Return the words for a file that is not listed: a copy of one that was, or not of this history."""
    content = (folder / path).open().read()
    for file in listed:
        if file.bytes == len(content) and (folder / file.path).open().read() == content:
            return f"is there twice: it is a copy of {file.path}"
    return f"is not of this history: {INDEX} does not list it"


def _read(spark: SparkSession, folder: Place, table: str, listed: list[File]) -> DataFrame:
    schema, mine = spark_schema(table), [(folder / file.path).text for file in listed if file.table == table]
    if folder.local is None or not mine:
        return read_files(spark, mine, schema)
    reader = spark.read.option("parquet.page.verify-checksum.enabled", "true")
    if table not in BY_KEY:
        return reader.schema(schema).parquet(str(folder / table))
    with_bucket = StructType([*schema.fields, StructField(BUCKET, IntegerType())])
    return reader.schema(with_bucket).parquet(str(folder / table)).drop(BUCKET)
