"""KAFKA-17754 as a saved scenario: version 1 tears the second transaction, version 2 refuses the late EndTxn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.programs.transfers import kafka_17754
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

SAVED = Path(__file__).parents[2] / "data" / "kafka_17754.klab"
WHOLE = {"out-0": ("first-a",), "out-1": ("first-b",)}


def run(scenario: Scenario) -> Cluster:
    cluster = Cluster(scenario)
    cluster.run()
    assert cluster.results["app"] == "done"  # the application has not noticed anything
    assert cluster.unused_faults == ()
    return cluster


def answer_to_the_late_one(cluster: Cluster) -> str:
    return next(f.error for f in cluster.trace.frames.values() if f.name == "EndTxnResponse" and f.of == "EndTxn#1")


def test_the_file_holds_the_scenario() -> None:
    assert Scenario.load(SAVED) == kafka_17754()


def test_under_version_1_a_reader_sees_a_record_of_an_aborted_transaction() -> None:
    cluster = run(Scenario.load(SAVED))
    assert cluster.outcome().committed == {"out-0": ("first-a", "second-a"), "out-1": ("first-b",)}
    assert answer_to_the_late_one(cluster) == "NONE"


def test_under_version_2_the_same_schedule_is_harmless() -> None:
    cluster = run(replace(Scenario.load(SAVED), profile="4.x/TV2"))
    assert cluster.outcome().committed == WHOLE
    assert answer_to_the_late_one(cluster) == "PRODUCER_FENCED"


@pytest.mark.parametrize(
    ("profile", "seen"),
    [("4.x/TV1", {"out-0": (), "out-1": ("second-b",)}), ("4.x/TV2", {"out-0": ("second-a",), "out-1": ("second-b",)})],
)
def test_a_late_abort_loses_half_of_a_committed_transaction(profile: str, seen: dict[str, tuple[str, ...]]) -> None:
    assert run(kafka_17754(profile, first_commits=False)).outcome().committed == seen


@pytest.mark.parametrize("seed", range(2, 8))
def test_it_needs_no_lucky_latency(seed: int) -> None:
    assert "second-a" in run(kafka_17754(seed=seed)).outcome().committed["out-0"]
    assert run(kafka_17754("4.x/TV2", seed=seed)).outcome().committed == WHOLE


def test_without_the_delay_nothing_is_torn() -> None:
    assert run(replace(kafka_17754(), faults=())).outcome().committed == WHOLE
