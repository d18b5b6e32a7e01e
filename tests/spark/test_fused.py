"""The fused pass: numpy over a bucket's tables finds what the pure-Python checks find in the histories."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from kafkalab.checks.all import CHECKS, check_all
from kafkalab.checks.sequence_gap import EXPIRATION
from kafkalab.history import History
from kafkalab.spark.fused import COLUMNS, FUSED, bucket_rows
from kafkalab.spark.planted import PLANTS
from kafkalab.spark.schemas import arrow_batch
from kafkalab.spark.synthetic_shape import Shape
from tests.spark.audits.mutants import mutant
from tests.spark.audits.simulated import by_chance, stored
from tests.spark.whole import history_of

Found = tuple[int, str, str, str, tuple[int, ...], tuple[int, ...], str]
DECIDED_LATER = ("duplicate",)
"""What the pass gives only the parts of."""


@pytest.fixture(scope="module")
def made() -> list[History]:
    real = stored() + by_chance(12)
    shape = Shape(records=2000, block=500, producers=12, plant=tuple(dict.fromkeys(PLANTS, 2e-3).items()), seed=4)
    return [*real, *(mutant(history, seed) for seed, history in enumerate(real)), history_of(shape)]


def rows(histories: list[History], first: int = 0) -> list[dict[str, object]]:
    runs = list(enumerate(histories, first))
    tables = {
        name: pa.Table.from_batches([arrow_batch(name, runs)]).select(columns) for name, columns in COLUMNS.items()
    }
    configs = {run: [v for v in history.label("config") if v.startswith(EXPIRATION)] for run, history in runs}
    limits = {run: int(found[0].removeprefix(EXPIRATION)) for run, found in configs.items() if found}
    return [row for batch in bucket_rows(tables, limits) for row in batch.to_pylist()]


def test_one_walk_finds_what_the_checks_find(made: list[History]) -> None:
    reports = [check_all(history) for history in made]
    given = rows(made)
    for name in (check.name for check in CHECKS if check.name in FUSED and check.name not in DECIDED_LATER):
        found = Counter(
            (r["run"], r["policy"], r["key"], tuple(r["offsets"]), tuple(r["steps"]), r["text"])  # type: ignore[arg-type]
            for r in given
            if r["anomaly"] == name and r["kind"] == "finding"
        )
        wanted = Counter(
            (run, f.policy, f.keys[0], f.offsets, f.steps, f.text)
            for run, report in enumerate(reports)
            for f in report[name].findings
            if "of version 2" not in f.text and not (name == "G1a" and "ABORT marker" not in f.text)
        )
        assert found == wanted, name
        assert wanted, name


def test_it_looks_at_as_much_as_the_checks(made: list[History]) -> None:
    reports = [check_all(history) for history in made]
    given = {(r["anomaly"], r["run"]): r["examined"] for r in rows(made) if r["kind"] == "examined"}
    wanted = {(name, run): report[name].examined for run, report in enumerate(reports) for name in FUSED}
    assert {place: n for place, n in given.items() if n} == {place: n for place, n in wanted.items() if n}


def test_all_copies_of_a_value_are_handed_on(made: list[History]) -> None:
    copies: dict[tuple[object, ...], list[int]] = {}
    for row in rows(made):
        if row["kind"] == "copy":
            copies.setdefault((row["run"], row["key"], row["value"]), []).extend(row["offsets"])  # type: ignore[arg-type]
    wanted = [
        (run, f.keys[0], f.offsets)
        for run, history in enumerate(made)
        for f in check_all(history)["duplicate"].findings
    ]
    assert sorted((run, key, tuple(offsets)) for (run, key, _), offsets in copies.items()) == sorted(wanted)


def test_what_might_be_a_wrong_beginning_is_handed_on(made: list[History]) -> None:
    wanted = {
        (run, f.keys[0], f.offsets)
        for run, history in enumerate(made)
        for f in check_all(history)["sequence gap"].findings
        if "of version 2" in f.text
    }
    first = {(r["run"], r["key"], tuple(r["offsets"])) for r in rows(made) if r["kind"] == "first"}  # type: ignore[arg-type]
    assert wanted
    assert wanted <= first


def test_empty_tables_have_no_rows() -> None:
    assert rows([]) == []
    assert rows([History()]) == []
