"""What the engine `random` draws: every kind about as often, at frames and steps of the whole run, of valid faults."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import pytest

from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.experiment import Job, run_to_end
from kafkalab.explore.fault_sequence import KINDS, FaultSequence, faults_of
from kafkalab.explore.programs import two_partition_transactions
from kafkalab.explore.sampling import Targets, anything
from kafkalab.explore.search import explore
from kafkalab.explore.small_programs import transaction_in_small
from kafkalab.faults.durations import LEAST_MS, MOST_MS
from kafkalab.faults.frame import Delay
from kafkalab.faults.link import Cut
from kafkalab.sim.scenario import Program, Scenario

COUNT = 1_000


def draw(scenario: Scenario, most: int = 1, seed: int = 1) -> list[tuple[FaultSequence, ...]]:
    """The first sets that a search of the scenario draws."""
    run = Targets.of(run_to_end(scenario)[0])
    job = Job(scenario=scenario, find=parse_names(()), kinds=KINDS)
    return [each.sequences for each in islice(anything(job, run, most, Random(seed)), COUNT)]


@pytest.fixture(scope="module")
def ones() -> list[FaultSequence]:
    return [one for (one,) in draw(two_partition_transactions())]


def test_every_kind_is_drawn_about_as_often(ones: list[FaultSequence]) -> None:
    counts = Counter(one.kind for one in ones)
    kinds = [kind for kind in KINDS if kind != "upgrade"]  # the cluster has the newest version already
    assert sorted(counts) == sorted(kinds)
    assert max(counts.values()) < 1.6 * min(counts.values())


def test_what_is_drawn_are_faults_of_the_scenario(ones: list[FaultSequence]) -> None:
    scenario = two_partition_transactions()
    for one in ones:
        scenario.with_faults(*one.faults)
    for sequences in draw(scenario, most=3, seed=2)[:100]:
        scenario.with_faults(*faults_of(sequences))
        assert [one.step for one in sequences] == sorted(one.step for one in sequences)


def test_frames_and_steps_are_those_of_the_whole_run(ones: list[FaultSequence]) -> None:
    cluster = run_to_end(two_partition_transactions())[0]
    steps = [one.step for one in ones]
    assert min(steps) > cluster.start
    length = cluster.trace.steps - cluster.start
    quarters = Counter((step - cluster.start - 1) * 4 // length for step in steps)
    assert sorted(quarters) == [0, 1, 2, 3]
    assert max(quarters.values()) < 1.6 * min(quarters.values())


def test_each_power_of_ten_of_a_duration_is_as_frequent(ones: list[FaultSequence]) -> None:
    late = [one.faults[0] for one in ones if one.kind == "late"]
    times = [fault.delay_ms for fault in late if isinstance(fault, Delay)]
    assert LEAST_MS <= min(times) < 20
    assert MOST_MS / 2 < max(times) <= MOST_MS
    powers = Counter(len(str(ms)) for ms in times)
    assert max(powers.values()) < 2.5 * min(powers[digits] for digits in (2, 3, 4, 5))


def test_one_broker_is_not_cut_off_from_another() -> None:
    ones = [one for (one,) in draw(transaction_in_small())]
    assert not {"elect", "cut"} & {one.kind for one in ones}
    assert not any(isinstance(one.faults[0], Cut) for one in ones)


@pytest.mark.parametrize("engine", ["random", "informed"])
def test_where_nothing_can_be_struck_nothing_is_drawn(engine: str) -> None:
    nothing = Scenario(
        title="no topics", programs=(Program("p", "committed_offsets", {"group": "g", "partitions": []}),)
    )
    found = explore(nothing, engine=engine, kinds=("delete", "compact"), runs=50)
    assert found.verdict == "unknown"
    assert "there is nothing that a fault of these kinds could strike" in str(found)
    assert explore(nothing, engine=engine, most_faults=1, runs=50).covered.runs > 1


def test_the_same_seed_draws_the_same() -> None:
    scenario = transaction_in_small()
    assert draw(scenario, seed=3) == draw(scenario, seed=3) != draw(scenario, seed=4)
