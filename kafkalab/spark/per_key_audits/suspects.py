"""The suspects that numpy finds in a bucket, as small views that the checks of `kafkalab.checks` judge.

Numpy selects what breaks a necessary condition of a rule, with the rows that the rule looks at, and counts what was
examined. Rules and sentences are stated in the checks alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kafkalab.checks.view import View, view_of
from kafkalab.spark.per_key_audits.arrays import Longs
from kafkalab.spark.storage.rows import histories_from

Suspected = tuple[Iterable[tuple[int, View]], dict[str, Longs]]
"""Views of what may be an anomaly, each with its run; and of each audit the run of each thing that it looked at."""


def views(**tables: pa.Table) -> Iterator[tuple[int, View]]:
    """Yield the view of each run that has rows in these tables."""
    for run, history in histories_from({name: plain(table) for name, table in tables.items()}):
        yield run, view_of(history)


def plain(table: pa.Table) -> pa.Table:
    """Return the table with texts where it has numbers of texts."""
    fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
