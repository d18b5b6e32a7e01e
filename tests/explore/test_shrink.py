"""What was found is made small, and shows the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafkalab.explore.anomalies import findings_of
from kafkalab.explore.experiment import ENDED, run_to_end
from kafkalab.explore.programs import GENERIC, two_partition_transactions
from kafkalab.explore.result import Result
from kafkalab.explore.search import explore
from kafkalab.explore.shrink import shrink
from kafkalab.faults.node import Pause, Resume
from kafkalab.protocol import rules
from kafkalab.sim.scenario import Scenario

TORN = rules.EPOCH_PER_TRANSACTION.name


@pytest.fixture(scope="module")
def found() -> Result:
    return explore(two_partition_transactions(), "torn transaction", [TORN], 1, kinds=("drop",))


@pytest.fixture(scope="module")
def small(found: Result) -> Result:
    return shrink(found)


def test_programs_steps_partitions_and_brokers_go(small: Result) -> None:
    scenario = small.found
    assert scenario is not None
    assert [len(scenario.programs), scenario.brokers, scenario.topics] == [1, 1, {"out": 1}]
    assert len(scenario.programs[0].args["steps"]) < 8
    cluster, end = run_to_end(scenario)
    assert end == ENDED
    assert [f.anomaly for f in findings_of(cluster, ("torn transaction",))] == ["torn transaction"]
    assert findings_of(run_to_end(replace(scenario, rules_off=()))[0], ("torn transaction",)) == ()


def test_the_same_result_gives_the_same_small_scenario(found: Result) -> None:
    assert shrink(found, 40).found == shrink(found, 40).found


def test_a_fault_that_is_not_needed_goes_also_one_that_was_there_before(found: Result) -> None:
    pause = Pause("r", at_ms=150_000), Resume("r", at_ms=150_001)
    scenario = two_partition_transactions().with_faults(*pause)
    more = explore(scenario, "torn transaction", [TORN], 1, kinds=("drop",))
    small = shrink(more, 20)
    assert len(more.faults) == 3
    assert (len(small.faults), small.size) == (1, 1)


def test_the_budget_of_runs_is_kept(found: Result) -> None:
    assert shrink(found, runs=1).found == found.found


def test_where_nothing_was_found_there_is_nothing_to_make_small() -> None:
    nothing = explore(two_partition_transactions(), "torn transaction", [TORN], 0, kinds=("drop",))
    with pytest.raises(ValueError, match="nothing was found"):
        shrink(nothing)
    with pytest.raises(ValueError, match="nothing was found"):
        _ = nothing.cluster
    assert (nothing.size, nothing.step, nothing.faults, nothing.explanation) == (-1, -1, (), "")


@pytest.mark.parametrize("make", GENERIC)
@pytest.mark.parametrize("profile", ["4.x/TV2", "4.x/TV1"])
def test_the_generic_programs_are_clean_and_end(make: Callable[..., Scenario], profile: str) -> None:
    cluster, end = run_to_end(make(profile))
    assert end == ENDED
    assert findings_of(cluster, ("torn transaction", "duplicate", "exactly-once", "failed program")) == ()
