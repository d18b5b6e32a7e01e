"""The passes of an audit without Spark: what its tasks do, one after the other, over the rows of a few histories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkalab.history.history import History
from kafkalab.spark.client_pass.client_pass import (
    INPUTS,
    NAMES,
    SplitTables,
    hand_on,
    rows_of_inputs,
    rows_of_split,
    with_edges,
)
from kafkalab.spark.client_pass.cycles import SEARCHES, cycles_in
from kafkalab.spark.client_pass.split import Split
from kafkalab.spark.per_key_audits.bucket import ONE_KEY
from kafkalab.spark.per_key_audits.files import FEW_TEXTS, columns_for
from kafkalab.spark.per_key_audits.handover import Handover
from kafkalab.spark.per_key_audits.key_pass import bucket_rows
from kafkalab.spark.per_key_audits.splits import NAMED, join_links, links_in
from kafkalab.spark.storage.bucket_writer import parts_by_key
from kafkalab.spark.storage.history_files import BY_KEY
from kafkalab.spark.storage.schemas import TABLES, arrow_batch

Row = dict[str, Any]


def run_passes(histories: list[History], folder: Path, buckets: int = 3, splits: int = 3) -> list[Row]:
    """Return the findings and counts of the passes over these histories, each a run."""
    runs = list(enumerate(histories))
    batches = {name: arrow_batch(name, runs) for name in TABLES}
    whole = {name: pa.Table.from_batches([batch]) for name, batch in batches.items()}
    parts = {name: dict(parts_by_key(batches[name], name, buckets)) for name in BY_KEY}

    def elsewhere(table: str, columns: tuple[str, ...], wanted: pc.Expression) -> pa.Table:
        return whole[table].filter(wanted).select(list(columns))

    files = {}
    for name in NAMED:
        files[name] = str(folder / f"{name}.parquet")
        pq.write_table(whole[name], files[name])
    links = [row for name in NAMED for row in links_in(name, files[name], folder, 0).to_pylist()]
    found = join_links(((row["run"], tuple(row["names"]), row["producer"], row["rows"]) for row in links), splits)
    into = Handover(folder, found)
    labels = {run: history.labels for run, history in runs}
    into.write_entries(files["transactions"], 0)
    rows: list[Row] = []
    for number in range(buckets):
        given = {name: parts[name].get(number, whole[name].slice(0, 0)) for name in BY_KEY}
        given["calls"] = given["operations"]
        tables = {name: _as_read(given[name].select(columns)) for name, columns in columns_for(ONE_KEY, True).items()}
        for batch in bucket_rows(tables, labels, ONE_KEY, elsewhere, into, number):
            rows += batch.to_pylist()
    for number in range(found.count):
        split = Split(SplitTables(folder, number), elsewhere, labels)
        rows += [*rows_of_split(split, NAMES), *with_edges(split, into, number)]
        hand_on(split, into, number)
    for number in range(found.count):
        rows += rows_of_inputs(SplitTables(folder, number), labels, INPUTS)
    handed = SplitTables(folder, 0)
    for name in SEARCHES:
        for run, one in cycles_in(handed["edges"], name):
            fields = ("anomaly", "policy", "keys", "offsets", "steps", "text")
            rows.append({field: getattr(one, field) for field in fields} | {"run": run})
    rows += [{"run": row["run"], "anomaly": "G0", "examined": row["examined"]} for row in handed["pairs"].to_pylist()]
    return rows


def _as_read(table: pa.Table) -> pa.Table:
    """Return the table with numbers in place of few texts, as tasks read it from files."""
    for at, name in enumerate(table.column_names):
        if name in FEW_TEXTS:
            table = table.set_column(at, name, table.column(name).dictionary_encode())
    return table


def findings(rows: list[Row]) -> Counter[tuple[Any, ...]]:
    """Return the findings in these rows."""
    columns = ("run", "anomaly", "policy", "keys", "offsets", "steps", "text")
    found = [row for row in rows if row.get("examined") is None]
    return Counter(tuple(tuple(c) if isinstance(c, list) else c for c in map(row.get, columns)) for row in found)


def count_examined(rows: list[Row]) -> Counter[tuple[int, str]]:
    """Return how many things each audit has examined in each run."""
    total: Counter[tuple[int, str]] = Counter()
    for row in rows:
        if row.get("examined"):
            total[row["run"], row["anomaly"]] += row["examined"]
    return total
