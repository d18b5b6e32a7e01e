"""A stream as a folder of files, one for each micro-batch, and what a sink holds of it in the end."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from kafkalab.grading.remote_query import inputs

SCHEMA = "minute int, payment string"
COLUMNS = ("minute", "payment")
BATCHES, ROWS = 5, 12
STOPS = ((1, "before"), (2, "half"), (3, "after"))
"""In which micro-batch the process stops: before it has written, with half of the files written, with all written."""
Row = tuple[int, str]


@cache
def make_feed(seed: int, batches: int = BATCHES, rows: int = ROWS) -> tuple[tuple[Row, ...], ...]:
    """Make the rows of each micro-batch.

    Some are a minute late. Some are there twice by right: two in each batch, and one in the first batch and the last.
    """
    random = Random(f"feed {seed}")
    made: list[tuple[Row, ...]] = []
    for batch in range(batches):
        late = random.sample(range(rows), rows // 4) if batch else []
        found = [(batch - (n in late), f"payment {batch * rows + n}") for n in range(rows)]
        first, again = random.sample(range(rows), 2)
        found[again] = found[first]
        if batch == batches - 1:
            found[0 if 0 not in (first, again) else 1 if 1 not in (first, again) else 2] = made[0][0]
        made.append(tuple(found))
    return tuple(made)


def folder_of(seed: int) -> str:
    """Write the stream's files, once; return the name of their folder in `inputs()`."""
    return write_folder(inputs(), seed)


@cache
def write_folder(there: Path, seed: int, batches: int = BATCHES, rows: int = ROWS) -> str:
    """Write a file for each micro-batch; return the name of their new folder in `there`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(mkdtemp(prefix="feed-", dir=there))
    folder.chmod(0o755)
    for number, batch in enumerate(make_feed(seed, batches, rows)):
        path = folder / f"{number:04}.parquet"
        minutes, payments = zip(*batch, strict=True)
        pq.write_table(pa.table({"minute": pa.array(minutes, pa.int32()), "payment": pa.array(payments)}), path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))  # a stream reads files in this order
    return folder.name


def count_by_batch(given: Counter[Row], batches: tuple[tuple[Row, ...], ...]) -> list[int]:
    """Return how many rows of each micro-batch the sink holds; surplus rows count for the last batch that has them."""
    left, counts = Counter(given), []
    for number, batch in enumerate(batches):
        later = set().union(*batches[number + 1 :])
        own = {row: min(sent, left[row]) if row in later else left[row] for row, sent in Counter(batch).items()}
        counts.append(sum(own.values()))
        left -= Counter(own)
    return counts
