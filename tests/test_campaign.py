"""What a campaign counts: on runs whose faults, frames and rules are known."""

from __future__ import annotations

import pytest

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.programs.moments import DECIDED, ELECTION, OPEN, QUIET, REBALANCE, moments_of
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.rules import DEDUPLICATION, VERIFICATION
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from tests.benchmarks import campaign as under_test
from tests.benchmarks.campaign import Part, run_chunk, scenario_of
from tests.benchmarks.coverage import IN_A_FRAME, Coverage
from tests.benchmarks.coverage_table import tables

WRITE = Program("app", "transactions", {"transactional_id": "t", "count": 1, "records": 2})


def one(*faults: Fault, **more: object) -> Scenario:
    return Scenario(topics={"out": 1}, programs=(WRITE,), faults=faults, **more)  # type: ignore[arg-type]


def first(cluster: Cluster, kind: str, name: str, state: str = "") -> int:
    """The step of the first such event, of one that shows this state."""
    return next(e.step for e in cluster.trace.of(kind, name) if not state or e.data["state"] == state)


def test_moments_follow_the_coordinator_the_group_and_the_controller() -> None:
    cluster = ran(one(Crash("b1", at_ms=5_000), Restart("b1", at_ms=5_100)))
    found = moments_of(cluster.trace)
    ongoing, decided = (first(cluster, "state", "transaction", s) for s in ("Ongoing", "PrepareCommit"))
    over = first(cluster, "state", "transaction", "CompleteCommit")
    assert [found[ongoing - 1], found[ongoing], found[decided], found[over]] == [(), (OPEN,), (DECIDED,), ()]
    assert any(ELECTION in moments for moments in found)
    assert found[-1] == ()


def test_a_rebalance_lasts_until_the_group_is_stable() -> None:
    program = Program("m", "group_reader", {"topics": ["out"], "for_ms": 5_000})
    cluster = ran(Scenario(topics={"out": 1}, programs=(program,)))
    found = moments_of(cluster.trace)
    assert found[first(cluster, "state", "group", "PreparingRebalance")] == (REBALANCE,)
    assert found[first(cluster, "state", "group", "Stable")] == ()


def test_faults_are_counted_by_what_they_struck() -> None:
    plain = ran(one())
    decided = first(plain, "state", "transaction", "PrepareCommit")
    faults = (Pause("app", at_step=decided), Resume("app", at_ms=60_000), Drop("EndTxn#1"), Drop("EndTxn#9"))
    coverage = Coverage()
    coverage.note(ran(one(Drop("Produce#1"), Drop("Produce#99"))))
    coverage.note(ran(one(*faults[:2])))
    assert coverage.places == {("Pause", DECIDED): 1, ("Resume", QUIET): 1}
    assert (coverage.timed, coverage.inside) == (2, 1)
    assert coverage.met == {("Produce", "Drop"): 1}
    assert (coverage.drawn["Drop"], coverage.struck["Drop"]) == (2, 1)
    assert coverage.breadth == {1: 2}
    assert "Heartbeat" in coverage.never()["frames never sent"]
    assert "Produce" not in coverage.never()["frames never struck"]


def test_a_rule_decides_if_the_run_without_it_is_another_one() -> None:
    decided: dict[str, int] = {}
    for seed, fault in enumerate(((), (Drop("ProduceResponse#1"),))):
        cluster = ran(one(*fault))
        read_to_the_end(cluster)
        under_test.look_for_a_decider(cluster, [DEDUPLICATION.name], {DEDUPLICATION.name: 1}, seed, decided)
        assert decided == ({DEDUPLICATION.name: 1} if seed else {})


async def goes_wrong(app: App) -> int:
    return 1 // 0


def test_a_chunk_counts_its_runs_and_keeps_what_goes_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def scenario(seed: int) -> Scenario:
        program = Program("app", goes_wrong)
        return one() if seed else Scenario(topics={"out": 1}, programs=(program,))

    monkeypatch.setattr(under_test, "scenario_of", scenario)
    part = run_chunk(range(2))
    assert list(part.found) == ["0"]
    assert part.found["0"].startswith("ZeroDivisionError: ")
    assert part.coverage.runs == 1
    assert part.coverage.asked[VERIFICATION.name] == 1
    whole = Part()
    whole.add(part)
    whole.add(part)
    assert whole.coverage.runs == 2
    text = tables(whole.coverage)
    assert "Coverage of 2 runs" in text
    assert "timed faults inside an open transaction or a rebalance: 0 of 0" in text


def test_a_cluster_can_hold_its_transactions() -> None:
    seeds = (1005131, 1005393, 1005432)
    drawn = [scenario_of(seed) for seed in seeds]
    assert [(s.brokers, s.fresh, s.config["transaction_state_log_replication_factor"]) for s in drawn] == [
        (1, True, 1)
    ] * 3
    part = run_chunk(range(seeds[0], seeds[0] + 1))
    assert part.found == {}


def test_a_variant_is_the_same_scenario_with_other_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    ran_with: list[Scenario] = []

    def note(scenario: Scenario, name: str, part: Part) -> None:
        ran_with.append(scenario)
        part.found[name] = "noted"

    monkeypatch.setattr(under_test, "run_one", note)
    assert list(run_chunk(range(7, 9), variants=2).found) == ["7", "7-1", "8", "8-1"]
    plain, other = ran_with[:2]
    assert plain == scenario_of(7) == other.with_seed(plain.seed)
    assert [e.at_ms for e in ran(plain).trace.events] != [e.at_ms for e in ran(other).trace.events]


def test_both_profiles_are_drawn_and_some_seeds_with_unclean_elections() -> None:
    assert [scenario_of(seed).profile for seed in (1, 2)] == ["4.x/TV1", "4.x/TV2"]
    assert any(under_test.loses_by_election(scenario_of(seed)) for seed in range(0, 100, 10))


@pytest.mark.campaign
def test_a_campaign_meets_what_it_aims_at() -> None:
    whole = Part()
    for part in under_test.campaign(300, jobs=2):
        whole.add(part)
    coverage = whole.coverage
    assert whole.found == {}
    assert coverage.inside > coverage.timed / 2
    drawn, struck = (sum(of[kind] for kind in IN_A_FRAME) for of in (coverage.drawn, coverage.struck))
    assert struck > 0.8 * drawn
    assert sum(n for breadth, n in coverage.breadth.items() if breadth >= 3) > 0.15 * coverage.breadth.total()
    never = coverage.never()
    assert never["kinds of fault that never struck"] == never["frames never sent"] == []
