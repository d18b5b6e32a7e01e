"""The passes find what the checks find, on shapes and profiles by chance, and on histories with changed rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.shape import Shape
from tests.checks.test_exactly_once import (
    a_group_commits_beside_it,
    all_of_another_partition_lost,
    another_partition_not_read,
    only_record_lost,
    positions_elsewhere,
)
from tests.spark.audits.mutants import mutant
from tests.spark.audits.simulated import by_chance, by_hand
from tests.spark.passes import count_examined, findings, run_passes
from tests.spark.whole import history_of

ODD: dict[str, dict[str, Any]] = {
    "one record a transaction": {"txn_size": 1},
    "4,000 records a transaction": {"records": 9000, "block": 4500, "txn_size": 4000},
    "many producers": {"producers": 400},
    "one producer": {"producers": 1, "partitions": 12},
    "one hot key": {"partitions": 1},
    "all aborted": {"abort_rate": 1.0, "transform": 0.0},
    "nothing idempotent": {"idempotent": 0.0, "transform": 1.0},
}


def shape_of(name: str, seed: int) -> Shape:
    """Return a shape of this name with a profile, and where there is room, anomalies, drawn by `seed`."""
    chance = random.Random(f"{name} {seed}")
    given: dict[str, Any] = {"records": 1500, "block": 750, "partitions": 8, "producers": 12} | ODD[name]
    profile = chance.choice(("0.11", "1.0", "4.x/TV1", "4.x/TV2"))
    chosen = chance.sample(sorted(SCENES), 12)
    inject = tuple((one, 1.4e-3) for one in chosen) if name not in ("one hot key", "all aborted") else ()
    try:
        return Shape(**given, profile=profile, inject=inject, seed=seed)
    except ValueError:  # no room for anomalies
        return Shape(**given, profile=profile, seed=seed)


def compare(histories: list[History], folder: Path, splits: int = 3) -> None:
    reports = [check_all(history) for history in histories]
    rows = run_passes(histories, folder, splits=splits)
    wanted = Counter(
        (run, f.anomaly, f.policy, f.keys, f.offsets, f.steps, f.text)
        for run, report in enumerate(reports)
        for name in BY_NAME
        for f in report[name].findings
    )
    assert findings(rows) == wanted
    assert wanted
    looked_at = {(run, name): report[name].examined for run, report in enumerate(reports) for name in BY_NAME}
    assert count_examined(rows) == {at: many for at, many in looked_at.items() if many}


@pytest.mark.parametrize("seed", [1, 2])
def test_odd_shapes_and_their_mutants_are_judged_as_the_checks_judge_them(seed: int, tmp_path: Path) -> None:
    made = [history_of(shape_of(name, seed)) for name in ODD]
    compare([*made, *(mutant(history, seed + at, 0.01) for at, history in enumerate(made)), History()], tmp_path)


def test_simulated_histories_and_their_mutants_are_judged_as_the_checks_judge_them(tmp_path: Path) -> None:
    made = [*by_hand(), *by_chance(40, first=500)]
    compare([*made, *(mutant(history, 900 + at) for at, history in enumerate(made))], tmp_path)


POSITIONS = ((), ("in",), ("in-0@0",), ("in-0@1",), ("in-0@3", "in-1@0"), ("in-1@1",))


@pytest.mark.parametrize("splits", [1, 3])
def test_positions_outside_kafka_are_judged_as_the_check_judges_them(splits: int, tmp_path: Path) -> None:
    """Inputs of one topic are in several splits; that the other ones took effect must be known in each."""
    made = []
    for build in (
        positions_elsewhere, all_of_another_partition_lost, another_partition_not_read, a_group_commits_beside_it,
        only_record_lost,
    ):  # fmt: skip
        for positions in POSITIONS:
            history = HistoryBuilder()
            build(history, *positions)
            made.append(history.history())
    compare(made, tmp_path, splits)
