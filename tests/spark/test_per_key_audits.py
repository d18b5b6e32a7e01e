"""The key pass: numpy over a bucket's tables finds what the pure-Python checks find in the histories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkalab.checks.all import check_all
from kafkalab.checks.view import view_of
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from kafkalab.spark.per_key_audits import key_pass as module
from kafkalab.spark.per_key_audits.arrays import groups
from kafkalab.spark.per_key_audits.bucket import ONE_KEY, one_of
from kafkalab.spark.per_key_audits.files import COLUMNS, Tables, columns_for
from kafkalab.spark.per_key_audits.handover import Handover
from kafkalab.spark.per_key_audits.key_pass import bucket_rows, layout_of
from kafkalab.spark.per_key_audits.records import ORDINAL, RECORDS, SEEN, read
from kafkalab.spark.per_key_audits.splits import NAMED, Splits, links_in
from kafkalab.spark.storage.history_files import File
from kafkalab.spark.storage.schemas import arrow_batch
from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.shape import Shape
from tests.checks import equal_records
from tests.checks.test_checks_of_reads import CASES
from tests.checks.verdicts import build_history
from tests.spark.audits.mutants import mutant
from tests.spark.audits.simulated import by_chance, simulate_stored
from tests.spark.whole import history_of


@pytest.fixture(scope="module")
def made() -> list[History]:
    real = simulate_stored() + equal_records.histories() + by_hand() + by_chance(12)
    shape = Shape(records=2000, block=500, producers=12, inject=tuple(dict.fromkeys(SCENES, 2e-3).items()), seed=4)
    return [*real, *(mutant(history, seed) for seed, history in enumerate(real)), history_of(shape)]


def by_hand() -> list[History]:
    """Return what the checks of reads are tested with."""
    return [build_history(build) for _, build, _ in CASES]


def rows(
    histories: list[History], first: int = 0, folder: Path | None = None, names: tuple[str, ...] = ONE_KEY
) -> list[dict[str, Any]]:
    """Return what the pass gives for audits of these names, from the columns that they need."""
    runs = list(enumerate(histories, first))
    given = ("operations", "log", "reads", "polls", "watermarks", "transactions", "frames")
    whole = {name: pa.Table.from_batches([arrow_batch(name, runs)]) for name in given}
    whole["calls"] = whole["operations"]
    into = None
    if folder is not None:
        into = Handover(folder, Splits(1, {(run, f"process: {r.process}"): 0 for run, one in runs for r in one.reads}))
        for name in NAMED:
            pq.write_table(whole[name], f"{folder}/{name}.parquet")
            links_in(name, f"{folder}/{name}.parquet", folder, 0)

    def elsewhere(table: str, columns: tuple[str, ...], wanted: pc.Expression) -> pa.Table:
        return whole[table].filter(wanted).select(list(columns))

    needed = columns_for(names, whole=into is not None)
    tables = {name: whole[name].select(columns) for name, columns in needed.items()}
    labels = {run: history.labels for run, history in runs}
    return [row for batch in bucket_rows(tables, labels, names, elsewhere, into) for row in batch.to_pylist()]


def test_one_walk_finds_what_the_checks_find(made: list[History]) -> None:
    reports = [check_all(history) for history in made]
    given = rows(made)
    for name in ONE_KEY:
        found = Counter(
            (r["run"], r["policy"], tuple(r["keys"]), tuple(r["offsets"]), tuple(r["steps"]), r["text"])
            for r in given
            if r["anomaly"] == name and r["text"]
        )
        wanted = Counter(
            (run, f.policy, f.keys, f.offsets, f.steps, f.text)
            for run, report in enumerate(reports)
            for f in report[name].findings
            if not (name == "G1a" and "ABORT marker" not in f.text)
        )
        assert found == wanted, name
        assert wanted, name


def test_a_sequence_after_one_that_is_not_known_is_judged_by_the_check() -> None:
    made = HistoryBuilder()
    for sequence in (-1, 0):
        made.log("t-0", f"v{sequence}", pid=1, epoch=0, seq=sequence)
    wanted = [f.text for f in check_all(made.history())["sequence gap"].findings]
    assert wanted == ["offset 1 of t-0, producer 1: sequence 0 follows -1"]
    assert [r["text"] for r in rows([made.history()], names=("sequence gap",)) if r["text"]] == wanted


def test_it_looks_at_as_much_as_the_checks(made: list[History]) -> None:
    reports = [check_all(history) for history in made]
    given: Counter[tuple[str, int]] = Counter()
    for r in rows(made):
        if r["examined"]:
            given[r["anomaly"], r["run"]] += r["examined"]
    wanted = {(name, run): report[name].examined for run, report in enumerate(reports) for name in ONE_KEY}
    assert given == Counter({place: n for place, n in wanted.items() if n})


@pytest.mark.parametrize("name", ONE_KEY)
def test_an_audit_alone_needs_no_more_columns_than_it_says(made: list[History], name: str) -> None:
    def count_rows(given: list[dict[str, object]]) -> Counter[str]:
        return Counter(repr(row) for row in given if row["anomaly"] == name)

    assert count_rows(rows(made, names=(name,))) == count_rows(rows(made))


def test_a_bucket_is_read_table_by_table_and_of_operations_only_the_sends(tmp_path: Path, made: list[History]) -> None:
    batch = pa.Table.from_batches([arrow_batch("operations", enumerate(made))])
    pq.write_table(batch, tmp_path / "a.parquet")
    pq.write_table(batch, tmp_path / "b.parquet")
    paths = {"operations": [str(tmp_path / name) for name in ("a.parquet", "b.parquet")], "log": ["nowhere"]}
    tables = Tables(paths, columns_for(ONE_KEY))
    sends = batch.filter(pc.equal(batch.column("function"), "send")).select(COLUMNS["operations"]).to_pylist()
    assert tables["operations"].to_pylist() == sends + sends
    assert tables["operations"] is tables["operations"], "read once"
    assert pa.types.is_dictionary(tables["operations"].schema.field("key").type)
    with pytest.raises(FileNotFoundError):
        tables["log"]


def test_records_and_reads_know_their_transactions(made: list[History], tmp_path: Path) -> None:
    rows(made, folder=tmp_path)
    schemas = {"records": RECORDS, "seen": SEEN, "taken": SEEN}
    there = {name: read(tmp_path / name, 0, schema).to_pylist() for name, schema in schemas.items()}
    views = [view_of(history) for history in made]
    for row in there["records"]:
        place, view = (row["key"], row["offset"]), views[row["run"]]
        owner = view.transaction_of.get(place)
        assert (row["txn"], row["client"]) == ((owner.id, owner.client) if owner else (None, None))
        assert row["outcome"] == view.outcomes.get(place, "")
        ended = view.markers.get(place)
        assert row["marker_offset"] == (ended and ended.offset)
    for run, view in enumerate(views):
        of = {t.id: [(r.key, r.offset) for r in t.records] for t in view.transactions if t.records}
        mine = [row for row in there["records"] if row["run"] == run and row["txn"]]
        mine.sort(key=lambda row: [row[name] for name in ORDINAL])
        found: dict[str, list[tuple[str, int]]] = {}
        for row in mine:
            found.setdefault(row["txn"], []).append((row["key"], row["offset"]))
        assert found == of
    written: list[int | None] = []
    inside: list[dict[str, Any]] = []
    for row in there["taken"]:
        place, view = (row["key"], row["offset"]), views[row["run"]]
        record = view.at.get(place)
        same = record is not None and record.value == row["value"] and not record.control
        assert row["written"] == (record.step if record and same else None)
        written.append(row["written"])
        inside += [row] if same and place in view.transaction_of else []
    assert len(written) == sum(len(history.reads) for history in made)
    assert 0 < written.count(None) < len(written)
    assert there["seen"] == inside


def test_empty_tables_have_no_rows() -> None:
    assert rows([]) == []
    assert rows([History()]) == []


def test_buckets_with_few_rows_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def path(table: str, bucket: int) -> str:
        return f"{table}/bucket={bucket}/part-0.parquet"

    rows = enumerate((400_000, 200_000, 90_000, 10))
    listed = [File(path=path(table, bucket), bytes=1, rows=many) for bucket, many in rows for table in ("log", "reads")]
    monkeypatch.setattr(module, "read_list", lambda where: (4, [*listed, File(path="labels/a", bytes=1, rows=1)]))
    layout = layout_of("/h")
    assert layout.rows == {0: 800_000, 1: 580_020}
    for table in ("log", "reads"):
        assert layout.files[table] == {0: [f"/h/{path(table, 0)}"], 1: [f"/h/{path(table, n)}" for n in (1, 2, 3)]}


@pytest.mark.parametrize("high", [4, 10**6, 1 << 40])
def test_groups_number_rows_in_their_order(high: int) -> None:
    chance = np.random.default_rng(high)
    columns = [chance.integers(-high, high, 500) for _ in range(3)]
    columns = [np.concatenate([column, column[:100]]) for column in columns]
    wanted = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1]
    assert groups(*columns).tolist() == wanted.tolist()


@pytest.mark.parametrize("many", [1, 3, 30])
def test_rows_with_few_and_with_many_numbers_are_chosen(many: int) -> None:
    numbers = list(range(0, 2 * many, 2))
    assert pa.table({"step": range(100)}).filter(one_of("step", numbers)).column("step").to_pylist() == numbers
