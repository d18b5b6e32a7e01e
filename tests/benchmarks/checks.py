"""One core checks one synthetic history with the pure-Python checks: seconds for rows, and for all 25 checks.

`python -m tests.benchmarks.checks [RECORDS]`; the goal is 9 s for the 100,000 records that are the limit of that way.
"""

from __future__ import annotations

import resource
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.all import BY_NAME
from kafkalab.spark.audits import check_tasks
from kafkalab.spark.storage.rows import histories_from
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.synthetic.generator import MADE, labels_of
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.tables import batch_of
from tests.benchmarks.lines import line

RECORDS = 100_000


def tables_of(shape: Shape) -> dict[str, pa.Table]:
    """The tables of a synthetic history, made without Spark."""
    cells = range(shape.cells)
    made = {name: pa.Table.from_batches([batch_of(shape, cell, name) for cell in cells]) for name in MADE}
    return made | {"labels": pa.Table.from_pylist(labels_of(shape), arrow_schema("labels"))}


def checks(records: int = RECORDS) -> None:
    """Print what a task of the way "checks" takes for one run of `records` records."""
    tables = tables_of(Shape(records=records, seed=1))
    log, rows = tables["log"].num_rows, sum(table.num_rows for table in tables.values())
    began = time.process_time()
    check_tasks.say(histories_from(tables), ())
    made = time.process_time() - began
    began = time.process_time()
    found = check_tasks.say(histories_from(tables), tuple(BY_NAME))
    taken = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line(f"{log:,} records checked ({rows:,} rows)", f"{taken:6.2f} s of CPU", "at most 9 s")
    line("of it for rows and what checks derive once", f"{made:6.2f} s of CPU")
    line("peak memory", f"{peak:6.0f} MiB")
    line("findings in a clean history", f"{pc.sum(found.column('examined').is_null()).as_py():6}")


if __name__ == "__main__":
    checks(*(int(float(word)) for word in sys.argv[1:2]))
