"""Splits: whatever shares a client, its process, a producer id or a transactional id comes into one of them.

So every transaction has all its records, decisions and operations in one split, and no task needs another's rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.spark.per_key_audits.arrays import Longs, Names, groups
from kafkalab.spark.per_key_audits.records import gather, write
from kafkalab.spark.storage.places import Where, place_of
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.storage.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT_IN = "kept"
FEWEST, SMALL_SPLITS = 2, 10
RECORDS_OF_A_SPLIT, RECORDS_OF_A_LARGE_SPLIT = 100_000, 800_000
NAMED = {"operations": ("client", "process"), "transactions": ("transactional_id",)}
"""The columns whose texts name the owner of a producer id."""
LINKS = "run bigint, names array<string>, producer bigint, rows bigint"
KEPT: dict[str, tuple[tuple[str, ...], pc.Expression]] = {
    "operations": (
        ("run", "client", "transaction"),
        (pc.field("function") == "commit") & (pc.field("type") == "ok"),
    ),
    "transactions": (
        ("run", "producer_id", "step"),
        (pc.field("removed") != "truncated") & pc.field("state").isin(["PrepareCommit", "PrepareAbort"]),
    ),
}
"""The columns and rows of a table that every bucket needs of all files: acknowledged commits, decisions."""
Node = tuple[int, str | int]


@dataclass(frozen=True, slots=True)
class Splits:
    """The number of splits, and the split of each name ("client: p1/t1", "process: p1") and producer id of a run.

    `largest` is the share of all rows that the largest split has.
    """

    count: int
    of: dict[Node, int] = field(default_factory=dict)
    largest: float = 1.0

    def of_rows(self, names: Names, run: Longs, client: Longs, producer: Longs) -> Longs:
        """Return the split of each row, given its client's number in `names`; by its producer id where it has none."""
        if not len(run):
            return run
        alone = client == names.number("")
        pair = groups(run, np.where(alone, producer, -1), np.where(alone, -1, client))
        _, first, back = np.unique(pair, return_index=True, return_inverse=True)
        known = [
            self._of_one(int(run[at]), int(producer[at]) if alone[at] else f"client: {names.texts[client[at]]}")
            for at in first.tolist()
        ]
        found: Longs = np.array(known, np.int64)[back]
        return found

    def of_processes(self, names: Names, run: Longs, process: Longs) -> Longs:
        """Return the split of each row's process, -1 for one that has no transactions."""
        if not len(run):
            return run
        _, first, back = np.unique(groups(run, process), return_index=True, return_inverse=True)
        known = [self.of.get((int(run[at]), f"process: {names.texts[process[at]]}"), -1) for at in first.tolist()]
        found: Longs = np.array(known, np.int64)[back]
        return found

    def of_keys(self, names: Names, key: Longs) -> Longs:
        """Return the split of inputs that each row's key belongs to."""
        of_text = np.array([zlib.crc32(text.encode()) % self.count for text in names.texts], np.int64)
        return of_text[key] if len(key) else key

    def _of_one(self, run: int, name: str | int) -> int:
        return self.of.get((run, name), (run + (name if isinstance(name, int) else 0)) % self.count)


def splits_of(spark: SparkSession, files: Mapping[str, Mapping[int, list[str]]], records: int, folder: Where) -> Splits:
    """Return splits of nearly equal size for a history of so many records; leave the rows of KEPT in `folder`."""
    paths = [(table, path) for table in NAMED for found in files.get(table, {}).values() for path in found]
    if not paths:
        return Splits(1)
    made = in_tasks(spark, len(paths), lambda at: links_in(*paths[at], folder, at).to_batches(), LINKS, together=True)
    rows = made.collect()
    for table in KEPT:
        gather(place_of(folder) / KEPT_IN / table, kept_schema(table))
    links = ((row["run"], tuple(row["names"]), row["producer"], row["rows"]) for row in rows)
    return join_links(links, split_count(records))


def split_count(records: int) -> int:
    """Return how many splits a history of so many records has.

    Large histories have larger splits: every bucket writes a file for every split, and each one has to be opened.
    """
    return max(FEWEST, min(records // RECORDS_OF_A_SPLIT, SMALL_SPLITS + records // RECORDS_OF_A_LARGE_SPLIT))


def kept_schema(table: str) -> pa.Schema:
    """Return the schema of what is kept of a table."""
    return pa.schema([arrow_schema(table).field(name) for name in KEPT[table][0]])


def links_in(table: str, path: str, folder: Where, number: int) -> pa.Table:
    """Return which names go with which producer ids in a file, each once, and the number of its rows.

    Write what is kept of the file to `folder`.
    """
    import pyarrow.parquet as pq

    columns, (kept, wanted) = ["run", *NAMED[table], "producer_id"], KEPT[table]
    few = ["function", "type"] if table == "operations" else ["state", "removed"]
    every, file = sorted({*columns, *kept, *few}), place_of(path).open()
    rows = pq.read_table(file, columns=every, partitioning=None, read_dictionary=few, use_threads=False)
    chosen = rows.filter(wanted).select(kept)
    write(chosen, np.zeros(chosen.num_rows, np.int64), place_of(folder) / KEPT_IN / table, f"part-{number:05}")
    if table == "operations":
        rows = rows.filter(pc.field("transaction") >= 1)
    each = rows.group_by(columns).aggregate([([], "count_all")]).to_pylist()
    found: list[dict[str, Any]] = [
        {
            "run": one["run"],
            "names": [f"{column}: {one[column]}" for column in NAMED[table] if one[column]],
            "producer": one["producer_id"],
            "rows": one["count_all"],
        }
        for one in each
    ]
    kinds = {"run": pa.int64(), "names": pa.list_(pa.string()), "producer": pa.int64(), "rows": pa.int64()}
    return pa.Table.from_pylist(found, pa.schema(kinds))


def join_links(links: Iterable[tuple[int, tuple[str, ...], int, int]], count: int) -> Splits:
    """Return `count` splits, or fewer, of what these links join: run, names, producer id (-1 for none), rows."""
    parent: dict[Node, Node] = {}
    weight: dict[Node, int] = {}

    def root(node: Node) -> Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for run, names, producer, rows in links:
        nodes: list[Node] = [(run, name) for name in names] + [(run, producer)] * (producer >= 0)
        for node in nodes:
            weight[node] = weight.get(node, 0) + rows
            parent[root(node)] = root(nodes[0])
    size: dict[Node, int] = {}
    for node, rows in weight.items():
        size[root(node)] = size.get(root(node), 0) + rows
    load = [(0, number) for number in range(max(1, min(count, len(size))))]
    heapify(load)
    split: dict[Node, int] = {}
    for node in sorted(size, key=lambda node: (-size[node], node[0], str(node[1]))):
        taken, split[node] = load[0]
        heapreplace(load, (taken + size[node], split[node]))
    most = max(taken for taken, _ in load) / max(1, sum(size.values()))
    return Splits(len(load), {node: split[root(node)] for node in weight}, most)
