"""The tables that the key pass hands to the client pass, split so that a client's transactions come together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.spark.per_key_audits import records
from kafkalab.spark.per_key_audits.arrays import Longs, Names, groups, longs, starts
from kafkalab.spark.per_key_audits.bucket import Bucket
from kafkalab.spark.per_key_audits.edges import EDGES, writes_between
from kafkalab.spark.per_key_audits.splits import KEPT_IN, Splits, kept_schema
from kafkalab.spark.storage.places import Place, place_of
from kafkalab.spark.storage.schemas import arrow_schema

LONGS = ("run", "offset", "step", "end_step", "at_ms", "reads", "examined")
FLAGS = ("sent", "failed")


def _columns(table: str, names: str) -> pa.Schema:
    return pa.schema([arrow_schema(table).field(name) for name in names.split()])


def _make_schema(names: str) -> pa.Schema:
    kinds = dict.fromkeys(LONGS, pa.int64()) | dict.fromkeys(FLAGS, pa.bool_())
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names.split()])


TABLES = {
    "records": records.RECORDS,
    "seen": records.SEEN,
    "taken": records.SEEN,
    "edges": EDGES,
    "entries": arrow_schema("transactions"),
    "calls": _columns("operations", "run client process transaction index type function step"),
    "known": _columns("log", "run key offset value step"),
    "reads": _columns("reads", "run key process offset step index"),
    "moves": _columns("polls", "run key process moved step"),
    "polled": _columns("polls", "run process key group"),
    "positions": _columns("operations", "run process key value"),
    "sent": _columns("operations", "run client process transaction key value headers").append(
        pa.field("failed", pa.bool_())
    ),
    "through": pa.schema([("run", pa.int64()), arrow_schema("log").field("transactional"), ("topic", pa.string())]),
    "worked": _make_schema("run topic"),
    "commits": _make_schema("run record_key input key offset value step txn process end_step outcome"),
    "outputs": _make_schema("run source input key value txn process who sent failed outcome step"),
    "makers": _make_schema("run process input"),
    "consumers": _make_schema("run consumer process key reads"),
    "pairs": _make_schema("run examined"),
    "logged": _make_schema("run"),
    "times": _make_schema("run step at_ms"),
}
"""The tables that the passes leave for each other."""


def in_form(table: pa.Table, name: str) -> pa.Table:
    """Return the table with the columns of the one of this name in TABLES."""
    return table.select(TABLES[name].names).cast(TABLES[name])


@dataclass(frozen=True, slots=True)
class Handover:
    """The destination of the tables: `folder` is one that all workers see."""

    folder: Path | Place
    splits: Splits

    def write_bucket(self, bucket: Bucket, number: int) -> None:
        """Write what the other audits need of one bucket of keys."""
        log, owners, names, task = bucket.log, bucket.owners, bucket.names, f"bucket-{number:05}"
        owned = records.records_of(log, owners)
        split = self.splits.of_rows(names, log.run, owners.client, log.pid)
        seen = records.seen_of(bucket.reads, log, owned)
        at = records.rows_read(bucket.reads, log)
        inside = np.flatnonzero(np.isin(at, np.flatnonzero(owners.why >= 0)))
        self._write(seen.take(pa.array(inside)), split[at[inside]], "seen", task)
        self._write(owned, split, "records", task)
        taken = self.splits.of_processes(names, bucket.reads.run, names.codes(seen.column("process")))
        rows = np.flatnonzero(taken >= 0)
        self._write(seen.take(pa.array(rows)), taken[rows], "taken", task)
        self._write_inputs(bucket, rows, task)
        self._write_outputs(bucket.tables["calls"], task)
        edges, pairs = writes_between(bucket, owned)
        self._write(edges, None, "edges", task)
        self._write(counts_of(pairs), None, "pairs", task)
        self._write_by_client(calls_of(bucket.tables["calls"]), "calls", task)
        self._write(consumers_of(bucket.tables["reads"], bucket.tables["polls"]), None, "consumers", task)
        self._write(times_of(bucket.tables[name] for name in ("calls", "log", "reads")), None, "times", task)

    def read_kept(self, table: str) -> pa.Table:
        """Return what `splits_of` has left of a table."""
        return records.read(place_of(self.folder) / KEPT_IN / table, 0, kept_schema(table))

    def _write_inputs(self, bucket: Bucket, taken: Longs, task: str) -> None:
        """Write, by key, what readers may know, these reads, and where processes were moved."""
        log, reads, names = bucket.log, bucket.reads, bucket.names
        rows = np.flatnonzero(log.known & log.data)
        here = in_form(log.table.select(TABLES["known"].names).take(pa.array(log.at[rows])), "known")
        self._write(here, self.splits.of_keys(names, log.key[rows]), "known", task)
        here = in_form(reads.table.select(TABLES["reads"].names).take(pa.array(taken)), "reads")
        self._write(here, self.splits.of_keys(names, reads.key[taken]), "reads", task)
        polls = bucket.tables["polls"]
        moves = in_form(polls.filter(pc.not_equal(polls.column("moved"), "")), "moves")
        self._write_by("key", moves, "moves", task)
        self._write_by("key", once(polls, "polled"), "polled", task)

    def _write_outputs(self, calls: pa.Table, task: str) -> None:
        """Write which outputs were sent, and of which groups the committed offsets are."""
        self._write_by_client(sent_of(calls), "sent", task)
        offsets = calls.filter(pc.equal(calls.column("function"), "offsets"))
        self._write_by("key", once(offsets, "positions"), "positions", task)

    def write_for_inputs(self, name: str, table: pa.Table, number: int) -> None:
        """Write what the client pass has found in a split of the inputs that `table` names in its column input."""
        self._write_by("input", table, name, f"split-{number:05}")

    def write_for_all(self, name: str, table: pa.Table, number: int) -> None:
        """Write what the client pass has found in a split and every task needs."""
        self._write(table, None, name, f"split-{number:05}")

    def _write_by(self, column: str, table: pa.Table, name: str, task: str) -> None:
        names = Names()
        self._write(table, self.splits.of_keys(names, names.codes(table.column(column))), name, task)

    def _write_by_client(self, table: pa.Table, name: str, task: str) -> None:
        names, run = Names(), longs(table, "run")
        self._write(table, self.splits.of_rows(names, run, names.codes(table.column("client")), run), name, task)

    def write_entries(self, path: str, number: int) -> None:
        """Write what one file of the transaction log holds."""
        import pyarrow.parquet as pq

        table = pq.read_table(place_of(path).open(), partitioning=None, use_threads=False)
        self._write(times_of([table]), None, "times", f"entries-{number:05}")
        names, table = Names(), table.filter(pc.not_equal(table.column("removed"), "truncated"))
        self._write(table.select(["run"]).group_by(["run"]).aggregate([]), None, "logged", f"entries-{number:05}")
        run, producer = longs(table, "run"), longs(table, "producer_id")
        nobody = np.full(len(run), names.number(""), np.int64)
        self._write(table, self.splits.of_rows(names, run, nobody, producer), "entries", f"entries-{number:05}")

    def _write(self, table: pa.Table, split: Longs | None, name: str, task: str) -> None:
        """Write a table's rows to their splits; what every split needs is in the first."""
        if table.num_rows:
            numbers = np.zeros(table.num_rows, np.int64) if split is None else split
            records.write(table, numbers, self.folder / name, task)


def counts_of(run: Longs) -> pa.Table:
    """Return how often each run is there."""
    runs, counts = np.unique(run, return_counts=True)
    return pa.table([pa.array(runs, pa.int64()), pa.array(counts, pa.int64())], schema=TABLES["pairs"])


def once(table: pa.Table, name: str) -> pa.Table:
    """Return the rows in the form of the table of this name, each of them once."""
    return in_form(table, name).group_by(TABLES[name].names).aggregate([])


def calls_of(operations: pa.Table) -> pa.Table:
    """Return, of the operations of transactions, those that end one, and the first of each transaction."""
    inside = operations.filter(pc.greater_equal(operations.column("transaction"), 1)).select(TABLES["calls"].names)
    names = Names()
    who = groups(longs(inside, "run"), names.codes(inside.column("client")), longs(inside, "transaction"))
    order = np.lexsort((longs(inside, "index"), who))
    function = names.codes(inside.column("function"))
    chosen = np.isin(function, [names.number("commit"), names.number("abort")])
    chosen[order[starts(who[order])]] = True
    return inside.filter(pa.array(chosen))


def sent_of(operations: pa.Table) -> pa.Table:
    """Return the sends of records with headers, and whether they failed."""
    sends = operations.filter(pc.equal(operations.column("function"), "send"))
    asked = sends.filter(
        pc.and_(pc.equal(sends.column("type"), "invoke"), pc.greater(pc.list_value_length(sends.column("headers")), 0))
    )
    fails = sends.filter(pc.equal(sends.column("type"), "fail")) if asked.num_rows else sends.slice(0, 0)
    runs = (longs(asked, "run"), longs(fails, "run"))
    same = groups(np.concatenate(runs), np.concatenate([longs(asked, "index"), longs(fails, "invocation")]))
    failed = np.isin(same[: asked.num_rows], same[asked.num_rows :])
    return asked.select(TABLES["sent"].names[:-1]).append_column("failed", pa.array(failed))


def consumers_of(reads: pa.Table, polls: pa.Table) -> pa.Table:
    """Return which consumers polled or read which keys, and how often each process read there."""
    kept = ["run", "consumer", "process", "key"]
    plain = pa.schema([TABLES["consumers"].field(name) for name in kept])
    read = reads.select(kept).cast(plain).group_by(kept).aggregate([([], "count_all")])
    place = ["run", "consumer", "key"]
    polled = polls.select(place).cast(pa.schema([plain.field(name) for name in place])).group_by(place).aggregate([])
    none = pa.array([0] * polled.num_rows, pa.int64())
    polled = polled.append_column("process", pa.nulls(polled.num_rows, pa.string())).append_column("count_all", none)
    both = pa.concat_tables([read.select([*kept, "count_all"]), polled.select([*kept, "count_all"])])
    return both.rename_columns(TABLES["consumers"].names)


def times_of(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the last step of each run in these tables that has a time, with this time."""
    rows = pa.concat_tables([in_form(table, "times") for table in tables])
    rows = rows.filter(pc.greater_equal(rows.column("at_ms"), 0))
    run, step = longs(rows, "run"), longs(rows, "step")
    last = rows.group_by(["run"]).aggregate([("step", "max")]).sort_by("run")
    newest = longs(last, "step_max")[np.searchsorted(longs(last, "run"), run)]
    rows = rows.filter(pa.array(step == newest))
    return rows.group_by(["run", "step"]).aggregate([("at_ms", "max")]).rename_columns(TABLES["times"].names)


def paths_of(files: Mapping[str, Mapping[int, list[str]]], table: str) -> list[str]:
    """Return all files of a table."""
    return [path for found in files.get(table, {}).values() for path in found]
