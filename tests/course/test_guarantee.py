"""Lab 12's guarantee: the same faults for all configurations, fates as the checks know them, honest intervals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafkalab.checks.exactly_once import DUPLICATED, LOST, effects
from kafkalab.checks.view import view_of
from kafkalab.course.lab12 import exercise_0
from kafkalab.course.lab12.configurations import CONFIGURATIONS, FATES, LEVELS, fates_of, runs_of, simulate_copies
from kafkalab.course.lab12.guarantee import second_copy
from kafkalab.course.lab12.rates import rates_of, share_of
from kafkalab.programs.copying import INPUTS, PARTITIONS, copying, drawn_faults
from kafkalab.spark.simulation.runs import Runs, history_of_seed

SEEDS = "26-30"
PICTURE = Path(__file__).with_name("rates.svg")


@pytest.fixture(scope="module", autouse=True)
def _simulate_anew() -> None:
    simulate_copies.cache_clear()


def test_every_configuration_meets_the_same_faults_and_differs_in_nothing_else() -> None:
    scenarios = [runs_of(name, "7").scenario_of(7) for name in CONFIGURATIONS]
    assert {scenario.faults for scenario in scenarios} == {drawn_faults(7)}
    assert {str(scenario.topics) + str(scenario.records) for scenario in scenarios} == {
        str(scenarios[0].topics) + str(scenarios[0].records)
    }
    assert len({(str(s.programs), s.profile, s.rules_off) for s in scenarios}) == len(CONFIGURATIONS)
    assert len({drawn_faults(seed) for seed in range(1, 21)}) == 20


def test_no_fault_names_a_step_which_is_another_one_in_another_configuration() -> None:
    faults = [fault for seed in range(1, 41) for fault in drawn_faults(seed)]
    assert {getattr(fault, "at_step", -1) for fault in faults} == {-1}
    assert drawn_faults(3, most=0) == ()


def test_without_a_fault_every_input_is_copied_once_by_all() -> None:
    for clients in ("acks=1", "idempotent", "transactions"):
        history = history_of_seed(Runs(first=1, last=1, clients=clients, faults=0), 1)
        reads = Counter((r.isolation_level, r.value) for r in history.reads if r.process.startswith("final-")
                        and r.key.startswith("out-"))  # fmt: skip
        assert len(reads) == 2 * PARTITIONS * INPUTS
        assert set(reads.values()) == {1}


@pytest.mark.parametrize("seeds", exercise_0.SETS)
def test_every_fate_occurs_in_each_set(seeds: str) -> None:
    rows = fates_of(simulate_copies(seeds))
    assert all(any(getattr(row, fate) for row in rows) for fate in FATES)
    assert any(row.more for row in rows if row.isolation_level == LEVELS[0])
    assert not any(row.more for row in rows if row[:2] == ("transactions", LEVELS[0]))


@pytest.mark.parametrize("name", exercise_0.MISTAKES)
def test_every_mistake_shows_in_a_set_and_is_told_from_the_others(name: str) -> None:
    def count_mistakes(by: str) -> list[Counter[tuple[Any, ...]]]:
        return [Counter(exercise_0.MISTAKES[by](simulate_copies(seeds))) for seeds in exercise_0.SETS]

    wrong, truth = (
        count_mistakes(name),
        [Counter(map(tuple, fates_of(simulate_copies(seeds)))) for seeds in exercise_0.SETS],
    )
    assert wrong != truth
    assert [other for other in exercise_0.MISTAKES if count_mistakes(other) == wrong] == [name]


def test_transactions_hold_in_runs_in_which_the_others_break() -> None:
    rows = [row for row in fates_of(simulate_copies("1-10")) if row.isolation_level == LEVELS[0]]
    broken = {row.configuration for row in rows if row.lost or row.more}
    assert broken >= {"acks=1", "idempotent", "old client"}
    assert "transactions" not in broken


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_readers_got_is_what_the_exactly_once_check_says(name: str) -> None:
    """Lost and doubled inputs; an input is unfinished for more reasons than the check's "in flight"."""
    runs = runs_of(name, SEEDS)
    for seed in runs.seeds:
        (row,) = [r for r in fates_of(simulate_copies(SEEDS)) if r[:3] == (name, LEVELS[0], seed)]
        verdicts = Counter(one.verdict for one in effects(view_of(history_of_seed(runs, seed))))
        assert (row.lost, row.more) == (verdicts[LOST], verdicts[DUPLICATED])


def test_the_second_copy_is_the_one_that_doubles() -> None:
    history = history_of_seed(runs_of("old client", "3"), 3)
    step = second_copy(history)
    (second,) = [r for r in history.log if r.step == step and r.key.startswith("out-")]
    assert sum(r.value == second.value and r.key.startswith("out-") for r in history.log) == 2
    assert second_copy(history_of_seed(runs_of("transactions", "3"), 3)) == -1


def test_the_interval_comes_from_the_runs_and_not_from_the_inputs() -> None:
    together = share_of([10] + [0] * 9, [10] * 10)
    apart = share_of([1] * 10, [10] * 10)
    assert (together.percent, apart.percent) == (10.0, 10.0)
    assert (apart.low, apart.high) == (10.0, 10.0)
    assert together.low == 0.0
    assert together.high >= 30.0
    assert share_of([10] + [0] * 9, [10] * 10) == together


@pytest.mark.parametrize(("runs", "bound"), [(1, 95.0), (27, 10.5), (80, 3.7), (1000, 0.3)])
def test_none_in_n_runs_has_an_upper_bound(runs: int, bound: float) -> None:
    share = share_of([0] * runs, [18] * runs)
    assert (share.percent, share.low, share.runs) == (0.0, 0.0, 0)
    assert round(share.high, 1) == bound
    assert (1 - share.high / 100) ** runs == pytest.approx(0.05)
    assert str(share) == f"none (< {bound} %)"


TABLE = """\
configuration  isolation level   lost  once  more  unfinished  lost, 95 %           more, 95 %
acks=1         read_committed       1    17     0           0  5.6 % (0.0 to 11.1)  none (< 77.6 %)
transactions   read_uncommitted     0    14     4           0  none (< 77.6 %)      22.2 % (0.0 to 44.4)
"""


def test_the_table_and_the_chart_are_as_they_were_looked_at() -> None:
    """After a change of the chart look at it, then write it with `Rates.svg()`."""
    rows = [
        ("transactions", "read_uncommitted", 1, 0, 9, 0, 0), ("transactions", "read_uncommitted", 2, 0, 5, 4, 0),
        ("acks=1", "read_committed", 1, 1, 8, 0, 0), ("acks=1", "read_committed", 2, 0, 9, 0, 0),
    ]  # fmt: skip
    table = rates_of(rows)
    assert f"{table}\n" == TABLE
    assert table.svg() == PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"clients": "acks=0"}, "no clients 'acks=0'; there are acks=1, idempotent, transactions"),
        ({"clients": "acks=1", "scenario": "some.klab"}, "give clients or a scenario, not both"),
        ({"cluster_level": 1}, "belong to clients; name a configuration, too"),
        ({"faults": 1}, "belong to clients; name a configuration, too"),
        ({"clients": "idempotent", "faults": 10}, "0 to 9 faults at most, not 10"),
        ({"clients": "idempotent", "cluster_level": 3}, "a cluster level is 0, 1 or 2, not 3"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Runs.of("1-3", **given)


def test_a_cluster_level_is_that_of_the_run() -> None:
    scenario = Runs.of("1", clients="transactions", cluster_level=1).scenario_of(1)
    assert scenario.config == {"transaction_version": 1}
    assert copying("transactions").config == {}
