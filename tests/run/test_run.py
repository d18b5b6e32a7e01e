"""A run as a value: made of a cluster, of what was recorded, or of itself; and made again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab import lab03, lab06
from kafkalab.faults.node import Crash, Pause
from kafkalab.history.export import history_of
from kafkalab.run.again import ENDLESS, agreement, read_again, run_scenario
from kafkalab.run.run import Run
from kafkalab.run.source import Source, finish_run, run_of
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

WHY = "nobody recorded how"


def without_its_cluster(run: Run) -> Run:
    """Return the run as frames alone tell of it."""
    return replace(run, logs=None, scenario=None, cluster=None, why=WHY)


def test_a_clusters_run_says_who_took_part_and_how_to_run_it_again() -> None:
    scenario = replace(lab06(), faults=(Crash("b1", at_step=200),))
    cluster = ran(scenario)
    run = run_of(cluster)
    assert (run.trace, run.start, run.end_ms) == (cluster.trace, cluster.start, cluster.now)
    assert (run.cast.nodes, run.cast.brokers) == (scenario.nodes, ("b1", "b2", "b3"))
    assert (run.cast.topics, run.cast.seed, run.cast.faults) == (scenario.topics, scenario.seed, scenario.faults)
    assert run.cast.rules.profile == scenario.profile
    assert run.cast.metadata.leader("charges-0") == cluster.controller.metadata.leader("charges-0") != "b1"
    assert (run.scenario, run.why, run.cluster) == (scenario, "", cluster)
    assert run.outcome() == cluster.outcome()
    assert run.outcome().committed["charges-0"]


def test_a_run_is_taken_as_it_is_and_a_recording_is_asked_for() -> None:
    run = run_of(ran(lab03()))

    class Tap:
        def recording(self) -> Run:
            return run

    assert run_of(run) is run_of(Tap()) is finish_run(Tap()) is run


def test_what_has_no_run_is_refused() -> None:
    no_run: Source = 3  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"^a picture shows a Scenario or a Cluster, such as .*, not int$"):
        run_of(no_run)


def test_a_cluster_is_run_to_its_end_only_if_it_is_asked_for() -> None:
    cluster = Cluster(lab03())
    assert run_of(cluster).trace.steps == cluster.start + 1
    assert finish_run(cluster).trace.steps > 100
    assert cluster.results == {"app": "committed"}


def test_frames_alone_tell_of_states_and_of_no_outcome() -> None:
    run = without_its_cluster(run_of(ran(lab03())))
    assert run.outcome().txn_states == ran(lab03()).outcome().txn_states
    assert (run.outcome().verdict, run.outcome().committed, run.outcome().offsets) == ("", {}, {})
    with pytest.raises(ValueError, match=f"^{WHY}$"):
        run.scenario_or_why()
    assert [label.name for label in history_of(run).labels] == ["title"]


def test_a_run_is_read_to_its_end_in_a_second_one_or_in_itself() -> None:
    kept = run_of(ran(lab03()))
    steps = kept.trace.steps
    read = read_again(kept)
    assert kept.trace.steps == steps < read.trace.steps
    assert agreement(read.trace, kept.trace) == steps
    assert {row.process for row in history_of(read).reads} >= {"final-read_committed", "final-read_uncommitted"}
    spent = read_again(kept, spend=True)
    assert (spent.trace.digest(), spent.cluster) == (read.trace.digest(), kept.cluster)


def test_a_run_that_no_scenario_makes_again_is_left_unread() -> None:
    driven = Cluster(lab03())
    driven.spawn("hand", Program("hand", "committed_offsets").function(), group="g", partitions=["accounts-0"])
    driven.run()
    for run in (without_its_cluster(run_of(ran(lab03()))), run_of(driven)):
        assert read_again(run) is run


def test_a_run_that_waits_for_ever_says_so_and_is_left_unread() -> None:
    run = run_scenario(lab03().with_faults(Pause("app", at_step=120)))
    assert run.ending.startswith("app still waits")
    assert read_again(run) is run


def test_a_run_without_an_end_says_why() -> None:
    endless = lab03().with_faults(*(Crash(broker, at_step=50) for broker in ("b1", "b2", "b3")))
    run = run_scenario(endless, most=0)
    assert run.ending == f"{ENDLESS}; shown are its first {run.trace.steps} events"
    assert not run_scenario(Scenario(topics={"out": 1})).ending
