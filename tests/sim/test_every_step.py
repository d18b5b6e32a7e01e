"""Whatever is lost, doubled or crashed at whatever step: all or nothing, nothing twice, and the transaction ends."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from kafkalab import lab03
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.protocol.rules import DEDUPLICATION, REDRIVE_PREPARE, SEQUENCE_GAPS, Rule
from kafkalab.sim.cluster import Cluster
from tests.sim.every_step import broken_promises, experiment

FEW, MANY = range(1, 2), range(2, 21)  # twenty in all
PROFILES = ("4.x/TV1", "4.x/TV2")
HIDDEN = ("replication", "metadata")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as executor:
        yield executor


@pytest.mark.campaign
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seeds", [FEW, MANY])
def test_one_fault_at_any_step_never_breaks_the_promise(pool: ProcessPoolExecutor, profile: str, seeds: range) -> None:
    done = list(pool.map(experiment, [profile] * len(seeds), seeds))
    assert [line for _, broken in done for line in broken] == []
    assert min(count for count, _ in done) > 300


@pytest.mark.campaign
@pytest.mark.parametrize("profile", PROFILES)
def test_nor_does_one_at_any_hidden_frame(pool: ProcessPoolExecutor, profile: str) -> None:
    done = list(pool.map(experiment, [profile] * 2, (1, 2), [HIDDEN] * 2))
    assert [line for _, broken in done for line in broken] == []
    assert min(count for count, _ in done) > 200


def promises_without(rules: tuple[Rule, ...], fault: Fault, profile: str = "4.x/TV1") -> list[str]:
    """Return what the same experiment reports when the broker lacks these rules."""
    scenario = replace(lab03(profile).with_faults(fault), rules_off=tuple(r.name for r in rules))
    cluster = Cluster(scenario)
    cluster.run()
    return broken_promises(cluster)


def test_the_experiment_notices_a_broker_without_deduplication() -> None:
    lost_answer = Drop("ProduceResponse#1")
    assert promises_without((), lost_answer) == []
    found = promises_without((DEDUPLICATION, SEQUENCE_GAPS), lost_answer)
    assert any("not all or nothing" in line for line in found)
    assert any("twice" in line for line in found)


def test_the_experiment_notices_a_coordinator_that_does_not_finish_what_was_decided() -> None:
    whole = Cluster(lab03("4.x/TV1"))
    whole.run()
    prepared = next(
        e for e in whole.trace.of("state", "transaction") if e.data["state"] == "PrepareCommit" and e.node == "b3"
    )
    dead = Crash("b3", at_step=prepared.step)
    assert promises_without((), dead) == []
    scenario = replace(lab03("4.x/TV1").with_faults(dead), rules_off=(REDRIVE_PREPARE.name,))
    cluster = Cluster(scenario)
    cluster.run_for(120_000)
    assert cluster.outcome().txn_states == {"payments-0": "PrepareCommit"}
    assert cluster.outcome().verdict == "open"
