"""The tables that audits derive from histories: records with their transactions, and what was read of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType

from kafkalab.checks.view import COMMITTED, PLAIN
from kafkalab.spark.audits.transactions import transactions
from kafkalab.spark.key_pass.records import RECORDS, SEEN, SPLIT
from kafkalab.spark.storage.frames import Histories

FINAL = (COMMITTED, PLAIN)
NEVER = 1 << 62
Make = Callable[["DerivedTables"], DataFrame]
Keep = Callable[[str, DataFrame], DataFrame]


class DerivedTables:
    """Tables that several audits share, each made when it is first needed.

    `folder` is where the key pass wrote `records` and `seen`; `keep(name, frame)` may store a DataFrame and returns
    one of the same rows.
    """

    def __init__(self, histories: Histories, folder: Path, keep: Keep = lambda _, frame: frame) -> None:
        self.histories, self.folder, self.keep = histories, folder, keep
        self._made: dict[str, DataFrame] = {}

    def once(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """Return what `make` gives; it is called and kept once for each `name`."""
        if name not in self._made:
            self._made[name] = self.keep(name, make())
        return self._made[name]

    @cached_property
    def records(self) -> DataFrame:
        """The log without what was truncated: the columns of RECORDS. The key pass wrote it."""
        return self._written("records", RECORDS)

    @cached_property
    def seen(self) -> DataFrame:
        """All reads: the columns of SEEN, `record` null where the log lacks what was read. The key pass wrote it."""
        return self._written("seen", SEEN)

    def _written(self, name: str, arrow: pa.Schema) -> DataFrame:
        spark, folder, schema = self.histories.log.sparkSession, self.folder / name, from_arrow_schema(arrow)
        if not folder.is_dir():
            return spark.createDataFrame([], schema)
        return spark.read.schema(schema.add(SPLIT, IntegerType())).parquet(str(folder)).drop(SPLIT)

    @cached_property
    def data(self) -> DataFrame:
        """The records that are no markers, of topics that are not internal."""
        return self.records.where((F.col("control") == "") & ~F.col("internal"))

    @cached_property
    def known(self) -> DataFrame:
        """What readers may know: run, key, offset, value, step of what is committed or plain, and not removed."""
        final = (F.col("control") == "") & (F.col("removed") == "") & F.col("outcome").isin(*FINAL)
        return self.records.where(final).select("run", "key", "offset", "value", "step")

    @cached_property
    def transactions(self) -> DataFrame:
        """All transactions: the columns of `kafkalab.spark.audits.transactions`."""
        return self.keep("transactions", transactions(self.histories.operations, self.records))


def once(name: str) -> Callable[[Make], Make]:
    """Decorate a function of DerivedTables: what it returns is made and kept once, under `name`."""
    return lambda make: wraps(make)(lambda derived: derived.once(name, lambda: make(derived)))


def has_text(column: str) -> Column:
    """Whether a text is there and not empty."""
    return F.coalesce(F.col(column), F.lit("")) != ""
